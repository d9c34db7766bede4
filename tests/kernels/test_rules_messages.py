"""What the rules language says when something is outside it: the line, what was found there, and the mend."""

# ruff: noqa: F821  (random is a word of the rules language)

import inspect
import math
import re
from pathlib import Path
from typing import ClassVar

import pytest

from dshq_kernels.language.rules import RulesError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Cells, Choice, Drill, Observation, rule
from tests.harness.games.small_drill import drill_with, reset_x, written

# ruff: noqa: F821  (random, sin ... are words of the rules language)

GAIN = 0.5
TABLE = (3, 1, 4)


@rule
def idle(s, i, side):
    return 0


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        ("s.x[i] = 1.0 if s.n[i] in (1, 2) else 0.0", "there is no `in`", "x == 1 or x == 2"),
        ("s.x[i] = 1.0 if (s.x[i] > 0.0) < (s.n[i] > 0) else 0.0", "bools have no order", "b and not a"),
        ("s.n[i] = 1 << 32", "cannot shift by 32", "0 to 31"),
        ("s.x[i] = 1.0 if -1 / 0 < 0.0 else 2.0", "this divides by 0", "math.inf"),
        ("s.x[i] = math.nan", "NaN is not a number that rules can hold", "flag"),
        ("for k in range(3): s.x[i] += float(TABLE[k / 2])", "an index must be i32, not f32", "`//` instead of `/`"),
        ("for _ in range(0, 8, 0): s.x[i] += 1.0", "the step of a loop cannot be 0", "-1 to count down"),
        ("while s.x[i] < 1.0: s.x[i] += 0.1", "`while`", "for attempt in range"),
        ("for _ in range(3): s.x[i] += 1.0; break", "`break`", "flag"),
        ("s.x[i] = s.x[i] + s.n[i]", "cannot mix f32 and i32", "float()"),
        ("if s.x[i] > 0.0: return\ns.x[i] = 1.0", "`return` is not allowed inside a block", "return it at the end"),
        ("s.xx[i] = 1.0", "no field 'xx'", "'x'"),
        ("s.x -= 0.02", "'s.x' is a field of all games at once", "s.x[i]"),
        ("s.x[i] = s.xx", "the state has no field 'xx'", "`s.x[i]`"),
        ("s.x[i] = s.rows", "the state has no field 'rows'", "`s.row[k, i]`"),
        ("s.x[i] = roww", "'roww' is not a local", "Did you mean `s.row[k, i]`?"),
        ("s.x[i] = sin", "'sin' is a function, and a value is wanted", "Call it: `sin(x)`."),
        ("s.x[i] = reset_xx", "'reset_xx' is not a local", "Did you mean `reset_x(s, i)`?"),
        ("reset_xx(s, i)", "'reset_xx' is not a rule", "Did you mean 'reset_x'?"),
        ("s.x[0] = 1.0", "the last index of a state field is the lane", "s.field[i]"),
        ("s.x[i] = GAIM", "'GAIM'", "'GAIN'"),
        ("s.x[i] = sine(s.x[i])", "'sine' is not a rule", "'sin'"),
        ("tick(s, i)", "cannot call themselves", "loop"),
        ("if s.x[i] > 0.0: y = 1.0\ns.x[i] = y", "'y' has a value on some paths only", "before the block"),
        ("s.row[3, i] = 1.0", "index 3 is outside field 'row'", "0 to 2"),
        ("s.x[i] = 'a'", "'a' is not a number", "f32"),
        ("s.x[i] = s.x[i] ** 2", "no operator `**`", "x * x"),
        ("s.x[i] = 1.0 if 0.0 < s.x[i] < 1.0 else 0.0", "comparisons cannot be chained", "a < b and b < c"),
        ("for _ in range(s.n[i]): s.x[i] += 1.0", "must be constants", "constant"),
        ("if s.x[i]: s.x[i] = 1.0", "must be bool", "comparison"),
        ("s.x[i] = sum([1.0 for k in range(3)])", "'sum' is not a rule", "`for` loop"),
        ("s.x[i] = print(s.x[i])", "'print' is not a rule", "on a line of its own"),
        ("print(s.x[i], sep=', ')", "print takes only texts and values here", "one f-string"),
        ("print(s)", "print cannot show the state", "print(s.field[i])"),
        ("print(random(s, i))", "what only debugs may not change the game", "on a line of its own"),
        ("print(f'{s.x[i]:.{s.n[i]}f}')", "a format cannot be computed here", ":.2f"),
        ("breakpoint(1)", "breakpoint takes no arguments here", "`breakpoint()`"),
        ("s.n[i] = random.randrange(4)", "'random.randrange' is not a rule", "`random_int(s, i, n)`"),
        ("s.x[i] = rnd.random()", "'rnd.random' is not a rule", "Write `random(s, i)`"),
        ("s.x[i] = math.tan(s.x[i])", "'math.tan' is not a rule", "`sin(x) / cos(x)`"),
        ("s.x[i] = np.clip(s.x[i], 0.0, 1.0)", "'np.clip' is not a rule", "`clamp(x, low, high)`"),
        ("s.x[i] = [2 * k for k in range(3)]", "a list comprehension is not in the rules language", "`for` loop"),
        ("s.n[i] = s.action[1, i]", "index 1 is outside field 'action' of length 1", "is `sides = 2` missing?"),
    ],
)
def test_outside_the_subset_names_the_line_and_the_mend(tmp_path, tick, found, mend):
    with pytest.raises(RulesError) as caught:
        compile_drill(drill_with(written(tmp_path / "own.py", tick, globals())))
    text = str(caught.value)
    assert found in text and mend in text
    lines = ["def tick(s, i):", *tick.split("\n")]
    assert any(f"own.py:{k}:" in text and line in text for k, line in enumerate(lines, 1))


