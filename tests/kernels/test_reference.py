"""The reference back end: the bits of machine code, and the author's lines."""

import bdb
import inspect
import linecache
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dshq_kernels.language import maths
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import rule
from dshq_widget.drills import drills
from dshq_widget.env.batch import Batch
from dshq_widget.env.gym_envs import DrillVectorEnv
from dshq_widget.env.trace import trace
from tests.harness.games import constructs, toy_drills
from tests.harness.games.small_drill import drill_with
from tests.harness.no_compiling import compiles

# ruff: noqa: F821  (random, sin, circle ... are words of the rules language)

CHEAP = {"ball": 60, "cartpole": 120, "words": 400, "permits": 180, "walk": 240, "barred": 60}
"""Drills whose machine code other fast tests need, too, and how many ticks are played."""
TOYS = (constructs.Words, constructs.Permits, toy_drills.Walk, toy_drills.Barred)
EVERY = {**drills, **{toy.name: toy for toy in TOYS}}


def without_backend(result):
    return {**result, "backend": ""}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in CHEAP else [pytest.mark.slow]) for name in sorted(EVERY)]
)
def test_bits_are_those_of_machine_code(name):
    """States, observations, terms, masks, baselines, winners and chance; then what is drawn."""
    drill = compile_drill(EVERY[name])
    ticks = CHEAP.get(name, 100 * drill.spec.action_repeat)
    runs = [without_backend(trace(drill, ticks, 2**32 - 9, backend)) for backend in ("cpu", "reference")]
    assert runs[0] == runs[1]
    compiled, reference = drill.game(reference=False), drill.game(reference=True)
    tiles = compiled.new(2, 5, practice=True)
    assert np.array_equal(tiles, reference.new(2, 5, practice=True))
    compiled.tick(tiles, 12)
    for lane in (0, 9):
        assert compiled.scene(tiles, 1, lane).tobytes() == reference.scene(tiles, 1, lane).tobytes()


@pytest.mark.parametrize("name", sorted(set(EVERY) - set(CHEAP)))
def test_bits_are_those_of_javascript(name):
    """The drills that no fast test compiles for this alone."""
    drill = compile_drill(EVERY[name])
    runs = [without_backend(trace(drill, 6 * drill.spec.action_repeat, 3, backend)) for backend in ("js", "reference")]
    assert runs[0] == runs[1]


def mostly(strategy, special):
    """A tile of operands, 16 each; every other one is special."""
    return arrays.arrays(strategy[0], 16, elements=st.one_of(st.sampled_from(special), strategy[1]))


I32, U32 = st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.1, 2.0**23, 8388607.5, -(2.0**31), 2.0**31, 2147483520.0, 1e-45, 3.4e38]
FLOATS = [float(np.float32(x)) for x in FLOATS] + [float("inf"), float("-inf"), float("nan")]
INTS = [0, 1, -1, 2, -2, 31, 32, 33, -5, 7, 2**31 - 1, -(2**31), 2**24 + 1]
WORDS = [0, 1, 2, 31, 32, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**24 + 1]
OPERANDS = {
    "f32": mostly((np.float32, st.floats(width=32)), FLOATS),
    "i32": mostly((np.int32, I32), INTS),
    "u32": mostly((np.uint32, U32), WORDS),
}


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({name: OPERANDS[kind] for kind, names in constructs.OPERANDS.items() for name in names}))
def test_every_operation_on_every_corner_has_the_bits_of_machine_code(operands):
    drill = compile_drill(constructs.Words)
    results = []
    for reference in (False, True):
        game = drill.game(reference=reference)
        tiles = game.new(1)
        for name, values in operands.items():
            tiles[name] = values
        game.decide(tiles)
        results.append({name: tiles[name].copy() for name in ("fr", "ir", "ur")})
    for name, wanted in results[0].items():
        differ = np.argwhere(wanted.view(np.uint32) != results[1][name].view(np.uint32))
        assert not len(differ), (
            f"{name}{differ[0]}: {wanted[tuple(differ[0])]} and {results[1][name][tuple(differ[0])]}"
        )


