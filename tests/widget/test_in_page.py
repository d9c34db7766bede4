"""Runs with `engine="page"`: the kernel's side, with a page that is the test."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dshq_widget import Trainer
from dshq_widget.contract.setting import ConfigError
from dshq_widget.policy import checkpoint
from dshq_widget.widget.in_page import parts
from dshq_widget.widget.in_page import run as in_page
from dshq_widget.widget.page_protocol import METRICS_MAX, NAMES_MAX
from tests.harness.browser.fake_page import FakePage
from tests.harness.browser.recorded_widget import until


@pytest.fixture
def page(make: Callable[..., Any]) -> FakePage:
    return FakePage(make("bandit", engine="page", seed=4))


def test_a_run_is_started_steered_and_stopped_in_the_page(page, tmp_path):
    w = page.widget
    assert w.config["engine"] == "page" and w.status == "idle"
    w.train(learning_rate=0.01)
    assert w.status == "starting"
    order = page.begin()
    assert order["values"]["learning_rate"] == 0.01 and order["policy"]["version"] == 0 and not order["paused"]
    weights = page.learned(5, return_mean=0.5)
    until(lambda: w._trainer.version == 5)
    assert w.wait(updates=5) and w.metrics["return_mean"] == 0.5 and w.history[-1]["updates"] == 5
    np.testing.assert_array_equal(w._trainer.latest_policy().weights, weights)

    w.set_hyper(learning_rate=0.002)
    assert page.ordered("SET_HYPER") == {"type": "SET_HYPER", "key": "learning_rate", "value": 0.002}
    w.pause_training()
    page.ordered("PAUSE_TRAINING")
    assert w.paused
    w.next_update()
    page.ordered("NEXT_UPDATE")
    w.resume_training()
    page.ordered("RESUME_TRAINING")

    path, saving = tmp_path / "learned.dshq", threading.Thread(target=lambda: w.save(tmp_path / "learned.dshq"))
    saving.start()
    page.ordered("SAVE")
    page.learner({"type": "FILE", "part": 0, "parts": 1, "ended": False}, page.file())
    saving.join()
    assert checkpoint.load(path).version == 5

    w.stop()
    page.stops()
    assert w.status_text == "stopped at version 5"
    w.train()
    assert page.begin()["policy"]["version"] == 5  # it continues where it ended


def test_one_update_at_a_time(page):
    page.widget.next_update()
    order = page.begin()
    assert (order["paused"], order["asked"]) == (True, 1)


def test_without_a_page_it_says_what_to_do_and_starts_when_one_opens(page, monkeypatch):
    monkeypatch.setattr(in_page, "OFFER_SECONDS", 0.0)
    page.widget.train()
    until(lambda: page.widget.status_text == in_page.NO_PAGE)
    assert page.widget.status == "starting"
    with pytest.raises(RuntimeError, match="no page shows this widget"):
        page.widget.wait(updates=1)
    page.begin()


def test_stopping_before_there_is_a_page(page):
    page.widget.train()
    page.widget.stop()
    until(lambda: page.widget.status == "stopped")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda page, patch: page.learner({"type": "LEFT"}), in_page.CLOSED),
        (lambda page, patch: patch(in_page, "SILENT_SECONDS", 0.0), "the page that trained has not been heard of for"),
        (lambda page, patch: page.learner({"type": "FAILED", "text": "No memory."}), "No memory."),
    ],
    ids=["closed", "silent", "failed"],
)
def test_a_page_that_ends_leaves_a_sentence_and_its_last_version(page, monkeypatch, what, said):
    page.widget.train()
    page.begin()
    page.learned(3)
    what(page, monkeypatch.setattr)
    until(lambda: page.widget.status == "error")
    assert page.widget.error.startswith(said) and page.widget._trainer.version == 3
    monkeypatch.undo()


def test_only_the_page_that_trains_is_heard(page):
    page.widget.train()
    page.begin()
    page.offer(8)
    page.learner({"type": "METRICS", "values": {"updates": 99}}, learner=8)
    told = until(lambda: [one for one in page.comm.customs("TO_LEARNER") if one["learner"] == 8])
    assert [one["message"]["type"] for one in told] == ["STOP"] and page.widget.metrics == {}


def test_a_run_is_handed_over_once_there_is_room_for_it(page, monkeypatch):
    """Its order holds the run's file: a page that started and ended runs made gigabytes of orders that waited."""
    page.widget.train()
    with monkeypatch.context() as crowded:
        crowded.setattr(page.widget._outbox, "refusal", lambda nbytes=0: "64 MB of other files are on their way")
        page.offer()
        until(lambda: page.widget._parts[0]._run._offer == 7)
        assert page.widget._parts[0]._run.learner is None
    page.run += 1
    page.ordered("START")


