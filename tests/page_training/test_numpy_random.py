"""The page's generator draws what NumPy's draws, bit for bit, from the same seed and from a saved state."""

from typing import Any

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dshq_widget.learning.generator import pack_generator, unpack_generator
from tests.harness.typescript import run

DRAW = """
import { Generator } from "./js/trainer/numpy/random";

type Call = [name: string, ...given: any[]];
const WAYS: Record<string, (rng: Generator, ...given: any[]) => unknown> = {
  next32: (rng) => rng.next32(),
  random: (rng) => rng.random(),
  randoms: (rng, n) => rng.random(n),
  integers: (rng, high, n) => rng.integers(high, n),
  integers32: (rng, n) => rng.integers32(n),
  permutation: (rng, n) => rng.permutation(n),
  weighted: (rng, p, n) => rng.choiceWithReplacement(Float64Array.from(p), n),
  different: (rng, n, size) => rng.choice(n, size),
  one: (rng, n) => rng.choice(n),
};

export function main(cases: { entropy?: string[]; state?: string[]; calls: Call[] }[]) {
  return cases.map(({ entropy, state, calls }) => {
    const begun = state && Generator.fromState(BigUint64Array.from(state, BigInt));
    const rng = begun ?? Generator.seeded(...entropy!.map(BigInt));
    return { drawn: calls.map(([name, ...given]) => WAYS[name]!(rng, ...given)), state: rng.state() };
  });
}
"""
NUMPY = {
    "next32": lambda rng: int(rng.integers(0, 1 << 32, dtype=np.uint32)),
    "random": lambda rng: rng.random(),
    "randoms": lambda rng, n: rng.random(n).tolist(),
    "integers": lambda rng, high, n: rng.integers(high, size=n).tolist(),
    "integers32": lambda rng, n: rng.integers(0, 1 << 32, n, np.uint32).tolist(),
    "permutation": lambda rng, n: rng.permutation(n).tolist(),
    "weighted": lambda rng, p, n: rng.choice(len(p), n, p=p).tolist(),
    "different": lambda rng, n, size: rng.choice(n, size, replace=False).tolist(),
    "one": lambda rng, n: int(rng.choice(n)),
}
FOUND = (Phase.reuse, Phase.generate)  # each try starts Node: nothing is made smaller
SEEDS = st.one_of(st.integers(0, 9), st.integers(0, (1 << 32) - 1), st.integers(0, 1 << 130))
SIZES = st.integers(0, 40)
CALLS = st.one_of(
    st.just(("next32",)),
    st.just(("random",)),
    st.tuples(st.just("randoms"), SIZES),
    st.tuples(st.just("integers"), st.one_of(st.integers(1, 300), st.integers(1, 1 << 32)), SIZES),
    st.tuples(st.just("integers32"), SIZES),
    st.tuples(st.just("permutation"), SIZES),
    st.tuples(st.just("different"), st.integers(30, 400), st.integers(0, 30)),
    st.tuples(st.just("one"), st.integers(1, 1000)),
)


def same(cases: list[dict[str, Any]]) -> None:
    """Both draw the same and stand in the same state afterwards; `entropy` or `state` say where they begin."""
    given = [{**case, **{key: [*map(str, case[key])] for key in ("entropy", "state") if key in case}} for case in cases]
    for case, page in zip(cases, run(DRAW, given), strict=True):
        rng = unpack_generator(np.array(case["state"], np.uint64)) if "state" in case else None
        rng = rng or np.random.default_rng(case["entropy"])
        assert page["drawn"] == [NUMPY[name](rng, *rest) for name, *rest in case["calls"]], case
        assert [int(word) for word in page["state"]] == pack_generator(rng).tolist(), case


@settings(max_examples=12, deadline=None, phases=FOUND)
@given(st.lists(st.tuples(st.lists(SEEDS, min_size=1, max_size=7), st.lists(CALLS, max_size=12)), min_size=8))
def test_any_calls_in_any_order(cases):
    same([{"entropy": entropy, "calls": calls} for entropy, calls in cases])


def test_many_seeds():
    same([{"entropy": [seed, 0xBA7C4], "calls": [("next32",), ("randoms", 3)]} for seed in range(500)])


def test_bounds_that_reject_many_words():
    """Above 2^31 nearly every second word is drawn again; 2^32 takes every word, 1 none."""
    bounds = [1, 2, 3, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32]
    same([{"entropy": [k], "calls": [("integers", high, 200)]} for k, high in enumerate(bounds)])


def test_orders_of_many():
    sizes = [0, 1, 2, 3, 63, 64, 65, 4000, 70_000]
    same([{"entropy": [n], "calls": [("next32",), ("permutation", n), ("random",)]} for n in sizes])


def test_rows_are_put_into_the_order_of_numbers():
    rows = np.arange(300).reshape(100, 3)
    (page,) = run(DRAW, [{"entropy": ["3"], "calls": [("permutation", 100)]}])
    assert np.array_equal(np.random.default_rng([3]).permutation(rows), rows[page["drawn"][0]])


def test_some_of_a_few_and_of_many():
    """Above 10,000 NumPy shuffles the tail where more than a fiftieth is wanted."""
    pairs = [(1, 1), (5, 5), (97, 2), (10_000, 400), (10_001, 200), (10_001, 201), (12_000, 12_000), (30_000, 3)]
    same([{"entropy": [k], "calls": [("different", *pair), ("next32",)]} for k, pair in enumerate(pairs)])


def test_choice_by_probability():
    rng = np.random.default_rng(1)
    weights = [rng.random(n) ** 3 for n in (1, 2, 3, 7, 8, 9, 100, 129, 1000)]
    cases = [(w / w.sum()).tolist() for w in weights] + [[0.0, 0.5, 0.0, 0.5, 0.0]]
    same([{"entropy": [k, 2], "calls": [("weighted", p, 300), ("next32",)]} for k, p in enumerate(cases)])


@settings(max_examples=8, deadline=None, phases=FOUND)
@given(st.lists(st.tuples(SEEDS, st.integers(0, 5), st.lists(CALLS, max_size=8)), min_size=8))
def test_a_saved_state_goes_on(cases):
    """A saved half word counts, too."""
    given = []
    for seed, drawn, calls in cases:
        rng = np.random.default_rng(seed)
        rng.integers(0, 1 << 32, drawn, np.uint32)
        given.append({"state": pack_generator(rng).tolist(), "calls": calls})
    same(given)
