"""Rules that Python or their author reads in another way than the translator could: refused, with the line."""

# ruff: noqa: F821, F823, B007  (u32, i32, random ... are words of the rules language; what is wrong is on purpose)

import functools
import importlib.util
import inspect
import re

import numpy as np
import pytest

from dshq_kernels.language.rules import RulesError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import rule
from tests.harness.games.small_drill import drill_with

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
    lines, first = inspect.getsourcelines(said_of or tick)
    text = str(caught.value)
    assert found in text and mend in text
    assert any(f"{__name__.rpartition('.')[2]}.py:{first + k}: " in text for k in range(len(lines)))


# ---- ints that do not fit


def too_large(s, i):
    s.n[i] = 3000000000


def too_large_beside(s, i):
    s.n[i] = s.n[i] + 4294967296


def too_large_to_compare(s, i):
    if s.n[i] < 3000000000:
        s.x[i] = 1.0


def too_large_unsigned(s, i):
    s.u[i] = s.u[i] * 5000000000


def below_nothing(s, i):
    s.u[i] = s.u[i] + -1


def too_large_to_convert(s, i):
    s.u[i] = u32(1 << 31 << 4)


def too_large_for_int(s, i):
    s.n[i] = int(3000000000)  # noqa: UP018, RUF046


def too_large_to_loop(s, i):
    for k in range(4294967296, 4294967299):
        s.n[i] += k


def huge(s, i):
    s.x[i] = s.x[i] * HUGE


def huge_quotient(s, i):
    s.x[i] = HUGE / 3


def grows_huge(s, i):
    s.x[i] = float(100000000000000000000 * 100000000000000000000)


def huge_float(s, i):
    s.x[i] = 1e39


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        (too_large, "3000000000 does not fit i32", "Write `i32(...)`"),
        (too_large_beside, "4294967296 does not fit i32", "Write `i32(...)`"),
        (too_large_to_compare, "3000000000 does not fit i32", "Write `i32(...)`"),
        (too_large_unsigned, "5000000000 does not fit u32", "0 to 4294967295"),
        (below_nothing, "-1 does not fit u32", "u32(...)"),
        (too_large_to_convert, "34359738368 does not fit u32", "0 to 4294967295"),
        (too_large_for_int, "3000000000 does not fit i32", "Write `i32(...)`"),
        (too_large_to_loop, "4294967296 does not fit i32", "-2147483648 to 2147483647"),
        (huge, "an int of 401 digits is more than any type holds", "3.4e38"),
        (huge_quotient, "an int of 401 digits is more than any type holds", "3.4e38"),
        (grows_huge, "an int of 41 digits is more than any type holds", "3.4e38"),
        (huge_float, "1e+39 is more than an f32 holds", "math.inf"),
    ],
)
def test_a_literal_that_no_type_or_not_its_own_holds_is_refused(tick, found, mend):
    refused(tick, found, mend)


def wins(s, i):
    return 3000000000


def test_a_literal_that_is_returned_is_held_to_its_type():
    refused(fits, "3000000000 does not fit i32", "Write `i32(...)`", wins, winner=rule(wins))


def fits(s, i):
    s.n[i] = -2147483648 ^ i32(0xFFFFFFFF)
    s.u[i] = u32(-1) - 0x9E3779B9
    s.x[i] = 100000000000000000000.0 - 100000000000000000000


def test_literals_at_the_ends_of_their_types_are_what_they_say():
    game = compile_drill(drill_with(fits, state=STATE)).game(reference=True)
    tiles = game.new(1)
    game.tick(tiles)
    assert (tiles["n"] == 2147483647).all() and (tiles["u"] == np.uint32(0xFFFFFFFF - 0x9E3779B9)).all()
    assert (tiles["x"] == 0).all()


# ---- variables with the name of something else


def calls_its_sine(s, i):
    sin = 1.0
    s.x[i] = sin(sin)


def calls_its_least(s, i):
    s.x[i] = min(s.x[i], 2.0)
    for min in range(3):
        s.n[i] += min


