"""The page's ratings and guards say what Python's say, word for word and number for number."""

import math

import numpy as np
import pytest

from dshq_widget.learning import elo
from dshq_widget.learning.exploration import EntropyGuard
from dshq_widget.learning.league.collapse_guard import CollapseGuard
from tests.harness.run_kernels import run_module
from tests.harness.typescript import run

NUMBERS = """
import { general, percent, quoted, thousands } from "./js/trainer/files/format";

export function main({ numbers, shares, counts, texts }: any) {
  return [numbers.map(Number).map(general), shares.map(percent), counts.map(thousands), texts.map(quoted)];
}
"""
RATE = """
import { difference, ratings } from "./js/trainer/league/elo";
import { kernelsOf } from "./js/tests/harness/run_kernels";

export function main({ module, tables, gaps }: any) {
  const kernels = kernelsOf(module);
  const read = (table: (number | null)[]) => Float64Array.from(table, (elo) => elo ?? NaN);
  const rated = tables.map((table: any) => {
    const [points, matches, pinned] = table.map(read);
    return ratings(kernels, points, matches, pinned);
  });
  const plain = (values: Float64Array) => Array.from(values, String);
  const found = rated.map(({ rating, half }: any) => [plain(rating), plain(half)]);
  return { found, gaps: gaps.map(([points, matches]: any) => difference(kernels, points, matches)) };
}
"""
GUARD = """
import { CollapseGuard } from "./js/trainer/league/collapse_guard";
import { EntropyGuard } from "./js/trainer/exploration";

const numbers = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Number(value)]));

export function collapse(steps: any[]) {
  let guard = new CollapseGuard();
  return steps.map(([what, ...given]) => {
    if (what === "update") return guard.afterUpdate(numbers(given[0]));
    if (what === "start over") return guard.startOver() ?? "";
    const state = guard.state();
    guard = new CollapseGuard();
    guard.restore(state);
    return state;
  });
}

function entropy(steps: any[]) {
  let guard = new EntropyGuard();
  return steps.map(([what, ...given]) => {
    if (what === "update") {
      const said = guard.afterUpdate(given[0], given[1], given[2], Float32Array.from(given[3]));
      return [said, guard.bonus, guard.awake];
    }
    const state = guard.state();
    guard = new EntropyGuard();
    guard.restore(state);
    return state;
  });
}

export const main = (given: any) => ({ collapse: given.collapse.map(collapse), entropy: given.entropy.map(entropy) });
"""


def test_numbers_and_texts_are_written_like_pythons():
    rng = np.random.default_rng(5)
    numbers = [*(10 ** rng.uniform(-9, 9, 400) * rng.choice([-1, 1], 400)).tolist(), *range(-3, 3), 999.4, 999.5, 999.6]
    numbers += [1.125, 1.135, 1.375, 0.5, 9.995, 99950.0, 1e-4, 9.9995e-5, 100.5, 101.5, 1e300, 5e-324, -0.0]
    numbers += [math.inf, -math.inf, math.nan, *(k / 64 for k in range(200)), *(k / 1024 for k in range(9000, 9100))]
    shares = [k / 1600 for k in range(1700)] + rng.random(300).tolist()
    counts = [0, 12, 999, 1000, 65536, 123_456_789]
    texts = ["weights", "it's", 'say "it\'s"', "a\\b", "new\nline\t", "\x00\x1f\x7f\xa0\xad", "über", "", "\U0001f600"]
    found = run(NUMBERS, {"numbers": [*map(repr_js, numbers)], "shares": shares, "counts": counts, "texts": texts})
    assert found[0] == [f"{number:.3g}" for number in numbers]
    assert found[1] == [f"{share:.1%}" for share in shares]
    assert found[2:] == [[f"{count:,}" for count in counts], [*map(repr, texts)]]


def repr_js(number: float) -> str:
    return repr(float(number)).replace("inf", "Infinity").replace("nan", "NaN")


def tables() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Results of players of known Elo, of whom some never met; one to three are pinned."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60 if seed % 4 == 0 else 9))
        strength = rng.normal(1200, 400, n)
        pinned = np.full(n, np.nan)
        pinned[: rng.integers(1, min(n, 3) + 1)] = strength[0]
        met = np.triu(rng.random((n, n)) < rng.choice([0.15, 0.5, 1.0]), 1)
        matches = np.where(met, rng.integers(1, 200, (n, n)), 0)
        chance = 1 / (1 + 10 ** ((strength[None] - strength[:, None]) / 400))
        points = np.where(met, rng.binomial(2 * matches, chance) / 2, 0.0)
        both = matches + matches.T
        found.append((points + np.where(met, matches - points, 0).T, both.astype(float), pinned))
    return found


