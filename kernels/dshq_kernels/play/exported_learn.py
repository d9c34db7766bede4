"""What learns, as C functions: the other half of the learner's WebAssembly module (exported.py), compiled beside it."""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc

from dshq_kernels.backends.lanes import ONE, OPTIONS, pointer, record_at
from dshq_kernels.network import pairs
from dshq_kernels.network.mlp import PLAN_COLUMNS
from dshq_kernels.network.update import learn as learn_on
from dshq_kernels.play.records import UPDATE

f32, f64, i64 = np.float32, np.float64, np.int64
mean_lanes, mean_slope, judge_lanes, judge_slope = pairs.entries()  # called through the table, as a plan says


@cfunc(ONE, **OPTIONS)
def learn(at):
    r = record_at(at, UPDATE)
    learn_on(
        0,
        1,
        0,
        carray(pointer(r.plan), (r.layers, PLAN_COLUMNS), i64),
        r.activation,
        carray(pointer(r.state), (1, 3, r.floats), f32),
        carray(pointer(r.gradients), (2, 1, r.floats + 16), f32),
        carray(pointer(r.scratch), (1, r.scratch_floats), f32),
        (r.obs, r.action, r.log_prob, r.value, r.advantage, r.returns, r.mask, r.begins, r.states, r.length),
        carray(pointer(r.order), r.n_order, i64),
        carray(pointer(r.importance), r.n_order, f32),
        carray(pointer(r.bounds), r.n_bounds, i64),
        carray(pointer(r.normal), (r.n_normal, 2), f32),
        (f32(r.advantage_mean), f32(r.advantage_scale), f32(r.reward_scale)),
        carray(pointer(r.trained), r.n_trained, f32),
        (f32(r.clip), r.clip_value != 0, f32(r.value_coef), f32(r.entropy_coef)),
        (r.learning_rate, r.epsilon, r.max_norm, r.target_kl, r.steps),
        False,  # a page learns from its newest policy's samples alone
        carray(pointer(r.metrics), (1, r.n_metrics), f64),
    )