@rule
def doubled(x):
    return exp(x) * 2.0


def grows(s, i):
    total = s.x[i] + 1.0
    if s.n[i] > 2:
        total = total * 3.0
    for k in range(20):
        s.row[k % 3, i] += doubled(total)
    s.n[i] += 1
    s.x[i] = total


def line_of(function, text):
    """The number of the line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return next(first + k for k, line in enumerate(lines) if text in line)


class Stops(bdb.Bdb):
    """A debugger that notes where it stops, and what the variables and the lane's `n` are there."""

    def __init__(self):
        super().__init__()
        self.stops = []

    def user_line(self, frame):
        seen = frame.f_locals
        if "i" in seen:
            self.stops.append((frame.f_lineno, {**seen, "s.n": seen["s"].n[seen["i"]]}))
        self.set_continue()


def test_a_debugger_stops_on_the_authors_line_and_shows_his_names():
    game = compile_drill(drill_with(grows)).game(reference=True)
    tiles = game.new(1)
    tiles["n"][..., 5], tiles["x"] = 3, 0.5
    stops = Stops()
    stops.set_break(__file__, line_of(grows, "total * 3.0"))
    stops.set_break(__file__, line_of(doubled, "exp(x) * 2.0"))
    stops.reset()
    try:
        stops.runcall(game.tick, tiles)
    finally:
        stops.clear_all_breaks()
    taken = [seen for line, seen in stops.stops if line == line_of(grows, "total * 3.0")]
    assert len(taken) == 1, "only the lane that takes the branch visits it"
    assert taken[0]["i"] == 5 and taken[0]["total"] == 1.5 and taken[0]["s.n"] == 3
    assert len([0 for line, _ in stops.stops if line == line_of(doubled, "exp(x)")]) >= 20 * 16


def stumbles(s, i):
    total = s.x[i] + 0.25
    print(f"{total:wrong}")
    s.x[i] = total


@rule
def faulty(x):
    print(f"{x:wrong}")
    return x


def stumbles_inside(s, i):
    s.x[i] = faulty(s.x[i])


@pytest.mark.parametrize("tick, place", [(stumbles, stumbles), (stumbles_inside, faulty)])
def test_an_error_names_the_line_of_the_rule(tick, place):
    game = compile_drill(drill_with(tick)).game(reference=True)
    tiles = game.new(1)
    with pytest.raises(ValueError) as caught:
        game.tick(tiles)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, line_of(place, ":wrong}"), tick.__name__)
    assert last.line == linecache.getline(__file__, last.lineno).strip()
    notes = getattr(caught.value, "__notes__", [])
    called = f"called at {__file__}:{line_of(stumbles_inside, 'faulty(')}"
    assert notes == ([] if place is stumbles else [f"In rule 'faulty' at {__file__}:{last.lineno}, {called}"])


def test_lines_from_another_file_show_as_the_line_that_calls_them():
    """A debugger never leaves the author's file for the language's own."""
    game = compile_drill(drill_with(grows)).game(reference=True)
    code = game._python.rules.verb("tick").__code__
    assert code.co_filename == __file__
    lines, first = inspect.getsourcelines(grows)
    own, start = inspect.getsourcelines(doubled)
    allowed = {*range(first, first + len(lines)), *range(start, start + len(own)), None}
    assert {line for _, _, line in code.co_lines()} <= allowed
    assert maths.__file__ != __file__


def quiet(s, i):
    x = s.x[i] + 1.0
    if x > 1.5:
        x = x * 0.5
    s.x[i] = x
    s.n[i] = s.n[i] + 3


def loud(s, i):
    x = s.x[i] + 1.0
    if x > 1.5:
        print("large", x, i)
        x = x * 0.5
    s.x[i] = x
    if s.n[i] > 2 and x > 0.0:
        print(f"n {s.n[i]}: {x:.3f} {length(x, 1.0):.1f}")
        breakpoint()
    for k in range(2):
        print(s.row[k, i])
    s.n[i] = s.n[i] + 3


