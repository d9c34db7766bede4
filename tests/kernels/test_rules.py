"""The rules language: what it means, equal on both back ends."""

import json
import re
import runpy
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from numpy import sign

from dshq_kernels.language.rules import RulesError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Observation, rule
from dshq_widget.env.trace import node, trace
from tests.harness.games.constructs import Permits, Words
from tests.harness.games.small_drill import drill_with, ticked

# ruff: noqa: F821  (random, sin, circle ... are words of the rules language)


@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 3])
def test_every_construct_means_the_same_on_cpu_and_in_javascript(seed):
    cpu, js = (trace(compile_drill(Words), 800, seed, backend) for backend in ("cpu", "js"))
    assert cpu["sha256"] == js["sha256"]
    assert cpu["views_sha256"] == js["views_sha256"]
    assert cpu["episodes"] == js["episodes"] > 0


@pytest.mark.parametrize("seed", [0, 77])
def test_arrays_and_masks_mean_the_same_on_cpu_and_in_javascript(seed):
    cpu, js = (trace(compile_drill(Permits), 300, seed, backend) for backend in ("cpu", "js"))
    assert cpu == {**js, "backend": "cpu"}
    assert cpu["episodes"] == 48


def test_masks_allow_what_they_say_and_chance_obeys_them():
    """Against the rule written again in numpy; where nothing is allowed, everything is."""
    game = compile_drill(Permits).game()
    tiles = game.new(8, 5)
    for tick in range(90):
        shelf, place = tiles["shelf"], np.clip(tiles["place"], 0, 39)
        found = game.mask(tiles)
        for side in range(2):
            wanted = np.zeros((8, 40, 16), bool)
            if tick % 4:
                wanted[:, :30] = shelf[:, :30] % 3 == side
                np.put_along_axis(wanted, place[:, None], True, 1)
                wanted[:, 39] = side == 1
            wanted |= ~wanted.any(1, keepdims=True)
            assert np.array_equal(found[:, side], wanted)
        tiles["action"] = game.actions(tiles, "random")
        assert np.take_along_axis(found, tiles["action"][:, :, None], 2).all()
        game.tick(tiles)


def test_chance_is_uniform_over_what_is_allowed():
    game = compile_drill(Permits).game()
    tiles = game.new(1, 6)
    tiles["ticks"], tiles["place"] = 1, 35
    tiles["shelf"][:] = 1
    tiles["shelf"][:, 5:9] = 0
    for side, allowed in ((0, [5, 6, 7, 8, 35]), (1, [k for k in range(30) if not 5 <= k < 9] + [35, 39])):
        assert np.flatnonzero(game.mask(tiles)[0, side, :, 0]).tolist() == allowed
        counts = np.bincount(
            np.concatenate([game.actions(tiles, "random")[:, side].ravel() for _ in range(500)]), minlength=40
        )
        assert counts.sum() == counts[allowed].sum() == 8000
        assert counts[allowed].min() > 0.75 * 8000 / len(allowed)


def fills_twice(s, i):
    """Two long loops may share the name of their index and of what they work out on the way."""
    for k in range(20):
        half = k // 2
        s.row[half % 3, i] = float(half)
    for k in range(30):
        half = k // 3
        s.x[i] += float(half)