def test_a_page_gets_its_trainer_once_there_is_room_for_it(page, monkeypatch):
    monkeypatch.setattr(page.widget._outbox, "refusal", lambda nbytes=0: "64 MB of other files are on their way")
    page.say({"type": "FETCH_TRAINER", "relaxed": False})
    [answer] = until(lambda: page.comm.customs("TRAINER"))
    assert answer["problem"] == "64 MB of other files are on their way"


def test_orders_for_a_page_that_never_comes_are_few(page):
    """Each waited: changes of a setting, and of scenes with all of them in each."""
    page.widget.train()
    run = page.widget._parts[0]._run
    for k in range(500):
        run.send({"type": "SET_HYPER", "key": ("gamma", "learning_rate")[k % 2], "value": k})
        run.send({"type": "SCENES", "scenes": [str(k)]})
    assert [message.get("value", message.get("scenes")) for message in run._early] == [498, 499, ["499"]]
    for _ in range(500):
        run.send({"type": "NEXT_UPDATE"})
    assert len(run._early) == in_page.MOST_EARLY


PLAYER = {"name": "v3", "pinned": False, "version": 3, "elo": 1000, "elo_low": 900, "elo_high": 1100, "against": {}}


def test_a_learner_that_warns_without_end_fills_no_log(page, caplog):
    page.widget.train()
    page.begin()
    for k in range(in_page.MOST_WARNINGS + 20):
        page.learner({"type": "WARNING", "text": f"warning {k}"})
    until(lambda: "warned more than" in str(page.comm.customs("LOG")))
    page.learned(3)
    said = [record for record in caplog.records if "warning " in record.getMessage()]
    assert len(said) == in_page.MOST_WARNINGS and page.widget.status == "training"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "POLICY", "version": -1, "step": 0},
        {"type": "POLICY", "version": 1, "step": 0},
        {"type": "METRICS", "values": 3},
        {"type": "METRICS", "values": {f"{k}": 1.0 for k in range(METRICS_MAX + 1)}},
        {"type": "METRICS", "values": {"x" * (NAMES_MAX + 1): 1.0}},
        {"type": "LEAGUE", "rows": [{"name": "v1"}]},
        {"type": "LEAGUE", "rows": [PLAYER] * (in_page.MOST_LEAGUE + 1)},
        {"type": "LEAGUE", "rows": [{**PLAYER, "name": "x" * (in_page.MOST_NAME + 1)}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "name": "toString"}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "name": "v4"}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "pinned": True, "name": "__proto__"}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "step": {}}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "version": 10**400}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "step": 2**62}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "champion": "yes"}]},
        {"type": "LEAGUE", "rows": [{**PLAYER, "against": {f"{k}": [1, 2] for k in range(in_page.MOST_LEAGUE + 1)}}]},
        {"type": "SCENES", "rows": [{"key": "01", "share": 0.5, "version": 3}] * (in_page.MOST_ROWS + 1)},
        {"type": "SCENES", "rows": "none"},
        {"type": "SCENES", "rows": [{"share": 0.5, "version": 3}]},
        {"type": "SCENES", "rows": [{"key": ["01"], "share": 0.5, "version": 3}]},
        {"type": "SCENES", "rows": [{"key": "0" * 10_000, "share": 0.5, "version": 3}]},
        {"type": "FILE", "part": 0, "parts": 1, "ended": True},
        {"type": "NONSENSE"},
        None,
    ],
)
def test_nonsense_of_a_learner_changes_nothing(page, message):
    page.widget.train()
    page.begin()
    page.learner(message, b"junk")
    until(lambda: page.comm.customs("LOG"))
    assert page.widget.status == "training" and page.widget._trainer.version == 0


def test_a_league_of_the_page_is_shown(page):
    page.widget.train()
    page.begin()
    rated = {"elo": 1000, "elo_low": 900, "elo_high": 1100, "rank": 1}
    snapshot = {
        "name": "v3",
        "pinned": False,
        "version": 3,
        "step": 30,
        "champion": True,
        "against": {"random": [2, 4]},
    }
    rows = [{**rated, **snapshot}, {"name": "random", "pinned": True, "against": {}, **rated}]
    page.learner({"type": "LEAGUE", "rows": rows})
    until(lambda: [row["name"] for row in page.widget.league] == ["v3", "random"])


