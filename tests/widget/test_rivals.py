"""Opponents that are policies: the ladder's, and files that a person names."""

import dataclasses

import numpy as np
import pytest

from dshq_widget.contract import protocol
from dshq_widget.env.batch import compiled
from dshq_widget.learning.league.league import League
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.drill_widget import DrillWidget
from dshq_widget.widget.export_html import match_of
from dshq_widget.widget.play_comm import BYTES_MAX
from dshq_widget.widget.rivals import MOST_BYTES, Rivals
from tests.harness.browser.recorded_widget import until
from tests.harness.games.league_rows import table


def test_the_ladder_is_offered_and_read_when_it_is_met():
    rivals = Rivals(compiled("ball"))
    assert rivals.opponents == ("chaser", "bronze", "silver", "gold")
    assert rivals.known == {"bronze": None, "silver": None, "gold": None}
    before = rivals.known
    rivals.load("chaser")
    rivals.load("")
    assert rivals.known is before
    rivals.load("gold")
    gold = rivals.known["gold"]
    saved = checkpoint.load(ladder.path("ball", "gold"))
    assert (np.frombuffer(gold["data"], "<f4") == saved.weights).all() and gold["version"] == saved.version
    assert gold["shape_hash"] == protocol.shape_hash(gold["layers"], gold["activation"])
    assert rivals.known["silver"] is None
    met = rivals.known
    rivals.load("gold")
    assert rivals.known is met