def loops_over_its_range(s, i):
    range = 3
    for k in range(3):
        s.n[i] += k + range


def calls_its_helper(s, i):
    twice = 3.0
    s.x[i] = twice(twice)


def draws_with_its_circle(s, i):
    circle = 1.0
    circle(0.0, 0.0, circle, 1)


def reads_before(s, i):
    s.x[i] = GAIN
    GAIN = 1.0
    s.n[i] = int(GAIN)


def adds_to_a_constant(s, i):
    GAIN += 1.0
    s.x[i] = GAIN


def reads_by_an_empty_loop(s, i):
    for GAIN in range(0):
        s.n[i] += 1
    s.x[i] = GAIN


def reads_through_its_own(s, i):
    math = 1.0
    s.x[i] = math.pi + math


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        (calls_its_sine, "'sin' is a variable in this rule", "another name"),
        (calls_its_least, "'min' is a variable in this rule", "another name"),
        (loops_over_its_range, "'range' is a variable in this rule", "another name"),
        (calls_its_helper, "'twice' is a variable in this rule", "another name"),
        (draws_with_its_circle, "'circle' is a variable in this rule", "another name"),
        (reads_before, "the variable 'GAIN' has no value here", "Give it one first"),
        (adds_to_a_constant, "the variable 'GAIN' has no value here", "Give it one first"),
        (reads_by_an_empty_loop, "the variable 'GAIN' has no value here", "Give it one first"),
        (reads_through_its_own, "'math.pi' is not a local", "constant"),
    ],
)
def test_a_variable_hides_what_else_has_its_name_as_in_python(tick, found, mend):
    refused(tick, found, mend)


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
    game = compile_drill(drill_with(calls_a_line)).game(reference=True)
    tiles = game.new(1)
    game.tick(tiles)
    assert (tiles["n"] == 7).all()


# ---- deep nesting


