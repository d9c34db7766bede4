"""The page's normaliser folds and measures as Python's does, by the same moments."""

from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy.network import PolicySpec
from tests.harness.run_kernels import run_module
from tests.harness.typescript import run

FOLD = """
import { kernelsOf } from "./js/tests/harness/run_kernels";
import { Normalizer } from "./js/trainer/ppo/normalizer";

export function main({ module, layers, weights, rollouts, fresh }: any) {
  const kernels = kernelsOf(module);
  const normalizer = new Normalizer(kernels, layers, { normalize_observations: true, normalize_rewards: true });
  normalizer.fresh = fresh;
  let learned = Float32Array.from(weights);
  return rollouts.map(({ obs, returns, units }: any) => {
    const samples: any = { obs: kernels.heap.f32(obs), returns: kernels.heap.f32(returns) };
    const { measures } = normalizer;
    const step = measures ? normalizer.measured : normalizer.learned;
    const before = measures ? learned : normalizer.convert(learned, true);
    learned = step.call(normalizer, before, samples, Int32Array.from(units));
    const { inputs, rewardScale } = normalizer;
    return { measures, learned, inputs, rewardScale, state: normalizer.state() };
  });
}
"""
LAYERS = (3, 5, 4)


def rollouts():
    """Three of them; the second has a number that is none."""
    rng = np.random.default_rng(2)
    made = []
    for k in range(3):
        obs = (rng.standard_normal((6, 3, 16)) * [[1], [30], [0.1]] + [[100], [0], [-5]]).astype(np.float32)
        returns = (rng.standard_normal((6, 16)) * 7).astype(np.float32)
        if k == 1:
            obs[2, 1, 3] = np.nan
        made.append((obs, returns, np.array([0, 2, 3, 5])))
    return made


@pytest.mark.parametrize("fresh", [True, False], ids=["untrained weights", "weights of a file"])
def test_it_is_pythons(fresh):
    spec = PolicySpec(LAYERS)
    normalizer = Normalizer(spec, observations=True, rewards=True)
    normalizer.fresh = fresh
    weights = spec.untrained(3) + np.float32(0.25)
    text = [
        {"obs": [str(x) for x in obs.ravel()], "returns": returns.ravel().tolist(), "units": units.tolist()}
        for obs, returns, units in rollouts()
    ]
    for one in text:
        one["obs"] = [x if x != "nan" else "NaN" for x in one["obs"]]
    given = {"module": run_module(), "layers": LAYERS, "weights": weights.tolist(), "rollouts": text, "fresh": fresh}
    learned, told = weights, run(FOLD, given)
    for (obs, returns, units), page in zip(rollouts(), told, strict=True):
        samples = SimpleNamespace(obs=obs, returns=returns)
        measures = normalizer.measures
        step = normalizer.measured if measures else normalizer.learned
        learned = step(learned if measures else normalizer.unfold(learned), samples, units)
        assert page["measures"] == measures
        np.testing.assert_allclose(page["learned"], learned, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(page["inputs"], normalizer.inputs.ravel(), rtol=1e-6)
        assert page["rewardScale"] == pytest.approx(normalizer.reward_scale, rel=1e-6)
        for name, moments in normalizer.state().items():
            np.testing.assert_allclose(page["state"][name]["data"], moments, rtol=1e-12)
    assert [row["measures"] for row in told] == [True, False, False]
    assert (np.array(told[0]["learned"], np.float32) == weights).all() != fresh, "only untrained weights are folded"
    assert np.isfinite(learned).all()