def test_long_loops_may_share_names():
    tiles = ticked(compile_drill(drill_with(fills_twice)))
    assert (tiles["x"] == sum(k // 3 for k in range(30))).all()
    assert (tiles["row"][0, :, 0] == [9, 7, 8]).all()


def reuses_an_index(s, i):
    """A short loop inside a long one has the index of an earlier loop, which is read before, between and after."""
    total = 0
    for k in range(3):
        total += k
    for _ in range(20):
        total = total * 3 + k
        for k in range(1, 2 + 3, 3):
            total += k
        total = (total + 7 * k) % 1009
    s.n[i] = total + k


def test_a_short_loop_may_have_the_index_of_an_earlier_one():
    drill = compile_drill(drill_with(reuses_an_index))
    tiles = ticked(drill)
    asked = SimpleNamespace(n=[0])
    reuses_an_index(asked, 0)
    assert (tiles["n"] == asked.n[0]).all()
    assert len({trace(drill, 20, 1, backend)["sha256"] for backend in ("reference", "js")}) == 1


def counts_in_loops(s, i):
    """A short loop over `loop` stays one, with others in it; its index is a value, and nothing is unrolled."""
    total = 0
    for k in loop(3):
        for n in loop(7, 1, -2):
            if n > k:
                total += n * 10 + k
        s.row[k, i] = float(total)
    s.n[i] = total


def test_a_loop_stays_a_loop():
    drill = compile_drill(drill_with(counts_in_loops))
    tiles = ticked(drill)
    sums = np.cumsum([sum(n * 10 + k for n in (7, 5, 3) if n > k) for k in range(3)])
    assert np.array_equal(tiles["row"][0, :, 3], sums) and (tiles["n"] == sums[-1]).all()
    for source, head in ((drill.devices["cuda"], "for k_"), (drill.javascript, "for (k_")):
        assert source.count(head) >= 1, "in every back end"
    states = [trace(drill, 20, 1, backend)["sha256"] for backend in ("reference", "js")]
    assert states[0] == states[1]


@rule
def push(s, i):
    """Moves `n`, which is an index elsewhere."""
    s.n[i] += 1
    return 10.0


def adds_in_place(s, i):
    """The element is chosen once, before the right side."""
    s.row[random_int(s, i, 3), i] += 1.0
    s.n[i] = 0
    s.row[s.n[i], i] += push(s, i)
    k = 1
    s.row[k, i] -= push(s, i)
    s.row[2, i] *= 2.0


def test_an_element_that_is_added_to_is_chosen_once():
    drill = compile_drill(drill_with(adds_in_place))
    game = drill.game(reference=True)
    tiles = game.new(1)
    tiles["row"][:] = 5
    drawn = tiles["rng_count"].copy()
    game.tick(tiles)
    assert (tiles["rng_count"] == drawn + 1).all(), "one number is drawn"
    first, second, third = tiles["row"][0]
    assert set(first) <= {15, 16} and set(second) <= {-5, -4} and set(third) <= {10, 12}
    assert ((first - 15) + (second + 5) + (third - 10) / 2 == 1).all(), "one of them had one more"
    assert len({trace(drill, 20, 1, backend)["sha256"] for backend in ("reference", "js")}) == 1


length = 3.0  # a word of the language, too


def names_of_words(s, i):
    s.row[0, i] = length
    s.row[1, i] = hypotenuse(s, i)


@rule
def hypotenuse(s, i):
    return sqrt(9.0 + 16.0)


def test_a_constant_may_have_the_name_of_a_word():
    tiles = ticked(compile_drill(drill_with(names_of_words)))
    assert (tiles["row"][0, 0] == 3).all() and (tiles["row"][0, 1] == 5).all()


lane, tile, select, fract, var, function = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0  # words of back ends
inner, count, observe, reset = 7.0, 8.0, 9.0, 10.0  # of the reference, and of the drill's own rules
sin, circle = (0.5, 11.0), (12.0, 13.0)


def reads_constants(s, i):
    s.row[0, i] = lane + tile + select + fract + var + function + inner + count
    s.row[1, i] = observe + reset + sin[1] + circle[0]
    s.x[i] = sin(0.0)


def test_constants_and_tables_may_have_the_name_of_anything():
    game = compile_drill(drill_with(reads_constants)).game(reference=True)
    tiles = game.new(1)
    game.tick(tiles)
    assert (tiles["row"][0, :2] == [[36], [42]]).all() and (tiles["x"] == 0).all()


def test_a_comment_may_stand_further_left_than_its_rule(tmp_path):
    text = "class Rules:\n    def tick(s, i):\n# s.x[i] = 2.0\n        s.x[i] = 1.0\n"
    (tmp_path / "left.py").write_text(text)
    found = runpy.run_path(str(tmp_path / "left.py"))
    tiles = ticked(compile_drill(drill_with(found["Rules"].tick)))
    assert (tiles["x"] == 1).all()


def test_the_sign_of_numpy_is_numpys_however_it_is_called():
    game = compile_drill(drill_with(signs)).game(reference=True)
    tiles = game.new(1)
    tiles["x"][:] = 0
    game.tick(tiles)
    assert (tiles["row"][0, :2] == 0).all()


def signs(s, i):
    s.row[0, i] = sign(s.x[i])
    s.row[1, i] = np.sign(s.x[i])


def wraps(s, i):
    big = -int(-3.0e9)
    s.n[i] = 1 if big > s.ticks[i] else 0


def test_the_least_int_is_its_own_negative():
    drill = compile_drill(drill_with(wraps))
    tiles = ticked(drill)
    assert (tiles["n"] == 0).all()
    assert len({trace(drill, 20, 1, backend)["sha256"] for backend in ("reference", "js")}) == 1


def named_like_a_field(s, i):
    """Variables that back ends would call as they call a field, or a word of one: the second of them is number 2."""
    f_row = s.x[i] + 5.0
    x_row = f_row + 1.0
    s.row_2[i] = f_row
    s.row[2, i] += 1.0
    s.row[3, i] += 1.0
    s.x[i] = x_row


def test_a_variable_is_kept_apart_from_a_field():
    drill = compile_drill(drill_with(named_like_a_field, state={"x": "f32", "row": ("f32", 4), "row_2": "f32"}))
    assert len({trace(drill, 20, 1, backend)["sha256"] for backend in ("reference", "js")}) == 1
    assert "f_row_2 = fround" not in drill.javascript, "the field's"
    assert "x_row_3 = add(f_row" not in drill.devices["cuda"], "the word's"


def changes_neighbours(s, i):
    s.row[1, i] = s.row_1[i] + 1.0
    s.row_1[i] = s.row[2, i]


def test_a_field_beside_an_array_has_a_register_of_its_own():
    """The second word of `row` is not `row_1`."""
    drill = compile_drill(drill_with(changes_neighbours, state={"x": "f32", "row": ("f32", 3), "row_1": "f32"}))
    registers = re.findall(r"var<private> (x_\w+)", drill.wgsl)
    assert len(registers) == len(set(registers)) == drill.program.words
    tick = drill.devices["cuda"].partition("def tick")[2].partition("def ")[0]
    loaded = re.findall(r"^        (x_\w+) = \S+\(s\[", tick, re.MULTILINE)
    assert len(loaded) == len(set(loaded)) == 4, "three words and the clock"


def sees_every_other(s, i, side, o):
    for k in loop(3):
        o[2 * k, i] = s.x[i]


def test_observations_that_no_round_of_a_loop_writes_are_missed():
    seen = tuple(Observation(f"o{k}") for k in range(6))
    with pytest.raises(RulesError, match=r"it does not write o\[1\], o\[3\]"):
        compile_drill(drill_with(adds_in_place, observations=seen, observe=rule(sees_every_other)))


@rule
def put(s, i, k, value):
    s.grid[2 * k - 1, i] = value


def reaches_outside(s, i):
    """Indices made of a long loop's: where they leave the array they are clamped, else taken as they are."""
    for k in range(21):
        put(s, i, k, k + 1)
    for n in range(20):
        s.grid[2 * n, i] = s.grid[2 * n + 1, i] * 100 + n % 7


def test_indices_that_stay_inside_are_not_clamped():
    drill = compile_drill(drill_with(reaches_outside, state={"x": "f32", "grid": ("i32", 40)}))
    tiles = ticked(drill)  # where an index that is not inside is an error
    grid = np.zeros(40, int)
    for k in range(21):
        grid[np.clip(2 * k - 1, 0, 39)] = k + 1
    for n in range(20):
        grid[2 * n] = grid[2 * n + 1] * 100 + n % 7
    assert np.array_equal(tiles["grid"][0, :, 5], grid)
    tick = drill.devices["cuda"].partition("def tick(")[2].partition("def ")[0]
    assert tick.count("i32(39)") == 2, "only the first loop's index has to be held inside"


DRAW_IN_NODE = """
const { source, words } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const game = new Function(source)();
const state = game.create();
new Uint32Array(state.buffer).set(words);
const shapes = new Float32Array(64 * 12);
const n = game.scene(state, shapes);
console.log(JSON.stringify([...shapes.slice(0, n * 12)]));
"""


def test_scene_is_the_same_on_both():
    drill = compile_drill(Words)
    game = drill.game()
    tiles = game.new(1, 3)
    game.tick(tiles, 7)
    data = json.dumps({"source": drill.javascript, "words": game.words(tiles)[5].tolist()})
    run = subprocess.run([node(), "-e", DRAW_IN_NODE], input=data, text=True, capture_output=True, check=True)
    assert np.array_equal(np.array(json.loads(run.stdout), np.float32).reshape(-1, 12), game.scene(tiles, 0, 5))


def python_meaning(n: int, u: int) -> tuple[int, int]:
    """`Words.tick` on its integers, in unbounded Python ints, wrapped at 32 bits."""
    u = ((u << 3) & 0xFFFFFFFF ^ (u >> 5) ^ (u * 2654435761 & 0xFFFFFFFF) | 1) & 0xFFFFFFFF
    n = n * 1103515245 - (n >> 3) + (~n) // 7 - n % -5 + 4
    n &= 0xFFFFFFFF
    return (n - (1 << 32) if n >= 1 << 31 else n), u


def test_integers_mean_what_python_means_wrapped():
    game = compile_drill(Words).game()
    tiles = game.new(1, 11)
    n, u = int(tiles["n"][0, 0]), int(tiles["u"][0, 0])
    for _ in range(200):
        game.tick(tiles)
        # each intermediate of the rule wraps too, which for + - * gives the same 32 bits; // and >> see the wrapped n
        n, u = python_meaning(n, u)
        assert (int(tiles["n"][0, 0]), int(tiles["u"][0, 0])) == (n, u)


def test_conversion_saturates_and_never_leaves_the_array():
    game = compile_drill(Words).game()
    tiles = game.new(1, 0)
    for value, index in ((2**31 - 1, 4), (-(2**31), 0)):
        tiles["n"] = value
        tiles["row"] = np.arange(5, dtype=np.float32)[None, :, None]
        assert (game.observe(tiles)[:, :, 2] == index).all()
