"""Networks in every way in which they are calculated, to hold one to the other."""

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.vector import aligned
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.policy.network import PolicySpec


def over_lanes(plan, activation, weights, obs, masks=(0, 0), n_out=0):
    """Outputs f32 `[n_outputs, 2, 16]` for two units of observations `[2, n_obs, 16]`, whose masks lie at addresses."""
    params, scratch = mlp.pack(plan, weights), aligned(mlp.play_scratch(plan))
    first, second = (unit.ctypes.data for unit in obs)
    out = mlp.forward_lanes(
        plan, mlp.ACTIVATIONS[activation], params.ctypes.data, first, second, *masks, mlp.NO_MEMORY, scratch.ctypes.data
    )
    start, n_out = (out - scratch.ctypes.data) // 4, n_out or plan[-1, mlp.N_OUT]
    return scratch[start : start + n_out * 32].reshape(n_out, 2, 16)


def rows_over_lanes(layers, activation, weights, obs, masks=(0, 0)):
    """The same of 32 observations `[32, n_obs]`: `[32, n_outputs]`."""
    lanes = aligned((2, layers[0], 16))
    lanes[:] = obs.reshape(2, 16, -1).transpose(0, 2, 1)
    found = over_lanes(mlp.make_plan(layers), activation, weights, lanes, masks, layers[-1])
    return found.transpose(1, 2, 0).reshape(32, -1)


def slopes_of_both(spec: PolicySpec, samples: Samples, weights):
    """The gradient of the fused learner, and torch's, which comes from the definition by autograd."""
    found = []
    for name in ("fused", "torch"):
        learner = learners[name](spec, seed=0, threads=1)
        learner.load(weights)
        found.append(learner.gradient(samples, np.arange(len(samples.action)), Hyper())[0])
    return found
