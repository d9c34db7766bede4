"""The weights of a large untrained network take seconds to draw; meanwhile every page is served."""

import queue
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training import untrained
from dshq_widget.widget.trained import DRAWING
from tests.harness.browser.fake_page import FakePage
from tests.harness.browser.recorded_widget import until

WIDE = [400, 400]
assert untrained.AT_ONCE < 400 * 400


class Hold:
    """Draws only as often as the test lets it, what large networks have."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[int] = []
        self.turns = threading.Semaphore(0)
        drawn = PolicySpec.untrained

        def slowly(network: PolicySpec, seed: int) -> np.ndarray:
            if network.floats > untrained.AT_ONCE:
                self.begun.append(seed)
                assert self.turns.acquire(timeout=300)
            return drawn(network, seed)

        monkeypatch.setattr(PolicySpec, "untrained", slowly)

    def let(self, times: int = 1) -> None:
        self.turns.release(times)


@pytest.fixture
def hold(monkeypatch):
    held = Hold(monkeypatch)
    yield held
    held.let(1000)


def answered(widget: Any) -> bool:
    """A page that has just appeared: to one that acknowledges nothing nothing more is said after a while."""
    before = len(widget.comm.customs("HISTORY"))
    widget.comm.say({"type": "HELLO"})
    return until(lambda: len(widget.comm.customs("HISTORY")) > before)


def turn(widget: Any, key: str, value: Any) -> None:
    widget.comm.say({"type": "SET_HYPER", "key": key, "value": value})
    until(lambda: widget.config["values"][key] == value)


def wanted(widget: Any) -> bytes:
    values = widget._trainer.config
    return PolicySpec.for_config(widget._trainer.drill.spec, values).untrained(values.seed).tobytes()


def test_pages_are_served_while_a_large_network_is_drawn_and_the_last_change_wins(make, hold):
    widget = make("ball", prepare=False)
    small = widget.policy["layers"]
    turn(widget, "hidden_sizes", WIDE)
    until(lambda: hold.begun == [0] and widget.status_text == DRAWING)
    assert widget.policy["layers"] == small, "what plays goes on"
    for seed in range(1, 30):
        widget.comm.say({"type": "SET_HYPER", "key": "seed", "value": seed})
        widget.comm.say({"type": "SET_HYPER", "key": "learning_rate", "value": seed / 1e5})
    widget.comm.say({"type": "RESET_TRAINER"})
    turn(widget, "pace", 0.5)
    answered(widget)
    hold.let(2)
    until(lambda: widget.policy["layers"][1:-1] == WIDE)
    until(lambda: widget.status_text != DRAWING)
    assert hold.begun == [0, 29], "the first, and of those that were asked for meanwhile the last"
    hold.let()
    assert bytes(widget.policy["data"]) == wanted(widget)


def test_what_changes_no_network_draws_none(make, hold):
    widget = make("ball", prepare=False)
    turn(widget, "hidden_sizes", WIDE)
    hold.let()
    until(lambda: widget.policy["layers"][1:-1] == WIDE)
    before = widget._trainer.latest_policy()
    turn(widget, "learning_rate", 0.01)
    turn(widget, "num_envs", 256)
    widget.comm.say({"type": "RESET_TRAINER"})
    until(lambda: widget._trainer.latest_policy() is not before)
    answered(widget)
    assert widget._trainer.latest_policy().weights is before.weights and hold.begun == [0]


def test_a_file_has_the_network_that_is_set_however_long_it_takes(make, hold):
    widget = make("ball", prepare=False)
    turn(widget, "hidden_sizes", WIDE)
    widget.comm.say({"type": "SAVE_POLICY", "whole": False, "request": 3})
    until(lambda: hold.begun)
    turn(widget, "seed", 9)
    answered(widget)
    assert not widget.comm.customs("POLICY_FILE")
    hold.let(2)
    until(lambda: answered(widget) and widget.comm.customs("POLICY_FILE"))
    [[data]] = [buffers for *_, sent, buffers in widget.comm.log if "problem" in sent.get("content", {})]
    saved = checkpoint.parse(bytes(data), "saved")
    hold.let()
    assert saved.config["seed"] == 9 and saved.weights.tobytes() == wanted(widget)


def test_a_page_that_trains_gets_the_weights_once_they_are_there(make, hold):
    page = FakePage(make("bandit", engine="page", prepare=False))
    page.say({"type": "START_TRAINING", "hidden_sizes": WIDE})
    until(lambda: page.widget.status == "starting" and hold.begun)
    page.run = 1
    page.offer()
    answered(page.widget)
    assert not page.orders("START")
    hold.let()
    until(lambda: answered(page.widget) and page.orders("START"))
    order = page.ordered("START")
    assert list(order["policy"]["layers"][1:-1]) == WIDE


def test_a_network_that_cannot_be_drawn_is_told_once_and_the_next_one_is_drawn(make, hold, monkeypatch):
    widget, held = make("ball", prepare=False), PolicySpec.untrained

    def full(network: PolicySpec, seed: int) -> np.ndarray:
        if network.floats > untrained.AT_ONCE and seed == 0:
            raise MemoryError("no room")
        return held(network, seed)

    monkeypatch.setattr(PolicySpec, "untrained", full)
    turn(widget, "hidden_sizes", WIDE)
    said = lambda: [one["text"] for one in widget.comm.customs("LOG") if "no room" in one["text"]]  # noqa: E731
    until(lambda: answered(widget) and said())
    assert len(said()) == 1
    turn(widget, "seed", 4)
    hold.let()
    until(lambda: widget.policy["layers"][1:-1] == WIDE)


def test_a_network_of_ones_own_that_exits_keeps_no_other_from_being_drawn():
    """The thread that draws ended, and was taken to be drawing for good."""
    told, done = queue.SimpleQueue[str](), threading.Event()

    def leave() -> None:
        raise SystemExit("enough")

    drawing = untrained.Drawing(lambda: None, told.put)
    large: dict[str, Any] = {"drawn": False, "floats": untrained.AT_ONCE + 1, "layers": ()}
    assert not drawing.ready(SimpleNamespace(draw=leave, **large))
    assert "enough" in told.get(timeout=300)
    assert not drawing.ready(SimpleNamespace(draw=done.set, **large))
    assert done.wait(300)
