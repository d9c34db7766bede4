"""Firefox and WebKitGTK show and train: an exported page and `dshq play`, with no language set.

`make test-fronts` installs them from Debian's packages where it can, and runs this.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshq_widget import DrillWidget
from tests.harness.browser.engines import ENGINES, Engine, MissingError
from tests.harness.process_tree import end_tree

pytestmark = pytest.mark.fronts

ROOT = "document.querySelector('.dshq-widget')"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    try:
        engine = ENGINES[request.param](tmp_path / request.param)
    except MissingError as missing:
        pytest.skip(str(missing))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drill of one side as one file; it learns within seconds."""
    with DrillWidget("approach", num_envs=64, workers=0) as made:
        return made.export_html(tmp_path_factory.mktemp("exported") / "approach.html", train=True)


def plays_and_learns(engine: Engine) -> None:
    """What every page has to do, in every engine."""
    data = f"{ROOT}?.dataset"
    assert engine.until(f"{data}.renderer") in ("canvas2d", "webgpu")
    seen = engine.evaluate(f"Number({data}.tick)")
    engine.until(f"Number({data}.tick) > {seen + 30}")
    engine.until(f"!!{ROOT}.querySelector('[data-control=train]')")
    engine.evaluate(f"{ROOT}.querySelector('[data-control=train]').click()")
    engine.until(f"Number({data}.agentSteps) > 0 && Number({data}.version) > 0")
    engine.until(f"!!{ROOT}.querySelector('.curve .uplot')")  # a chart
    engine.evaluate(f"{ROOT}.querySelector('[data-control=stop]').click()")
    engine.until(f"{data}.status === 'stopped'")


def test_an_exported_page(engine: Engine, exported: Path):
    engine.open(exported.as_uri())
    plays_and_learns(engine)
    assert engine.problems() == []


def test_dshq_play(engine: Engine):
    command = [sys.executable, "-m", "dshq_widget.cli", "play", "approach", "--engine", "page", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as playing:
        try:
            engine.open(playing.stdout.readline().strip())
            plays_and_learns(engine)
            assert engine.problems() == []
        finally:
            end_tree(playing.pid)
