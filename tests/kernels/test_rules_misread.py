"""Rules that Python or their author reads in another way than the translator could: refused, with the line."""

# ruff: noqa: F821  (u32, i32, random ... are words of the rules language; what is wrong is on purpose)

import functools
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dshq_kernels.language.rules import RulesError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import rule
from tests.harness.games.small_drill import drill_with, ticked, written

STATE = {"x": "f32", "n": "i32", "u": "u32", "ok": "bool", "row": ("f32", 3)}
HUGE = 10**400
GAIN = 0.5


@rule
def twice(x):
    return x * 2.0


@rule
def line(s, i):
    """A rule of the module's own, named as a shape is."""
    s.n[i] += 7


def refused(tick, found, mend, said_of=None, **members):
    """The rule is refused on one of its lines (or those of `said_of`), with these words."""
    with pytest.raises(RulesError) as caught:
        compile_drill(drill_with(tick, **{"state": STATE, **members}))
    (lines, first), file = inspect.getsourcelines(said_of or tick), inspect.getsourcefile(said_of or tick)
    text = str(caught.value)
    assert found in text and mend in text
    assert any(f"{Path(file).name}:{first + k}: " in text for k in range(len(lines)))


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        ("s.n[i] = 3000000000", "3000000000 does not fit i32", "Write `i32(...)`"),
        ("s.n[i] = s.n[i] + 4294967296", "4294967296 does not fit i32", "Write `i32(...)`"),
        ("if s.n[i] < 3000000000: s.x[i] = 1.0", "3000000000 does not fit i32", "Write `i32(...)`"),
        ("s.u[i] = s.u[i] * 5000000000", "5000000000 does not fit u32", "0 to 4294967295"),
        ("s.u[i] = s.u[i] + -1", "-1 does not fit u32", "u32(...)"),
        ("s.u[i] = u32(1 << 31 << 4)", "34359738368 does not fit u32", "0 to 4294967295"),
        ("s.n[i] = int(3000000000)", "3000000000 does not fit i32", "Write `i32(...)`"),
        (
            "for k in range(4294967296, 4294967299): s.n[i] += k",
            "4294967296 does not fit i32",
            "-2147483648 to 2147483647",
        ),
        ("s.x[i] = s.x[i] * HUGE", "an int of 401 digits is more than any type holds", "3.4e38"),
        ("s.x[i] = HUGE / 3", "an int of 401 digits is more than any type holds", "3.4e38"),
        (
            f"s.x[i] = float({10**20} * {10**20})",
            "an int of 41 digits is more than any type holds",
            "3.4e38",
        ),
        ("s.x[i] = 1e39", "1e+39 is more than an f32 holds", "math.inf"),
    ],
)
def test_a_literal_that_no_type_or_not_its_own_holds_is_refused(tmp_path, tick, found, mend):
    refused(written(tmp_path / "own.py", tick, globals()), found, mend)


def wins(s, i):
    return 3000000000


def test_a_literal_that_is_returned_is_held_to_its_type():
    refused(fits, "3000000000 does not fit i32", "Write `i32(...)`", wins, winner=rule(wins))


def fits(s, i):
    s.n[i] = -2147483648 ^ i32(0xFFFFFFFF)
    s.u[i] = u32(-1) - 0x9E3779B9
    s.x[i] = 100000000000000000000.0 - 100000000000000000000


