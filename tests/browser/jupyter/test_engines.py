"""A notebook in Firefox and in WebKitGTK: its match plays, learns and is there after a reload."""

from pathlib import Path

import pytest

from tests.browser.conftest import started
from tests.harness.browser.engine_pages import EngineNotebook, EngineWidget
from tests.harness.browser.engines import Engine, Firefox
from tests.harness.browser.front_ends import AS_ROOT, needs, served
from tests.harness.browser.lab import LabServer, write_notebook
from tests.harness.browser.watching import TRAINED
from tests.harness.games.drill_page import LESSON

pytestmark = pytest.mark.fronts

MATCH = "from dshq_widget import DrillWidget\nw = DrillWidget(lesson='watch', seed=1, workers=0)\nw"
OWN = LESSON + "\nv = DrillWidget(Mark, workers=0)\nv"

HARMLESS = (
    'TypeError: can\'t access property "schema"',  # Notebook 7's own, while it opens
    "TypeError: NetworkError when attempting to fetch resource",  # a reload ended it, in Firefox's words
)


def plays_learns_and_comes_back(notebook: EngineNotebook) -> None:
    """What a person does with the first lesson, and then with a game of their own."""
    engine = notebook.engine
    notebook.run(0)
    match = EngineWidget(engine)
    match.plays()
    match.learns()
    match.wait("Number(data.winRateRandom) > 0.75", TRAINED)  # untrained it is a half
    match.stops()
    match.plays()
    stood, version = match.number("tick"), match.number("version")

    notebook.reload()
    match.wait(f"Number(data.tick) > {stood}")
    assert match.number("version") == version
    match.plays()

    notebook.run(1)
    own = EngineWidget(engine, 1)
    assert own.wait("data.drill") == "mark"
    own.plays()
    own.learns()
    own.stops()
    assert [problem for problem in engine.problems() if not problem.startswith(HARMLESS)] == []


def test_in_jupyterlab(engine: Engine, lab: LabServer):
    name = f"{type(engine).__name__}.ipynb"
    file = lab.write_notebook(name, [MATCH, OWN])
    path = lab.path_of(name)
    try:
        address = f"{lab.url}/lab/workspaces/{type(engine).__name__}/tree/{path}?token={lab.token}"
        plays_learns_and_comes_back(EngineNotebook(engine, address, file))
    finally:
        lab.shut_down(name)


def test_in_notebook_7(tmp_path: Path):
    needs("notebook")
    file = write_notebook(tmp_path / "match.ipynb", MATCH, OWN)
    command = ["notebook", "--no-browser", "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", *AS_ROOT]
    command.append("--JupyterNotebookApp.expose_app_in_browser=True")
    with (
        started(Firefox, tmp_path / "firefox") as engine,
        served(command, tmp_path, "/notebooks/match.ipynb") as address,
    ):
        plays_learns_and_comes_back(EngineNotebook(engine, address, file))
