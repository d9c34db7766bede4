"""Samples that a policy could have played, for learners to learn from."""

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy

SPEC = PolicySpec((28, 64, 64, 31))

METRICS = {"loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction", "explained_variance", "grad_norm"}


def make_samples(units=64, spec=SPEC, seed=0, masked=False):
    """A rollout that the initial policy of `seed` could have played; `masked` forbids about half of the actions."""
    rng = np.random.default_rng(seed)
    samples = Samples.new(units, spec.layers[0], int(masked))
    samples.obs[:] = rng.standard_normal(samples.obs.shape)
    policy = Policy(spec.layers, spec.activation, FusedPPO(spec, seed=seed).blob())
    obs = samples.obs.transpose(0, 2, 1)
    mask = None
    if masked:
        samples.mask[:] = rng.integers(0, 1 << 31, samples.mask.shape) | 8
        mask = samples.mask.transpose(0, 2, 1) >> np.arange(spec.n_actions, dtype=np.uint32) & 1
    samples.action[:] = policy.act(obs, rng, mask=mask)
    logits, samples.value[:] = policy.logits(obs, mask), policy.forward(obs)[1]
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    samples.log_prob[:] = np.take_along_axis(log_probs, samples.action[..., None], -1)[..., 0]
    samples.advantage[:] = rng.standard_normal(samples.value.shape) + 3 * (samples.action == 3)
    samples.returns[:] = samples.value + samples.advantage
    return samples