def test_of_a_players_row_nothing_else_is_kept(page):
    """What a page puts into it would go to all others, and into Python's table."""
    page.widget.train()
    page.begin()
    rated = {"elo": 1000, "elo_low": 900, "elo_high": 1100, "against": {}, "more": ["x" * 10_000] * 3}
    junk = {"hyper": {"lr": 0.1, "x": [[["y"]]]} | {f"k{k}": "z" for k in range(100)}, "share": {}, "win_rate": 0.25}
    learned = {"name": "v3", "pinned": False, "version": 3, "step": 30, **rated, **junk}
    page.learner({"type": "LEAGUE", "rows": [learned, {"name": "random", "pinned": True, "version": [[]], **rated}]})
    until(lambda: page.widget.league)
    kept = {"name": "v3", "pinned": False, "elo": 1000, "elo_low": 900, "elo_high": 1100, "against": {}, "version": 3}
    kept |= {"step": 30, "win_rate": 0.25, "hyper": {"lr": 0.1}, "champion": False}
    assert page.widget._trainer.league[0] == kept
    assert "version" not in page.widget.league[1] and "more" not in page.widget._trainer.league[1]


def test_results_on_scenes_go_by_the_scene(make):
    page = FakePage(make("ball", engine="page", seed=4))
    trainer = page.widget._trainer
    bytes_of = [trainer.drill.game().new(1, seed=k).view(np.uint32).reshape(-1, 16)[:, 0].tobytes() for k in range(3)]
    keys = [trainer.add_scene(state) for state in bytes_of[:2]]
    page.widget.train()
    page.begin()
    rows = [{"key": key, "share": k / 4, "version": 1} for k, key in enumerate(keys, 1)]
    trainer.remove_scene(keys[0])
    trainer.add_scene(bytes_of[2])
    page.learner({"type": "SCENES", "rows": rows})
    until(lambda: page.widget.scenes and page.widget.scenes[0]["now"])
    assert [row["before"] for row in page.widget.scenes] == [{"share": 0.5, "version": 1}, None]
    assert page.widget.status == "training"


def test_a_server_does_not_count_what_a_page_trains(make, monkeypatch):
    monkeypatch.setenv("DSHQ_TRAINING_MINUTES", "1")
    assert make("bandit").seat["minutes"] == 1
    assert make("bandit", engine="page").seat == {}


def test_where_it_cannot_train_is_a_sentence(make):
    with pytest.raises(ValueError, match="gate does not train in the page"):
        make("territory", engine="page")
    with pytest.raises(ConfigError, match="there is no page here: use DrillWidget"):
        Trainer("bandit", engine="page")


def test_a_cell_that_blocks_the_pages_messages_does_not_wait_for_them(page):
    page.widget.train()
    page.begin()
    page.comm.say({"type": "ACK", "seq": 0})  # on the thread that runs cells
    with pytest.raises(RuntimeError, match="messages wait until this cell ends"):
        page.widget.wait(updates=10)


@pytest.mark.parametrize(
    ("drill", "more", "said"),
    [
        ("ball", {"opponents": {"gold": 1.0}}, "gold is no opponent in a page"),
        ("bandit", {"device": "cuda"}, "device=cuda is not for a page"),
        ("bandit", {"log_dir": "metrics"}, "a page writes no metrics to folders or trackers"),
    ],
)
def test_what_a_page_cannot_do_is_a_sentence(make, tmp_path, monkeypatch, drill, more, said):
    monkeypatch.chdir(tmp_path)
    widget = make(drill, engine="page", **more)
    widget.train()
    assert widget.status == "error" and said in widget.error


def test_a_run_that_goes_on_may_be_told_to_end_when_it_is_solved(page):
    """The kernel judges that, so the page's learner is told nothing of it."""
    page.widget.train()
    page.begin()
    page.learned(5, solved=1)
    page.learned(6, solved=0)
    until(lambda: page.widget._trainer.metrics.get("updates") == 6)
    assert page.orders("STOP") == []
    page.widget._trainer.start(until_solved=True)
    page.learned(7, solved=1)
    page.stops()
    assert page.widget.status_text == "solved at version 7" and page.orders("UNTIL_SOLVED") == []


def test_an_exported_page_that_cannot_train_is_told_of(make, monkeypatch, caplog):
    """Also where there is no page yet: `dshq export` says it."""

    def broken(relaxed):
        raise RuntimeError("this llvmlite cannot write WebAssembly")

    parts.shared.cache_clear()
    monkeypatch.setattr(parts, "_learner", broken)
    monkeypatch.setattr(parts, "code", bytes)
    assert make("bandit").page_trainer() is None
    said = "bandit: the exported page cannot train: this llvmlite cannot write WebAssembly"
    assert said in [record.getMessage() for record in caplog.records]
