"""Debugging a drill's rules: what is printed and noticed, with the line, and that nothing is compiled for it."""

import bdb
import json

import numpy as np
import pytest

from dshq_widget import debug
from dshq_widget.cli.main import main
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.env.check import suite
from tests.harness.games.small_drill import drill_with
from tests.harness.games.toy_drills import Race, Walk
from tests.harness.no_compiling import compiles

CARELESS = """\
from dshq_widget import Choice, Drill, Observation, rule


@rule
def powered(x):
    return exp(x) * exp(x)


class Careless(Drill):
    name, tick_rate, action_repeat, time_limit = "careless", 10, 2, 40
    state = {"x": "f32", "n": "i32", "row": ("f32", 3)}
    actions = (Choice("pace", ("slow", "fast")), Choice("turn", ("none", "left", "right")))
    observations = (Observation("x"),)
    rewards = {"far": 1.0}

    @rule
    def reset(s, i):
        s.x[i] = 0.5

    @rule
    def tick(s, i):
        total = s.x[i]
        if s.ticks[i] == 4:
            print(f"tick {s.ticks[i]}: {total:.2f}", s.action[0, i])
        s.row[s.n[i], i] = total  # outside
        s.n[i] = s.n[i] + 1 + 12 // (s.ticks[i] - 3)  # by zero
        gap = total - 0.5
        ratio = gap / gap if s.ticks[i] == 6 else gap  # no number
        far = 1.0 / gap if s.ticks[i] == 8 else ratio  # infinite
        s.x[i] = 0.5 + float(int(far * 0.0 + 3e9 * total)) * 0.0  # too large
        big = powered(total * 200.0)  # called
        s.row[0, i] = big * 0.0 if big > 1e30 else 0.0

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]

    @rule
    def far(s, i, side):
        return s.x[i]

    @rule
    def scene(s, i):
        circle(s.x[i], 0.0, 0.1, 0)
"""


def line_of(text):
    return next(k for k, line in enumerate(CARELESS.splitlines(), 1) if text in line)


@pytest.fixture
def careless(tmp_path):
    file = tmp_path / "careless.py"
    file.write_text(CARELESS)
    return file


def test_what_compiled_rules_pass_over_is_told_with_line_and_values(careless, capsys):
    with compiles() as seen:
        assert main(["check", str(careless), "--debug", "--json"]) == 0
    assert seen == [], "nothing is compiled"
    said = capsys.readouterr().out.splitlines()
    assert any(line.startswith("tick 4: 0.50 ") for line in said[:-1]), "the rules' own prints"
    (report,) = json.loads(said[-1])["drills"]
    assert (report["drill"], report["decisions"], report["episodes"]) == ("careless", 50, 2)
    found = {(one["line"], one["what"].partition(",")[0].partition(":")[0]): one for one in report["warnings"]}
    wanted = {
        ("# outside", "index outside the array"): "is not in 0 to 2",
        ("# by zero", "division by zero"): "12 // 0",
        ("# no number", "a NaN"): "gap = 0.0",
        ("# infinite", "division by zero"): "gap = ",
        ("# too large", "int() of a number that no i32 holds"): "int(",
    }
    for (text, what), values in wanted.items():
        one = found[line_of(text), what]
        assert values in one["values"] and text in one["text"] and one["rule"] == "tick"
    inner = found[line_of("exp(x) * exp(x)"), "an infinity"]
    assert (
        f"in rule 'powered' at {careless}:{inner['line']}, called at {careless}:{line_of('# called')}"
        in inner["inside"]
    )
    assert inner["count"] > 90 and len({one["file"] for one in report["warnings"]}) == 1


def test_a_person_reads_it(careless, capsys):
    assert main(["check", str(careless), "--debug"]) == 0
    said = capsys.readouterr().out
    assert "careless: 50 decisions, 2 episodes ended, nothing compiled" in said
    assert f"careless.py:{line_of('# by zero')}: in rule 'tick': division by zero, taken as 0 (3 times)" in said
    assert main(["check", "bandit", "--debug"]) == 0
    assert "nothing compiled; no warnings" in capsys.readouterr().out


def test_one_game_by_hand():
    game = debug(Walk, actions=[1, {"move": "left"}])
    assert game.state["x"] == pytest.approx(0.0, abs=1e-6) and game.state["ticks"] == 8 and game.decisions == 2
    step = game.step(1)
    assert step.actions == (1,) and step.terms[0]["far"] == pytest.approx(0.1) and not step.over
    assert game.observe() == {"x": pytest.approx(0.1)} and game.allowed() == [0, 1] and len(game.scene()) == 1
    for _ in range(9):
        step = game.step(1)
    assert step.terminated and step.winner == 1 and game.episodes == 1
    with pytest.raises(RuntimeError, match="call reset"):
        game.step()
    game.reset()
    assert game.state["x"] == 0.0 and game.state["ticks"] == 0
    game.play(40)
    assert game.warnings == [] and "walk: 52 decisions" in repr(game)
    for wrong, text in (
        (2, "from 0 to 1, got 2"),
        (0.5, "from 0 to 1, got 0.5"),
        (True, "from 0 to 1, got True"),
        ("left", "from 0 to 1, got 'left'"),
        ({"move": "up"}, "one of left, right"),
        ({"mov": "left"}, "choices"),
    ):
        with pytest.raises(ValueError, match=text):
            game.step(wrong)


def test_it_plays_as_the_others_do():
    """The same seed and actions give the states of a batch; two sides take one action each."""
    game = debug(Race, 7)
    first = [game.step(given) for given in ([2, 1], (2, 1), np.array([2, 1]), [np.int64(2), 1.0])]
    assert [step.actions for step in first] == [(2, 1)] * 4
    tiles = game.drill.game(reference=True).new(1, 7)
    again = game.drill.game(reference=True)
    for _ in range(4):
        tiles["action"][0, 0], tiles["action"][0, 1] = 2, 1
        again.decide(tiles)
        again.tick(tiles, 2)
    assert game.state["x"] == tiles["x"][0, :, 0].tolist()
    assert first[-1].terms[0]["effort"] == -2.0
    with pytest.raises(ValueError, match="2 side"):
        game.step([0, 0, 0])


def says_where(s, i):
    if s.x[i] > 0.0:
        print("x", s.x[i])


def test_check_says_that_prints_act_only_with_debug(reference_rules):
    chatty = drill_with(says_where)
    rules = next(suite(chatty))
    assert rules.ok and rules.text.endswith("print and breakpoint in rules act only with --debug")
    assert not next(suite(Walk)).text.endswith("--debug")
    assert compile_drill(chatty).javascript.count("test_") == 0, "the `if` of a print is no code either"


def test_leaving_the_debugger_is_no_error(tmp_path, monkeypatch, capsys):
    def leave():
        raise bdb.BdbQuit

    file = tmp_path / "stopping.py"
    file.write_text(CARELESS.replace("total = s.x[i]\n", "total = s.x[i]\n        breakpoint()\n", 1))
    monkeypatch.setattr("sys.breakpointhook", leave)
    assert main(["check", str(file), "--debug"]) == 1
    assert capsys.readouterr().err == "dshq: ended in the debugger\n"