def loaded(folder, *lines):
    """A `tick` of these lines, from a file of its own."""
    path = folder / "deep.py"
    path.write_text("\n".join(["def tick(s, i):", *(f"    {line}" for line in lines), ""]))
    spec = importlib.util.spec_from_file_location("deep", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.tick


def many_tests(count):
    later = (f"elif s.n[i] == {k}:\n        s.x[i] = {k}.0" for k in range(1, count))
    return "if s.n[i] == 0:\n        s.x[i] = 0.0", *later


def test_what_is_nested_too_deeply_is_refused(tmp_path):
    """With the line, where the translator meets it before the back ends do."""
    with pytest.raises(RulesError, match=r"deep.py:\d+: in rule 'tick': this is nested too deeply\n.*\nKeep parts"):
        compile_drill(drill_with(loaded(tmp_path, *many_tests(400))))
    with pytest.raises(RulesError, match="this is nested too deeply"):
        compile_drill(drill_with(loaded(tmp_path, f"s.x[i] = {' + '.join(['s.x[i]'] * 900)}")))


def test_what_python_cannot_nest_so_deeply_is_said_where_python_runs_it(tmp_path):
    game = compile_drill(drill_with(loaded(tmp_path, *many_tests(110)))).game(reference=True)
    said = (
        r"deep.py:(\d+): in rule 'tick': this is nested too deeply for Python to run.*\n    (.*)\n.*`elif` as several"
    )
    with pytest.raises(RulesError, match=said) as caught:
        game.tick(game.new(1))
    line, text = re.search(said, str(caught.value)).groups()
    assert int(line) > 100 and (tmp_path / "deep.py").read_text().splitlines()[int(line) - 1].strip() == text


RULES = {"tick": rule(lambda s, i: None)}


def test_a_lambda_is_no_rule():
    said = r"misread.py:\d+: a rule is a `def`, and this is a lambda: write `@rule` and below it `def NAME\(s, i\): "
    with pytest.raises(RulesError, match=said):
        compile_drill(drill_with(RULES["tick"]))


# ---- where a thing may stand


def draws_in_its_tick(s, i):
    circle(0.0, 0.0, 1.0, 0)


def names_its_step(s, i):
    for k in range(0, 3, step=2):
        s.n[i] += k


def least_flag(s, i):
    s.ok[i] = min(s.ok[i], s.x[i] > 0.0)


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


def without_value():
    def reads(s, i):
        s.x[i] = later

    if s_is_never := False:
        later = s_is_never
    return reads


def loops_to_the_end(s, i):
    for k in range(2147480000, 2147483647, 30):
        s.n[i] = k


def reuses_an_index(s, i):
    for k in range(2):
        s.n[i] += k
    for _ in range(20):
        for k in range(30):
            s.n[i] += k


@pytest.mark.parametrize(
    "tick, found, mend",
    [
        (reuses_an_index, "'k' has a value before this loop", "another name in the loop"),
        (loops_to_the_end, "the index of this loop would leave i32", "smaller numbers"),
        (least_flag, "bools have no order: `min` compares numbers", "`a and b`"),
        (decorated, "a decorator puts another function around this rule", "only `@rule`"),
        (without_value(), "'later' is not a local", "constant"),
        (draws_in_its_tick, "circle draws a shape, and only the rule `scene` draws", "Move it there"),
        (names_its_step, "loops must run over a `range` of constants", "range(10)"),
    ],
)
def test_what_the_back_ends_would_do_otherwise_is_refused(tick, found, mend):
    refused(tick, found, mend)


def observes_and_moves(s, i, side, o):
    s.x[i] += 1.0
    o[0, i] = s.x[i]


def pays_and_moves(s, i, side):
    line(s, i)
    return s.x[i]


def ends_and_moves(s, i):
    s.row[s.n[i], i] = 2.0
    return s.n[i] > 3


def shows_and_draws_lots(s, i):
    circle(random(s, i), 0.0, 1.0, 0)


@pytest.mark.parametrize(
    "view, members, field",
    [
        (observes_and_moves, {"observe": rule(observes_and_moves)}, "x"),
        (pays_and_moves, {"rewards": {"pay": 1.0}, "pay": rule(pays_and_moves)}, "n"),
        (ends_and_moves, {"terminated": rule(ends_and_moves)}, "row"),
        (shows_and_draws_lots, {"scene": rule(shows_and_draws_lots), "palette": ("floor",)}, "rng_count"),
    ],
)
def test_a_rule_that_is_asked_about_the_game_may_not_change_it(view, members, field):
    found = f"it only reads the game, and this changes {field!r}"
    refused(calls_a_line, found, "in `tick` or `reset`", view, **members)


def observes_with_noise(s, i, side, o):
    o[0, i] = s.x[i] + random(s, i)


def remembers(s, i, side):
    s.n[i] += 1
    return s.n[i] % 2


def test_observations_may_draw_and_baselines_may_remember():
    own = {"observe": rule(observes_with_noise), "baselines": ("player",), "player": rule(remembers)}
    assert compile_drill(drill_with(calls_a_line, **own))


# ---- annotations


@rule
def halved(x: float) -> float:
    return x / 2.0


@rule
def counted(x) -> int:
    return x


def annotated_int(s, i):
    y: int = 2.5
    s.x[i] = y


def annotated_float(s, i):
    y: float = s.n[i]
    s.n[i] = y


def annotated_bool(s, i):
    y: bool = 1
    s.n[i] = y


def annotated_field(s, i):
    s.x[i]: int = 2.0


def annotated_parameter(s, i):
    s.x[i] = halved(s.n[i])


@pytest.mark.parametrize(
    ("tick", "found", "mend"),
    [
        (annotated_int, "annotated as int, but its value is f32", "write `int(x)`"),
        (annotated_float, "annotated as float, but its value is i32", "write `float(x)`"),
        (annotated_bool, "annotated as bool, but its value is i32", "write a comparison"),
        (annotated_field, "annotated as int, but its value is f32", "write `int(x)`"),
        (annotated_parameter, "annotated as float, but its value is i32", "write `float(x)`"),
    ],
)
def test_an_annotation_that_contradicts_its_value_is_refused(tick, found, mend):
    refused(tick, found, mend)


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
