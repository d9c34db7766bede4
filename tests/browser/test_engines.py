"""Firefox and WebKitGTK show and train an exported page and `dshq play`; `make test-fronts` brings them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import Kernels, started
from tests.harness.browser.engine_pages import EngineWidget
from tests.harness.browser.engines import Engine, Firefox, WebKit
from tests.harness.browser.watching import OUTSIDE, OVERLAPS
from tests.harness.process_tree import end_tree

pytestmark = pytest.mark.fronts

ACTION = 'print(int.from_bytes(bytes(w.snapshot["state"])[16:20], "little") if w.snapshot else -1)'


def plays_and_learns(engine: Engine, address: str) -> None:
    """What every page has to do, in every engine."""
    engine.open(address)
    widget = EngineWidget(engine)
    widget.plays()
    widget.learns()
    widget.stops()
    assert engine.problems() == []


def test_an_exported_page(engine: Engine, exported: Path):
    plays_and_learns(engine, exported.as_uri())


def test_an_exported_page_in_a_private_window(tmp_path: Path, exported: Path):
    """Of Firefox; all of WebKitGTK's here are private."""
    private = {"browser.privatebrowsing.autostart": True}
    with started(lambda home: Firefox(home, private), tmp_path / "firefox") as engine:
        plays_and_learns(engine, exported.as_uri())


@pytest.mark.parametrize("trainer", ["local", "page"])
def test_dshq_play(engine: Engine, trainer: str):
    command = [sys.executable, "-m", "dshq_widget.cli", "play", "approach", "--engine", trainer, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as playing:
        try:
            plays_and_learns(engine, playing.stdout.readline().strip())
        finally:
            end_tree(playing.pid)


def test_without_vectors_a_page_plays_and_says_what_it_lacks(tmp_path: Path, exported: Path):
    with started(lambda home: WebKit(home, {"JSC_useWasmSIMD": "0"}), tmp_path / "webkit") as engine:
        engine.open(exported.as_uri())
        widget = EngineWidget(engine)
        widget.plays()
        widget.press("train")
        engine.until(f"{widget.root}.innerText.includes('has no SIMD')")
        widget.plays()


def test_nothing_sticks_out_of_a_narrow_widget(engine: Engine, exported: Path):
    engine.open(exported.as_uri())
    widget = EngineWidget(engine)
    for width in (320, 400, 768):  # of the widget: WebKitGTK's window gets no narrower than its tools
        engine.evaluate(f"void ({widget.root}.style.width = '{width}px')")
        widget.plays()
        found = engine.evaluate(f"[{widget.root}.clientWidth, ({OUTSIDE})({widget.root}), ({OVERLAPS})({widget.root})]")
        assert found == [width, [], []]


def test_fingers(tmp_path: Path, kernels: Kernels):
    """Firefox's; WebKitGTK's driver makes a mouse of them."""
    touches = {"dom.w3c_touch_events.enabled": 1}
    kernel = kernels.current()
    with started(lambda home: Firefox(home, touches), tmp_path / "firefox") as engine:
        try:
            kernel.run("from dshq_widget import DrillWidget; from dshq_widget.widget.play_server import serve")
            engine.open(kernel.run("w = DrillWidget(seed=3, mode='human_vs_ai'); print(serve(w).url)").strip())
            widget = EngineWidget(engine)
            widget.plays()
            engine.touch(widget.control("match"), 0.5, 0.9, pointer="touch")
            engine.lift("touch")
            stick = f"{widget.root}.querySelector('.touch-pad:not([hidden]) .stick')"
            engine.until(f"{stick}?.checkVisibility()")
            engine.touch(stick, 0.5, 0.1, pointer="touch")
            engine.until(lambda: int(kernel.run(ACTION)) // 6 == 1)  # up
            engine.lift("touch")
            engine.until(lambda: int(kernel.run(ACTION)) == 0)
            assert engine.problems() == []
        finally:
            kernel.clear()