@pytest.mark.parametrize(
    "members, found",
    [
        ({"state": {"x": ("i32", (4, 4))}}, "flatten it, .*16.* and .s.x.y . 4 . x, i."),
        ({"state": {"x": "f32", "rows": ("f32", 5_000_000)}}, "at most 131,072 .*'rows' has 5,000,000.* 20 GB"),
        ({"state": {"x": "f64"}}, "f32, i32, u32, bool"),
        ({"state": {"x": "f32", "ticks": "i32"}}, "every state already has a field of this name"),
        ({"state": {"x": "f32", "buffer": ("f32", 4)}}, "something else under this name"),
        ({"state": {"x": "f32", "class": "i32"}}, "Python has something else under this name"),
        ({"state": {"x": "f32", "__proto__": "i32"}}, "Python has something else under this name"),
        ({"state": {"x": ("f32", True)}}, r"or \(type, length\), got \('f32', True\)"),
        ({"baselines": ("bot", "bot"), "bot": idle}, "'bot' is named twice"),
        ({"baselines": ("random",), "random": idle}, "every drill has something under this name"),
        ({"baselines": ("bot", "bot_0"), "bot": idle, "bot_0": idle}, "choose another name"),
        ({"baselines": ("jäger",), "jäger": idle}, "use letters from a to z"),
        ({"rewards": {"missing": 1.0}}, "@rule def missing"),
        ({"time_limit": 7}, "multiple of action_repeat"),
        ({"time_limit": 1 << 40}, "2,147,483,647 at most"),
        ({"keys": {"KeyA": ("a", "d")}}, "which is not an action"),
        ({"keys": {"Left": ("a", "c")}}, "no key 'Left' .*did you mean 'ArrowLeft'"),
        ({"keys": {"a": ("a", "c")}}, "did you mean 'KeyA'"),
        ({"keys": {"Spase": ("a", "c")}}, "did you mean 'Space'"),
        ({"time_limits": 2400}, "'time_limits' is not a drill attribute .*did you mean 'time_limit'"),
        ({"terminate": rule(reset_x)}, "did you mean 'terminated'"),
        ({"name": "not a name"}, "short identifier"),
        ({"actions": ()}, "at least one action"),
        ({"sides": 3}, "sides is 1 or 2"),
        ({"state": {"x": 0.0}}, r"state field 'x': expected a type of f32, .*got 0\.0"),
        ({"state": {"x", "y"}}, r"state: expected a dict, field: type, such as state = \{"),
        ({"actions": Choice("a", ("b", "c"))}, r"actions: expected a tuple of Choice, .*got Choice\(name='a'"),
        ({"actions": (Choice("a", ("b", "b")),)}, r"choice 'a': expected different texts as options, got \('b', 'b'\)"),
        ({"actions": (Choice("a", ()),)}, "choice 'a': expected different texts"),
        ({"actions": (Choice("a", ("b",)), Choice("a", ("c",)))}, "two choices are called 'a'"),
        ({"observations": ("x",)}, r"observations: expected a tuple of Observation, .*got \('x',\)"),
        ({"rewards": {"win"}}, r"rewards: expected a dict, rule: weight, .*got \{'win'\}"),
        ({"rewards": {"win": "1"}}, "rewards: expected a dict, rule: weight"),
        ({"rewards": {"win": math.nan}}, "rewards: expected a dict, rule: weight, .*nan"),
        ({"world": (0, 0, math.inf, 10**400)}, "world: expected four numbers"),
        ({"winner": rule(staticmethod(reset_x))}, "'winner' is a staticmethod, not a plain function: leave only @rule"),
        ({"baselines": "seeker"}, r"baselines: expected a tuple of texts, .*got 'seeker'"),
        ({"keys": {"KeyA": "c"}}, r"keys: expected a dict, key: \(choice, option\), .*got \{'KeyA': 'c'\}"),
        ({"keys": {"KeyA": ("z", "d")}}, "not an action; the choices are 'a'"),
        ({"world": (0, 1)}, "world: expected four numbers"),
        ({"tick_rate": 0}, "tick_rate: expected a whole number above 0"),
        ({"palette": ("floor",), "pointed": ("player0",)}, "pointed names 'player0'; expected a name of the palette"),
        ({"pointed": "player0"}, r"pointed: expected a tuple of texts, .*got 'player0'"),
        ({"show_speed": 3}, r"show_speed: expected one of 0\.25, .* 32, got 3"),
        ({"cells": (2, 1)}, r"cells: expected Cells, .*got \(2, 1\)"),
        ({"cells": Cells(0, 1, 0, 0, 1, "a")}, "cells: columns and rows are whole numbers above 0"),
        ({"cells": Cells(2, 1, 0, 0, 1, "z")}, "cells names the choice 'z'; the choices are 'a'"),
        ({"cells": Cells(3, 1, 0, 0, 1, "a")}, "one option for each of 3 x 1 cells, got 2"),
    ],
)
def test_wrong_declarations_say_what_was_wanted(members, found):
    with pytest.raises(ValueError, match=found):
        compile_drill(drill_with(reset_x, **members))