def test_ratings_are_equal():
    given = tables()
    assert any(np.isinf(elo.ratings(*table)[1]).any() for table in given), "strangers are among them"
    gaps = [(0, 10), (10, 10), (3.5, 7), (1999.5, 2048)]
    plain = [[[None if math.isnan(x) else x for x in part.ravel().tolist()] for part in table] for table in given]
    page = run(RATE, {"module": run_module(), "tables": plain, "gaps": gaps})
    for table, found in zip(given, page["found"], strict=True):
        for mine, theirs in zip(elo.ratings(*table), found, strict=True):
            np.testing.assert_allclose([*map(float, theirs)], mine, rtol=1e-9, atol=1e-9)
    assert page["gaps"] == pytest.approx([elo.difference(*gap) for gap in gaps], abs=1e-9)


def collapse_steps(seed: int) -> list[list]:
    """A run of updates that goes wrong now and then, with the memory saved in between."""
    rng = np.random.default_rng(seed)
    steps: list[list] = []
    for k in range(400):
        bad = k % 130 > 120
        loss = float(np.exp(rng.normal(-2, 1))) * (1e4 if bad and seed % 2 else 1)
        kl = float(rng.exponential(0.02)) + (5 * float(rng.random()) if bad and seed % 3 == 0 else 0)
        if bad and seed % 5 == 0:
            loss, kl = (math.nan, kl) if seed % 10 else (math.inf, math.nan)
        steps.append(["update", {"approx_kl": kl, "loss_value": loss} if rng.random() > 0.05 else {}])
        if rng.random() < 0.03:
            steps.append(["save"])
        if rng.random() < 0.01:
            steps.append(["start over"])
    return steps


def entropy_steps(seed: int) -> list[list]:
    rng = np.random.default_rng(seed)
    steps: list[list] = []
    level = 1.0
    for _ in range(200):
        level = max(0.0, level * float(rng.uniform(0.7, 1.1))) if rng.random() > 0.05 else 1.2
        weights = rng.standard_normal(3).astype(np.float32).tolist()
        steps.append(["update", level, float(rng.normal()), 0.1 if seed else 0.0, weights])
        if rng.random() < 0.05:
            steps.append(["save"])
    return steps


def python_collapse(steps: list[list]) -> list:
    guard, said = CollapseGuard(), []
    for what, *given in steps:
        if what == "update":
            said.append(guard.after_update(given[0]))
        elif what == "start over":
            guard.start_over()
            said.append("")
        else:
            said.append(guard.state().tolist())
            guard = CollapseGuard()
            guard.restore(np.array(said[-1]))
    return said


def python_entropy(steps: list[list]) -> list:
    guard, said = EntropyGuard(), []
    for what, *given in steps:
        if what == "update":
            entropy, returns, floor, weights = given
            text = guard.after_update(entropy, returns, floor, np.array(weights, np.float32))
            said.append([text, guard.bonus, None if guard.awake is None else guard.awake.tolist()])
        else:
            state = guard.state()
            said.append({name: tensor.tolist() for name, tensor in state.items()})
            guard = EntropyGuard()
            guard.restore(state)
    return said


def test_guards_say_the_same():
    collapse, entropy = [collapse_steps(seed) for seed in range(12)], [entropy_steps(seed) for seed in range(8)]
    texts = [[[*map(written, step)] for step in steps] for steps in collapse]
    page = run(GUARD, {"collapse": texts, "entropy": entropy})
    sentences = []
    for steps, found in zip(collapse, page["collapse"], strict=True):
        for mine, theirs in zip(python_collapse(steps), found, strict=True):
            assert isinstance(mine, str) == isinstance(theirs, str)
            if isinstance(mine, str):
                assert mine == theirs
                sentences.append(mine)
            else:
                theirs = [math.nan if x is None else x for x in theirs]
                np.testing.assert_allclose(theirs, mine, rtol=1e-12)
    for kind in ("value loss", "nats"):
        assert any(kind in sentence for sentence in sentences), f"no {kind!r} was said"
    for steps, found in zip(entropy, page["entropy"], strict=True):
        for mine, theirs in zip(python_entropy(steps), found, strict=True):
            if isinstance(theirs, dict):
                theirs = {name: tensor["data"] for name, tensor in theirs.items()}
            assert theirs == mine
            sentences.append(mine[0] if isinstance(mine, list) else "")
    assert any("entropy stayed below 0.1 nats" in sentence for sentence in sentences)


def written(value):
    return {key: repr_js(number) for key, number in value.items()} if isinstance(value, dict) else value
