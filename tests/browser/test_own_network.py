"""A network of a person's own on the page: its module decides in the kernel, and each new version takes over there."""

from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.harness.browser.watching import TRAINED

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NETWORK = str(Path(__file__).parents[2] / "docs" / "examples" / "own_network.py") + ":Gated"
SLOW = 300  # seconds: torch, and perhaps rules to compile


def cell(drill: str) -> str:
    settings = "seed=4, num_envs=64, rollout_length=32"
    return f"from dshq_widget import DrillWidget; w = DrillWidget({drill!r}, network={NETWORK!r}, {settings}); w"


@pytest.mark.parametrize("drill", ["approach", "gym:CartPole-v1"])
def test_it_plays_and_new_versions_take_over(plain_chromium, open_page: OpenPage, drill: str):
    if drill.startswith("gym:"):
        pytest.importorskip("pygame", reason='no pygame here: pip install "gymnasium[classic-control]"')
    notebook = open_page(plain_chromium, cell(drill))
    notebook.run_all()
    widget = notebook.widget()
    widget.wait_number("tick", lambda tick: tick > 20, SLOW)
    assert widget.number("version") == 0 and "dream" not in widget.tabs()
    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 2, TRAINED)
    notebook.kernel.run("w.stop(); w._trainer.join(60)")
    last = int(notebook.kernel.run("print(w.policy['version'])"))
    widget.wait_number("version", lambda version: version == last, SLOW)
    stood = widget.number("tick")
    widget.wait_number("tick", lambda tick: tick > stood + 20, SLOW)
