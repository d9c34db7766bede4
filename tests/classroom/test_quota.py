"""A place on a shared server: its rules, time that runs out, shortages that are told once, policies that are sent."""

import queue
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom.store import Store
from dshq_widget.notebook import cells
from dshq_widget.runtime import shortage
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import drill_widget, page_files, quota
from dshq_widget.widget.quota import AUTOSAVE_SECONDS, LOOK_SECONDS, Quota, Rules
from tests.harness.class_league import Service, open_round


class Acting(Trainer):
    """A trainer whose status is what the test says."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.stops = self.saves = 0

    def become(self, status: str, paused: bool = False) -> None:
        self._run.status.status, self._run.status.held = status, paused

    def stop(self, *, seconds: float | None = None) -> None:
        self.stops += 1
        self.become("stopped")

    def autosave(self) -> None:
        self.saves += 1


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def plenty(monkeypatch):
    monkeypatch.setattr(quota, "shortage", lambda **_: "")


def sit(said, rules: Rules, drill: str = "bandit") -> tuple[Acting, Quota]:
    trainer = Acting(drill)
    return trainer, Quota(trainer, rules, said.append)


def test_the_rules_come_from_the_environment():
    assert Rules.of({}) == Rules()
    hub = Rules.of({"JUPYTERHUB_USER": "ada", "JUPYTERHUB_API_TOKEN": "secret"})
    assert (hub.minutes, hub.runs.name, hub.league, hub.token) == (30, "runs", "", ""), (
        "a server's own is not sent anywhere"
    )
    assert "secret" not in repr(Rules.of({"DSHQ_LEAGUE_TOKEN": "secret"}))
    own = {"DSHQ_TRAINING_MINUTES": "0", "DSHQ_RUNS_DIR": "/r", "DSHQ_LEAGUE_URL": "http://l", "DSHQ_LEAGUE_TOKEN": "t"}
    assert Rules.of({"JUPYTERHUB_USER": "ada", **own}) == Rules(0, Path("/r"), "http://l", "t")
    for bad in ("half an hour", "-1", "inf", "nan"):
        with pytest.raises(ValueError, match="DSHQ_TRAINING_MINUTES"):
            Rules.of({"DSHQ_TRAINING_MINUTES": bad})


def test_there_is_none_on_ones_own_machine(said):
    trainer, place = sit(said, Rules())
    trainer.become("training")
    for now in (0, 1e6):
        place.follow(now)
    assert place.trait() == {} and trainer.stops == trainer.saves == 0 and said == []


def test_only_training_spends_the_time_and_its_end_stops_it(said):
    trainer, place = sit(said, Rules(minutes=1))
    moments = [("idle", False), ("starting", False), ("training", False), ("training", True), ("training", False)]
    for step, (status, paused) in enumerate(moments):
        trainer.become(status, paused)
        place.follow(20.0 * step)
    assert place.trait()["left"] == 60, "nothing was trained between two looks"
    place.follow(100.0)
    assert (place.trait()["left"], trainer.stops) == (40, 0)
    place.extend()
    assert place.trait()["left"] == 100
    place.follow(200.0)
    assert (place.trait()["left"], trainer.stops) == (0, 1)
    assert said == ["The 1 minutes of training are used up and the policy is saved. Press Train for 1 more minutes."]
    trainer.become("starting")
    place.follow(300.0)
    assert place.trait()["left"] == 60
    for bad in (-1, float("nan"), 1e9):
        with pytest.raises(ValueError, match="minutes"):
            place.extend(bad)


def test_it_saves_while_it_trains(said, tmp_path: Path):
    trainer, place = sit(said, Rules(runs=tmp_path))
    for second in range(2 + int(3 * AUTOSAVE_SECONDS)):
        trainer.become("training" if second else "starting")
        place.follow(float(second))
    assert trainer.saves == 3 and place.trait()["earlier"] is None


def test_a_shortage_is_told_once_until_it_is_over(said, monkeypatch):
    trainer, place = sit(said, Rules(minutes=30))
    sentences = iter(["Memory is low: 9 MB", "Memory is low: 8 MB", "", "Memory is low: 7 MB"])
    asked = []
    monkeypatch.setattr(quota, "shortage", lambda **how: asked.append(how["starting"]) or next(sentences))
    trainer.become("starting")
    place.follow(0.0)
    trainer.become("training")
    for turn in range(1, 4):
        place.follow(turn * LOOK_SECONDS)
    assert said == ["Memory is low: 9 MB", "Memory is low: 7 MB"]
    assert asked == [True, False, False, False]


def test_what_is_short_in_words(monkeypatch):
    monkeypatch.setattr(shortage, "memory_limit", lambda: 1e9)
    free, room = 5e8, 64e6
    monkeypatch.setattr(shortage, "memory_available", lambda: free)
    monkeypatch.setattr(shortage, "room_in", lambda folder: room)
    assert shortage.shortage(starting=True, environment=True) == ""
    free = 2e8
    assert shortage.shortage(starting=True, environment=False).startswith("Memory is low: 200 MB of 1,000 MB are free")
    assert shortage.shortage(starting=False, environment=False) == ""
    free, room = 9e8, 1e6
    assert shortage.shortage(starting=False, environment=True).startswith("/dev/shm is low: 1 MB are free")
    assert shortage.shortage(starting=False, environment=False) == ""


def test_a_policy_is_sent_to_the_league(said, store: Store):
    number, token = open_round(store), store.issue_token("ada")
    with Service(store) as service:
        trainer, place = sit(said, Rules(league=service.url, token=token), "ball")
        with pytest.raises(RuntimeError, match="train first"):
            place.submit()
        trainer.load("ball:bronze")
        told: queue.Queue[dict] = queue.Queue()
        place.submit_beside(lambda: told.put(place.trait()["sent"]))
        assert told.get(timeout=300)["state"] == "sending"
        sent = told.get(timeout=300)
        assert sent["state"] == "sent" and "plays in 'Round 1'" in sent["text"]
    assert store.received(number) == {"ada": 1}
    place.submit_beside(lambda: told.put(place.trait()["sent"]))
    assert told.get(timeout=300)["state"] == "sending"
    sent = told.get(timeout=300)
    assert sent["state"] == "failed" and "no answer" in sent["text"]
    place.submit = [].pop  # whatever it raises
    place.submit_beside(lambda: told.put(place.trait()["sent"]))
    assert [told.get(timeout=60)["state"] for _ in range(2)] == ["sending", "failed"]


def test_the_page_asks_and_is_told(monkeypatch, tmp_path: Path):
    (tmp_path / "widget.js").write_text("")
    monkeypatch.setattr(page_files, "STATIC", tmp_path)
    monkeypatch.setenv("DSHQ_TRAINING_MINUTES", "30")
    with drill_widget.DrillWidget("bandit") as match:
        assert (match.seat["left"], match.seat["earlier"]) == (1800, None)
        match._inbox.take_message({"type": "EXTEND_TRAINING"}, [])
        match._refresh()
        assert match.seat["left"] == 3600
        flow = type(match._outbox.flow)
        monkeypatch.setattr(flow, "reachable", property(lambda _flow: False))  # what is to be sent stays
        match._inbox.take_message({"type": "RESUME_RUN"}, [])
        assert [(said["level"], said["text"]) for said in match._outbox.messages] == [
            ("error", "there is no saved run of this drill to continue")
        ]
        match._inbox.take_message({"type": "SUBMIT_POLICY"}, [])
        assert match._quota.trait()["sent"]["state"] in ("sending", "failed")


def test_a_cell_that_runs_again_offers_the_run_that_it_has_ended(monkeypatch, tmp_path: Path, learners_in_threads):
    (tmp_path / "widget.js").write_text("")
    monkeypatch.setattr(page_files, "STATIC", tmp_path)
    monkeypatch.setenv("DSHQ_RUNS_DIR", str(tmp_path / "runs"))
    cell = ["cell", "run-1"]
    monkeypatch.setattr(cells, "running_cell", lambda: tuple(cell))
    with drill_widget.DrillWidget("bandit") as first:
        assert first._trainer.train_for(updates=2, progress=False)
        cell[1] = "run-2"
        with drill_widget.DrillWidget("bandit") as second:
            assert first._closed
            second._refresh()
            assert second.seat["earlier"]["version"] == first._trainer.version == 2
            second._inbox.take_message({"type": "RESUME_RUN"}, [])
            assert second._trainer.version >= 2