def test_print_and_breakpoint_change_nothing_but_in_the_reference(capsys, monkeypatch):
    plain, spoken = compile_drill(drill_with(quiet)), compile_drill(drill_with(loud))
    assert plain.rules_hash == spoken.rules_hash
    for form in ("javascript", "llvm", "devices", "wgsl"):
        assert getattr(plain, form) == getattr(spoken, form)
    halts = []
    monkeypatch.setattr("sys.breakpointhook", lambda: halts.append(1))
    game = spoken.game(reference=True)
    tiles = game.new(1)
    game.tick(tiles, 2)
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["0.0", "0.0"] and len(halts) == 16
    assert out[32:36] == ["large 2.0 0", "n 3: 1.000 1.4", "0.0", "0.0"]
    wanted = plain.game(reference=True).new(1)
    plain.game(reference=True).tick(wanted, 2)
    assert np.array_equal(tiles, wanted)


def test_machine_code_plays_on_rules_that_python_runs(monkeypatch):
    monkeypatch.setenv("DSHQ_RULES", "reference")
    played = {}
    for reference in (True, False):
        if not reference:
            monkeypatch.delenv("DSHQ_RULES")
        envs = DrillVectorEnv(toy_drills.Walk, 20, seed=3)
        seen, _ = envs.reset(seed=4)
        steps = [envs.step(np.arange(20) % 2)[:4] for _ in range(40)]
        played[reference] = [part.tobytes() for step in steps for part in step]
    assert played[True] == played[False]


def test_an_error_in_a_callback_is_raised_where_machine_code_returns(monkeypatch, capfd):
    monkeypatch.setenv("DSHQ_RULES", "reference")
    envs = DrillVectorEnv(drill_with(stumbles), 2)
    envs.reset()
    with pytest.raises(ValueError, match="Invalid format"):
        envs.step(np.zeros(2, int))
    assert "ignored" not in capfd.readouterr().err
    with pytest.raises(ValueError, match="Invalid format"):  # kept once, raised once
        envs.step(np.zeros(2, int))
    envs.batch.game.raise_kept()


def test_the_switch_travels_with_the_drill_and_compiles_nothing(monkeypatch):
    drill = compile_drill(toy_drills.Climb)
    assert "reference" not in drill.to_json()
    there = CompiledDrill.from_json(drill.to_json())
    with pytest.raises(RuntimeError, match="set DSHQ_RULES=reference"):
        there.game(reference=True)
    monkeypatch.setenv("DSHQ_RULES", "reference")
    there = CompiledDrill.from_json(drill.to_json())
    with compiles() as seen:
        batch = Batch(there, 3, 1)
        batch.step(batch.scripted("random"))
    assert not [name for name in seen if name in ("reset", "decide", "tick", "observe", "terms", "status", "random")]
    monkeypatch.setenv("DSHQ_RULES", "slow")
    with pytest.raises(ValueError, match="DSHQ_RULES: expected 'reference'"):
        drill.game()


# -- names of the generated code


def counts(s, i):
    s.x[i] = doubled(s.x[i])
    s.count[i] += s.inner[i]


def draws_its_count(s, i):
    circle(s.x[i], 0.0, 1.0, 0)
    circle(float(s.count[i]), 0.0, 1.0, 0)


@rule
def floor(s, i, side):
    return int(doubled(s.x[i]))


def test_fields_and_baselines_may_have_the_names_that_the_code_has():
    members = {"scene": rule(draws_its_count), "palette": ("turf",), "floor": floor, "baselines": ("floor",)}
    drill = compile_drill(drill_with(counts, state={"x": "f32", "count": "i32", "inner": "i32"}, **members))
    game = drill.game(reference=True)
    tiles = game.new(1)
    tiles["inner"] = 3
    game.tick(tiles)
    assert (tiles["count"] == 3).all() and (game.actions(tiles, "floor") == int(2 * np.exp(2))).all()
    assert game.scene(tiles)[:, 2].tolist() == [2, 3]