def test_a_page_that_meets_the_whole_league_fills_neither_the_memory_nor_a_line_to_a_page():
    """All that were met went to every page at once: seven networks of 1,024 x 4 neurons were more than one may wait
    for, so every page was dropped, and dropped again when it came back."""
    large = PolicySpec((28, 1024, 1024, 31))
    gold = checkpoint.load(ladder.path("ball", "gold"))
    weights = np.zeros(large.floats, np.float32)
    saved = dataclasses.replace(gold, layers=large.layers, weights=weights)
    rivals = Rivals(compiled("ball"), of_league=lambda version: saved)
    rivals.offer_league([{"version": version, "pinned": False} for version in range(200)])
    names = [f"league:v{version}" for version in range(60)]
    for name in names:
        rivals.load(name)
        loaded = [met for met, policy in rivals.known.items() if policy]
        assert name in loaded and (len(loaded) - 1) * weights.nbytes <= MOST_BYTES < BYTES_MAX // 2
    assert set(loaded) == set(names[-1 - MOST_BYTES // weights.nbytes :]), "the newest"
    assert len(rivals.known) == 204
    rivals.load(names[0])
    assert rivals.known[names[0]]


def test_drills_without_a_ladder_have_their_scripts():
    assert Rivals(compiled("sumo")).opponents == ("pusher",)
    with pytest.raises(ValueError, match="opponent must be one of 'idle', 'random', 'pusher'"):
        DrillWidget("sumo", opponent="gold")


def test_a_network_that_only_stands_in_for_its_policy_is_nobody_to_meet(tmp_path):
    """A page would play the stand-in, which plays at random."""
    bronze = checkpoint.load("ball:bronze")
    path = checkpoint.save(tmp_path / "dream.dshq", dataclasses.replace(bronze, algorithm="dreamer", stands_in=True))
    with pytest.raises(checkpoint.CheckpointError, match="is more than the network in its file"):
        Rivals(compiled("ball")).named(path)


def test_a_file_joins_under_its_name(tmp_path):
    (tmp_path / "rooney.dshq").write_bytes(ladder.path("ball", "bronze").read_bytes())
    with DrillWidget(mode="sandbox", opponent=tmp_path / "rooney.dshq") as w:
        assert w.opponent == "rooney" and w.rivals["rooney"]["data"]
        w.opponent = "silver"
        assert w.rivals["silver"]["data"] and w.rivals["gold"] is None
        w.opponent = "rooney"
        for nobody in (tmp_path / "nobody.dshq", "~nobody-of-this-name/rooney.dshq"):
            with pytest.raises(checkpoint.CheckpointError, match="cannot read"):
                w.opponent = nobody
        assert w.opponent == "rooney"


def test_a_policy_of_another_drill_is_refused(tmp_path):
    with pytest.raises(checkpoint.CheckpointError, match="plays 'ball', not 'sumo'"):
        DrillWidget("sumo", opponent=str(ladder.path("ball", "gold")))


def test_an_exported_match_keeps_the_opponents_that_were_met():
    with DrillWidget(mode="sandbox", opponent="gold") as w:
        names = ("drill", "policy", "rivals", "show", "controls", "config")
        kept = match_of({name: getattr(w, name) for name in names})
    assert list(kept["rivals"]) == ["gold"] and isinstance(kept["rivals"]["gold"]["data"], str)


@pytest.mark.slow
def test_the_leagues_versions_are_offered_and_the_champion_is_read_from_the_run():
    """After a training with a league of two rounds: `league:best` and each version have the weights of the league."""
    with DrillWidget("ball", num_envs=64, rollout_length=16, minibatch_size=256, snapshot_every=2, workers=0) as w:
        with pytest.raises(ValueError, match="'league:best': there is none before the first round of a training"):
            w.opponent = "league:best"
        w.train()
        until(lambda: sum(not row["pinned"] for row in w._trainer.league) >= 2)
        w.opponent = "league:best"
        assert w.rivals["league:best"]["data"], "also while it trains"
        w.stop()
        until(lambda: w.status == "stopped")
        w.opponent = "league:best"
        saved = checkpoint.decode(w._trainer.run_file())
        league = League(w._trainer.drill, PolicySpec(saved.layers, saved.activation), saved.seed)
        league.restore(saved.state)
        assert w.rivals["league:best"]["data"] == league.champion.weights.tobytes()
        assert w.rivals["league:best"]["version"] == league.champion.version
        oldest = league.snapshots[0]
        w.opponent = f"league:{oldest.name}"
        assert w.rivals[w.opponent]["data"] == oldest.weights.tobytes()
        with pytest.raises(ValueError, match="choose one of league:best, league:v"):
            w.opponent = "league:v999999"
        assert w.opponent == f"league:{oldest.name}"


def test_versions_that_left_the_league_are_offered_no_more():
    rivals = Rivals(compiled("ball"), of_league=lambda version: checkpoint.load(ladder.path("ball", "gold")))
    rows = [{"name": f"v{k}", "version": k, "pinned": False} for k in (3, 7)]
    rivals.offer_league([{"name": "chaser", "pinned": True}, *rows])
    assert rivals.opponents[-3:] == ("league:best", "league:v7", "league:v3")
    rivals.offer_league(rows[1:])
    assert rivals.opponents[-2:] == ("league:best", "league:v7")
    rivals.offer_league([])
    assert rivals.opponents == ("chaser", "bronze", "silver", "gold")


def test_an_opponent_is_loaded_when_it_is_chosen_and_at_no_other_change_of_the_show(make, monkeypatch):
    read = []

    def of_league(self, version=None):
        read.append(version)
        return checkpoint.load(ladder.path("ball", "gold"))

    monkeypatch.setattr(Trainer, "league_policy", of_league)
    with make("ball") as w:
        w._rivals.offer_league([{"name": "v7", "version": 7, "pinned": False}])
        w.opponent = "league:best"
        assert read == [None]
        w.speed = 2.0
        w.reset()
        w.comm.say({"state": {"show": {**w.show, "speed": 4.0}}, "buffer_paths": []}, "update")
        until(lambda: w.speed == 4.0)
        w.comm.say({"state": {"show": {**w.show, "opponent": "league:v7"}}, "buffer_paths": []}, "update")
        until(lambda: w.rivals["league:v7"])
        assert read == [None, 7]
        w.opponent = "league:best"
        w.opponent = "league:best"
        assert read == [None, 7, None, None], "the champion as it is now"


def page_chooses(widget, opponent):
    widget.comm.say({"state": {"show": {**widget.show, "opponent": opponent}}, "buffer_paths": []}, "update")


def test_an_opponent_that_left_the_league_is_left_for_the_drills_own(make, monkeypatch):
    monkeypatch.setattr(
        Trainer, "league_policy", lambda self, version=None: checkpoint.load(ladder.path("ball", "gold"))
    )
    with make("ball", mode="sandbox") as w:
        w._trainer._run.status.league = table(snapshots=2, champion=1)
        w._refresh()
        w.opponent = "league:v7"
        w.reset_training()
        assert w.opponent == "" and "league:v7" not in w.rivals
        w.mode = "human_vs_ai"
        assert w.mode == "human_vs_ai"


@pytest.mark.parametrize("name", ["league:v7", "silver"])
def test_an_opponent_that_cannot_be_read_is_left_for_the_drills_own(make, tmp_path, name):
    with make("ball", mode="sandbox", opponent="gold") as w:
        w._rivals.offer_league([{"name": "v7", "version": 7, "pinned": False}])
        w._rivals._paths["silver"] = tmp_path / "removed.dshq"
        with pytest.raises((checkpoint.CheckpointError, ValueError, RuntimeError)):
            w.opponent = name
        assert w.opponent == "gold", "in Python nothing changes"
        w.comm.say({"type": "HELLO"})
        page_chooses(w, name)
        until(lambda: w.opponent == "")
        assert until(lambda: w.comm.customs("LOG"))
        page_chooses(w, "gold")
        until(lambda: w.opponent == "gold")