def test_literals_at_the_ends_of_their_types_are_what_they_say():
    tiles = ticked(compile_drill(drill_with(fits, state=STATE)))
    assert (tiles["n"] == 2147483647).all() and (tiles["u"] == np.uint32(0xFFFFFFFF - 0x9E3779B9)).all()
    assert (tiles["x"] == 0).all()


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        ("sin = 1.0\ns.x[i] = sin(sin)", "'sin' is a variable in this rule", "another name"),
        (
            "s.x[i] = min(s.x[i], 2.0)\nfor min in range(3): s.n[i] += min",
            "'min' is a variable in this rule",
            "another name",
        ),
        ("range = 3\nfor k in range(3): s.n[i] += k + range", "'range' is a variable in this rule", "another name"),
        ("twice = 3.0\ns.x[i] = twice(twice)", "'twice' is a variable in this rule", "another name"),
        ("circle = 1.0\ncircle(0.0, 0.0, circle, 1)", "'circle' is a variable in this rule", "another name"),
        ("s.x[i] = GAIN\nGAIN = 1.0", "the variable 'GAIN' has no value here", "Give it one first"),
        ("GAIN += 1.0\ns.x[i] = GAIN", "the variable 'GAIN' has no value here", "Give it one first"),
        (
            "for GAIN in range(0): s.n[i] += 1\ns.x[i] = GAIN",
            "the variable 'GAIN' has no value here",
            "Give it one first",
        ),
        ("math = 1.0\ns.x[i] = math.pi + math", "'math.pi' is not a local", "constant"),
    ],
)
def test_a_variable_hides_what_else_has_its_name_as_in_python(tmp_path, tick, found, mend):
    refused(written(tmp_path / "own.py", tick, globals()), found, mend)


@rule
def measured(length):
    return length(length, 1.0)


def measures(s, i):
    s.x[i] = measured(2.0)


def test_a_parameter_hides_the_word_that_has_its_name():
    refused(measures, "'length' is a variable in this rule", "another name", measured)


def calls_a_line(s, i):
    line(s, i)


def test_a_rule_of_the_module_hides_the_shape_that_has_its_name():
    tiles = ticked(compile_drill(drill_with(calls_a_line)))
    assert (tiles["n"] == 7).all()


def many_tests(count):
    return "if s.n[i] == 0: s.x[i] = 0.0" + "".join(f"\nelif s.n[i] == {k}: s.x[i] = {k}.0" for k in range(1, count))


