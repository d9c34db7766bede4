"""Matches that a (scripted) person played replay to the same state in JavaScript and in Python, to the bit."""

import pytest

from dshq_widget.env.batch import compiled
from dshq_widget.env.replay import replay, state_hash
from tests.harness.browser.page_code import in_node

TICKS = 2000
BALL = compiled("ball")
TRAIT = {"spec": BALL.spec.to_json(), "javascript": BALL.javascript}


@pytest.fixture(scope="module")
def recordings():
    return in_node("recordMatches", TRAIT, list(range(10)), TICKS)


def test_ten_matches_replay_to_the_same_state_everywhere(recordings):
    for recording in recordings:
        assert recording["drill"] == "ball" and recording["rules_hash"] == BALL.rules_hash
        assert recording["ticks"] >= TICKS
        assert {"hold", "throw", "take", "key", "mode", "policy", "repeat"} <= {i["kind"] for i in recording["inputs"]}
        assert state_hash(replay(BALL, recording)) == recording["sha256"]
        assert in_node("replayedHash", TRAIT, recording) == recording["sha256"]
    assert len({recording["sha256"] for recording in recordings}) == len(recordings)


def test_every_moment_of_a_match_can_be_reached(recordings):
    recording = recordings[3]
    for ticks in (0, 1, 7, 500, 1234):
        cut = {**recording, "ticks": ticks, "inputs": [i for i in recording["inputs"] if i["tick"] <= ticks]}
        assert state_hash(replay(BALL, cut)) == in_node("replayedHash", TRAIT, cut)


def test_an_action_changed_is_another_match(recordings):
    one = {**recordings[0], "ticks": 60, "inputs": []}
    other = {**one, "actions": [(one["actions"][0] + 6) % BALL.spec.n_actions, *one["actions"][1:]]}
    assert state_hash(replay(BALL, one)) != state_hash(replay(BALL, other))


def test_wrong_recordings_are_refused(recordings):
    with pytest.raises(ValueError, match="was made with rules other"):
        replay(BALL, {**recordings[0], "rules_hash": "other"})
    with pytest.raises(ValueError, match="has no actions for tick"):
        replay(BALL, {**recordings[0], "actions": recordings[0]["actions"][:10]})


FORGED = {
    "pause": {"ticks": 10**15, "start": {"tick": 0, "phase": 0, "rest": 10**15}},
    "decision's length": {"ticks": 10**15, "inputs": [{"tick": 0, "kind": "repeat", "ticks": 10**15}]},
    "state": {"start": {"tick": 0, "phase": 0, "rest": 0, "state": "00"}},
    "action": {"actions": [10**9, -(10**9)]},
    "seed": {"seed": 10**400},
    "handle": {"inputs": [{"tick": 0, "kind": "hold", "handle": "nobody", "x": 0, "y": 0, "vx": 0, "vy": 0}]},
    "place": {"inputs": [{"tick": 0, "kind": "throw", "handle": "ball", "x": float("nan"), "y": 0, "vx": 0, "vy": 0}]},
}


FRACTIONS = {
    "tick": {"ticks": 1.5},
    "pause": {"ticks": 10**15, "start": {"tick": 0, "phase": 0, "rest": 0.5}},
    "decision's length": {"start": {"tick": 0, "phase": 0.5, "rest": 0}},
    "action": {"actions": [0.5, True]},
    "seed": {"seed": 0.5},
}
"""A pause of half a tick never came to its end, and nobody decided any more."""


@pytest.mark.parametrize(("what", "forged"), [*FORGED.items(), *FRACTIONS.items()])
def test_a_recording_has_no_numbers_that_no_match_has(what, forged):
    whole = {"rules_hash": BALL.rules_hash, "seed": 1, "inputs": [], "actions": [0, 0], "ticks": 1, **forged}
    if "start" in whole:
        whole["start"] = {"state": "00" * 4 * BALL.spec.words, **whole["start"]}
    with pytest.raises(ValueError, match=f"the recording has an? {what}"):
        replay(BALL, whole)


@pytest.mark.parametrize(
    "forged",
    [
        {"inputs": 3},
        {"inputs": ["x"]},
        {"inputs": [{"tick": "0", "kind": "repeat", "ticks": 1}]},
        {"inputs": [{"kind": "release"}]},
        {"actions": {"0": 0}},
        {"actions": None},
        {"start": {"tick": 0}},
        {"start": "x"},
        {"ticks": None},
    ],
    ids=str,
)
def test_nor_of_other_types(forged):
    whole = {"rules_hash": BALL.rules_hash, "seed": 1, "inputs": [], "actions": [0, 0], "ticks": 1, **forged}
    with pytest.raises(ValueError, match="the recording (has|is)"):
        replay(BALL, whole)
    with pytest.raises(ValueError, match="the recording is not one that a page has saved"):
        replay(BALL, {key: value for key, value in whole.items() if key != "seed"})