class Misspelt(Drill):
    """Every declaration of it can be made wrong, one at a time, and stays on its line."""

    name = "misspelt"
    state: ClassVar = {
        "x": "f32",
        "y": "f23",
    }
    actions = (Choice("move", ("stay", "go")),)
    observations = (Observation("x"),)
    keys: ClassVar = {
        "KeyA": ("move", "stay"),
        "KeyB": ("move", "gone"),
    }

    @rule
    def tick(s, i):
        s.x[i] += 1.0


class Heir(Misspelt):
    state: ClassVar = {"x": "f32"}
    keys: ClassVar = {}
    time_limit = 7

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]


class Unmarked(Heir):
    time_limit = 8

    def reset(s, i):
        s.x[i] = 0.0

    @rule
    def tick(s, i):
        s.x[i] = 0.0


class Resetless(Heir):
    time_limit = 8

    @rule
    def tick(s, i):
        s.x[i] = 0.0


@pytest.mark.parametrize(
    "drill, line, said",
    [
        (Misspelt, '"KeyB": ("move", "gone"),', "did you mean 'go'"),
        (type("Misspelt", (Misspelt,), {"keys": {}}), '"y": "f23",', "expected a type of f32"),
        (Heir, "time_limit = 7", "multiple of action_repeat"),
        (Unmarked, "def reset(s, i):", "write @rule on the line above"),
        (Resetless, "class Resetless(Heir):", "there is no rule 'reset': add `@rule def reset(s, i)"),
    ],
)
def test_wrong_declarations_name_their_line(drill, line, said):
    here = Path(__file__).read_text().splitlines()
    number = next(k for k, text in enumerate(here, 1) if text.strip() == line)
    with pytest.raises(
        ValueError, match=rf"test_rules_messages.py:{number}: drill {drill.__name__}: .*{re.escape(said)}"
    ):
        compile_drill(drill)


SIX = tuple(Observation(f"seen {k}") for k in range(6))
AT_TIMES = "for k in range(6):\n    if s.n[i] == k: o[k, i] = 1.0"
BY_BRANCH = """o[0, i] = s.x[i]
if s.n[i] > 3: o[1, i] = 1.0
else: o[1, i] = 0.0
for k in range(20): o[2 + k // 5, i] = float(k)"""
"""Every element on every path: by constants, in both branches, and over a long loop's index."""


def observing(path, body):
    """A drill of six observations that writes them so."""
    return drill_with(reset_x, observe=rule(written(path, body, globals(), "s, i, side, o")), observations=SIX)


@pytest.mark.parametrize(
    "body, found, mend",
    [
        (
            "for k in range(3): o[2 * k, i] = s.x[i]",
            "does not write o[1], o[3] and o[5] ('seen 1', 'seen 3' and 'seen 5')",
            "`o[1, i] = ...`",
        ),
        (AT_TIMES, "does not write o[0], o[1], o[2] and 3 more on some paths", "before the `if`"),
    ],
)
def test_an_observation_that_is_not_written_is_named(tmp_path, body, found, mend):
    with pytest.raises(RulesError) as caught:
        compile_drill(observing(tmp_path / "own.py", body))
    text = str(caught.value)
    assert found in text and mend in text and "own.py:1: in rule 'tick'" in text


@pytest.mark.parametrize("body", [BY_BRANCH, "o[s.n[i], i] = 1.0"])  # which may be any, nobody can say
def test_observations_written_on_every_path_pass(tmp_path, body):
    assert compile_drill(observing(tmp_path / "own.py", body)).spec.n_obs == 6


def returns_a_float(s, i, side):
    x = 2.0 * s.x[i]
    return x + 1.0


def test_a_wrong_return_names_its_line():
    line = inspect.getsourcelines(returns_a_float)[1] + 2
    with pytest.raises(RulesError, match=f"test_rules_messages.py:{line}: .*expected i32, got f32"):
        compile_drill(drill_with(reset_x, player=rule(returns_a_float), baselines=("player",)))


def reads_titles(s, i):
    s.x[i] = titles


def test_a_constant_may_look_like_a_declaration():
    assert compile_drill(drill_with(reads_titles, titles=0.5))


def test_rules_hash_follows_the_rules():
    a = compile_drill(drill_with(reset_x))
    b = compile_drill(drill_with(reset_x))
    c = compile_drill(drill_with(uses_table))
    assert a.rules_hash == b.rules_hash != c.rules_hash


def uses_table(s, i):
    s.x[i] = float(TABLE[1])