@pytest.fixture
def pythons_own_limit():
    """Libraries of other tests in this process raise it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def test_what_is_nested_too_deeply_is_refused(tmp_path, pythons_own_limit):
    """With the line, where the translator meets it before the back ends do."""
    with pytest.raises(RulesError, match=r"deep.py:\d+: in rule 'tick': this is nested too deeply\n.*\nKeep parts"):
        compile_drill(drill_with(written(tmp_path / "deep.py", many_tests(400), {})))
    with pytest.raises(RulesError, match="this is nested too deeply"):
        compile_drill(drill_with(written(tmp_path / "deep.py", f"s.x[i] = {' + '.join(['s.x[i]'] * 900)}", {})))


def test_what_python_cannot_nest_so_deeply_is_said_where_python_runs_it(tmp_path):
    game = compile_drill(drill_with(written(tmp_path / "deep.py", many_tests(110), {}))).game(reference=True)
    said = (
        r"deep.py:(\d+): in rule 'tick': this is nested too deeply for Python to run.*\n    (.*)\n.*`elif` as several"
    )
    with pytest.raises(RulesError, match=said) as caught:
        game.tick(game.new(1))
    line, text = re.search(said, str(caught.value)).groups()
    assert int(line) > 90 and (tmp_path / "deep.py").read_text().splitlines()[int(line) - 1].strip() == text


RULES = {"tick": rule(lambda s, i: None)}


def test_a_lambda_is_no_rule():
    said = r"misread.py:\d+: a rule is a `def`, and this is a lambda: write `@rule` and below it `def NAME\(s, i\): "
    with pytest.raises(RulesError, match=said):
        compile_drill(drill_with(RULES["tick"]))


def doubled(function):
    @functools.wraps(function)
    def twice_over(*arguments):
        function(*arguments)
        function(*arguments)

    return twice_over


@doubled
@rule
def decorated(s, i):
    s.x[i] += 1.0


REUSES_AN_INDEX = "for k in range(2): s.n[i] += k\nfor _ in range(20):\n    for k in range(30): s.n[i] += k"


def without_value():
    def reads(s, i):
        s.x[i] = later

    if s_is_never := False:
        later = s_is_never
    return reads


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        (
            "for k in range(2): s.n[i] += k\nfor _ in range(20):\n    for k in range(30): s.n[i] += k",
            "'k' has a value before this loop",
            "another name in the loop",
        ),
        (
            "for k in range(2147480000, 2147483647, 30): s.n[i] = k",
            "the index of this loop would leave i32",
            "smaller numbers",
        ),
        ("s.ok[i] = min(s.ok[i], s.x[i] > 0.0)", "bools have no order: `min` compares numbers", "`a and b`"),
        (decorated, "a decorator puts another function around this rule", "only `@rule`"),
        (without_value(), "'later' is not a local", "constant"),
        ("circle(0.0, 0.0, 1.0, 0)", "circle draws a shape, and only the rule `scene` draws", "Move it there"),
        ("for k in range(0, 3, step=2): s.n[i] += k", "loops must run over a `range` of constants", "range(10)"),
    ],
)
def test_what_the_back_ends_would_do_otherwise_is_refused(tmp_path, tick, found, mend):
    refused(written(tmp_path / "own.py", tick, globals()) if isinstance(tick, str) else tick, found, mend)


@pytest.mark.parametrize(
    "name, more, body, members, field",
    [
        ("observe", ", side, o", "s.x[i] += 1.0\no[0, i] = s.x[i]", {}, "x"),
        ("pay", ", side", "line(s, i)\nreturn s.x[i]", {"rewards": {"pay": 1.0}}, "n"),
        ("terminated", "", "s.row[s.n[i], i] = 2.0\nreturn s.n[i] > 3", {}, "row"),
        ("scene", "", "circle(random(s, i), 0.0, 1.0, 0)", {"palette": ("floor",)}, "rng_count"),
    ],
)
def test_a_rule_that_is_asked_about_the_game_may_not_change_it(tmp_path, name, more, body, members, field):
    view = written(tmp_path / "own.py", body, globals(), f"s, i{more}")
    found = f"it only reads the game, and this changes {field!r}"
    refused(calls_a_line, found, "in `tick` or `reset`", view, **members, **{name: rule(view)})


def observes_with_noise(s, i, side, o):
    o[0, i] = s.x[i] + random(s, i)


def remembers(s, i, side):
    s.n[i] += 1
    return s.n[i] % 2


def test_observations_may_draw_and_baselines_may_remember():
    own = {"observe": rule(observes_with_noise), "baselines": ("player",), "player": rule(remembers)}
    assert compile_drill(drill_with(calls_a_line, **own))


@rule
def halved(x: float) -> float:
    return x / 2.0


@rule
def counted(x) -> int:
    return x


@pytest.mark.parametrize(
    ("tick", "found", "mend"),
    [
        ("y: int = 2.5\ns.x[i] = y", "annotated as int, but its value is f32", "write `int(x)`"),
        ("y: float = s.n[i]\ns.n[i] = y", "annotated as float, but its value is i32", "write `float(x)`"),
        ("y: bool = 1\ns.n[i] = y", "annotated as bool, but its value is i32", "write a comparison"),
        ("s.x[i]: int = 2.0", "annotated as int, but its value is f32", "write `int(x)`"),
        ("s.x[i] = halved(s.n[i])", "annotated as float, but its value is i32", "write `float(x)`"),
    ],
)
def test_an_annotation_that_contradicts_its_value_is_refused(tmp_path, tick, found, mend):
    refused(written(tmp_path / "own.py", tick, globals()), found, mend)


def test_an_annotated_return_that_contradicts_its_value_is_refused():
    def tick(s, i):
        s.x[i] = counted(s.x[i])

    refused(tick, "annotated as int, but its value is f32", "write `int(x)`", said_of=counted)


def test_annotations_that_fit_change_nothing_and_a_literal_follows_its_own():
    def tick(s, i):
        x: float = 3
        k: int = s.u[i]
        ok: np.bool = s.ok[i]
        n: i32 = 7
        note: metres = 2.0
        s.x[i] = halved(1) + x / 2 + note
        s.n[i] = 0 if ok else n
        s.u[i] = k

    drill = compile_drill(drill_with(tick, state=STATE))
    game, state = drill.game(), drill.game().new(1, seed=0)
    game.tick(state, 1)
    assert (state["x"] == 4.0).all() and (state["n"] == 7).all()
