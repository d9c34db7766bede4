"""Rules that Python or their author reads in another way than the translator could: refused, with the line."""

# ruff: noqa: F821  (u32, i32, random ... are words of the rules language)

import inspect

import numpy as np
import pytest

from dshq_kernels.language.rules import RulesError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import rule
from tests.harness.games.small_drill import drill_with

STATE = {"x": "f32", "n": "i32", "u": "u32", "ok": "bool", "row": ("f32", 3)}
HUGE = 10**400


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
