"""A run's own draws: what they promise, and that the page draws the same bits from the same seed and from a file."""

from typing import Any

import numpy as np
import pytest

from dshq_kernels.play.rollout import STARTS
from dshq_kernels.run.draws import Draws
from dshq_widget.learning.saved.generator import pack_generator
from tests.harness.run_kernels import run_module
from tests.harness.typescript import run

DRAW = """
import { Draws } from "./js/trainer/draws";
import { kernelsOf } from "./js/tests/harness/run_kernels";

export function main({ module, cases }: any) {
  const kernels = kernelsOf(module);
  return cases.map(({ parts, state, calls }: any) => {
    const restored = state && Draws.restored(kernels, BigUint64Array.from(state, BigInt));
    const draws = restored ?? Draws.seeded(kernels, ...parts.map(BigInt));
    const drawn = calls.map(([name, ...given]: any[]) => {
      if (name === "weighted") return draws.weighted(Float64Array.from(given[0]), given[1]);
      return (draws as any)[name](...given);
    });
    return { drawn, state: draws.state };
  });
}
"""
CALLS: list[tuple[Any, ...]] = [
    *(("words", 5), ("below", 7, 40), ("uniform", 3), ("permutation", 50), ("different", 30, 4), ("words", 1)),
    *(("below", 1, 3), ("below", 1 << 32, 3), ("below", (1 << 31) + 1, 50), ("permutation", 0), ("different", 3, 0)),
    *(("weighted", [0.0, 0.5, 0.0, 2.5, 1e-9], 30), ("weighted", [3.0], 2), ("permutation", 4000), ("uniform", 2)),
]


def same(cases: list[dict[str, Any]]) -> None:
    """Both draw the same and stand in the same state afterwards; `parts` or `state` say where they begin."""
    given = [{**case, **{key: [*map(str, case[key])] for key in ("parts", "state") if key in case}} for case in cases]
    for case, page in zip(cases, run(DRAW, {"module": run_module(), "cases": given}), strict=True):
        known = "state" in case
        draws = Draws.restored(np.array(case["state"], np.uint64)) if known else Draws(*case["parts"])
        for (name, *rest), found in zip(case["calls"], page["drawn"], strict=True):
            rest = [np.array(one) if isinstance(one, list) else one for one in rest]
            assert found == getattr(draws, name)(*rest).tolist(), (case, name)
        assert [int(word) for word in page["state"]] == draws.state().tolist()


def test_the_page_draws_the_same():
    before = pack_generator(np.random.default_rng(7))  # of a file from when NumPy drew
    parts = [[0], [5, STARTS], [(1 << 32) - 1, 3, 9], [(1 << 64) - 1], []]
    states = [[7, 12], [3, (1 << 32) - 4], before.tolist()]
    same([{"parts": one, "calls": CALLS} for one in parts] + [{"state": one, "calls": CALLS} for one in states])


def test_a_saved_state_goes_on():
    draws = Draws(3, 4)
    draws.words(5)
    again = Draws.restored(draws.state())
    assert draws.words(9).tolist() == again.words(9).tolist()


def test_neighbouring_seeds_and_purposes_share_nothing():
    keys = [Draws(seed, purpose).words(1024) for seed in range(3) for purpose in (STARTS, STARTS + 1)]
    assert len(np.unique(keys)) == 6 * 1024


def test_a_count_beyond_32_bits_draws_other_numbers():
    first, later = (Draws.restored(np.array([9, count], np.uint64)).words(64) for count in (0, 1 << 32))
    assert not (first == later).any()


@pytest.mark.parametrize("bound", [3, 10, 97])
def test_whole_numbers_are_even(bound):
    """Pearson's chi-squared, at five deviations above its mean."""
    count = np.bincount(Draws(1, bound).below(bound, 1000 * bound), minlength=bound)
    assert len(count) == bound
    assert ((count - 1000) ** 2 / 1000).sum() < bound - 1 + 5 * (2 * (bound - 1)) ** 0.5


def test_bounds_near_the_largest_favour_nothing():
    """Of 3 x 2^30 numbers a third of all words would favour the first third."""
    found = Draws(2).below(3 << 30, 30_000)
    share = [(found < third).mean() for third in (1 << 30, 2 << 30)]
    assert share == pytest.approx([1 / 3, 2 / 3], abs=0.014)  # five deviations


def test_real_numbers_are_even():
    found = np.sort(Draws(3).uniform(20_000))
    assert found[0] >= 0 and found[-1] < 1
    assert np.abs(found - np.arange(20_000) / 20_000).max() < 1.95 / 20_000**0.5  # Kolmogorov and Smirnov's, 0.1 %


def test_every_order_is_as_likely():
    draws = Draws(4)
    orders, count = np.unique([draws.permutation(4) for _ in range(24 * 400)], axis=0, return_counts=True)
    assert len(orders) == 24 and ((count - 400) ** 2 / 400).sum() < 49.7  # 99.9 % with 23 degrees of freedom


def test_different_ones_are_different_and_as_likely():
    draws = Draws(5)
    found = [draws.different(9, 3) for _ in range(3000)]
    assert all(len(set(one)) == 3 for one in found)
    assert ((np.bincount(np.ravel(found), minlength=9) - 1000) ** 2 / 1000).sum() < 26.1  # 99.9 % with 8 degrees


def test_places_are_drawn_as_their_weights_say():
    weights = np.array([0, 1.0, 3, 0, 6, 0])
    count = np.bincount(Draws(6).weighted(weights, 10_000), minlength=6)
    assert (count[weights == 0] == 0).all()
    assert ((count - 1000 * weights)[weights > 0] ** 2 / (1000 * weights[weights > 0])).sum() < 13.8  # 2 degrees
    assert weights.tolist() == [0, 1, 3, 0, 6, 0], "the caller's are left alone"


BEGINNINGS = """
import { kernelsOf } from "./js/tests/harness/run_kernels";
import { beginningsFor } from "./js/trainer/engines/gpu";

export function main({ module, runs }: any) {
  const [kernels, spec] = [kernelsOf(module), { time_limit: 400, action_repeat: 4 } as any];
  return runs.map(([seed, version, steps]: number[]) => {
    const { starts, seed: own } = beginningsFor(kernels, spec, { seed, num_envs: 32 } as any, version!, steps!);
    return { keys: [...starts.keys], ticks: [...starts.ticks], seed: own };
  });
}
"""


def test_a_run_that_goes_on_on_the_pages_gpu_begins_other_games():
    runs = [[7, 0, 0], [7, 40, 0], [7, 40, 90], [7, 0, 90], [8, 0, 0], [7, 0, 0]]
    *found, again = run(BEGINNINGS, {"module": run_module(), "runs": runs})
    assert again == found[0]
    assert len({one["seed"] for one in found}) == len({tuple(one["keys"]) for one in found}) == len(found)
    assert len({key for one in found for key in one["keys"]}) == len(found) * 32, "none in common"
    assert all(tick % 4 == 0 and tick < 400 for one in found for tick in one["ticks"])
    assert all(len(set(one["ticks"])) > 20 for one in found), "no two phases of an episode alone are played"
