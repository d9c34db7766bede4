"""The learner's functions as C functions of one address: what the learner's WebAssembly module exports.

Importing this file compiles them, so only `wasm_numba.py` does. Each reads a record of numbers and addresses
(records.py) and calls what the processor's learner calls, with the same types.
"""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc

from dshq_kernels.backends.lanes import pointer, record_at
from dshq_kernels.network import pairs
from dshq_kernels.network.mlp import PLAN_COLUMNS, forward_lanes
from dshq_kernels.network.update import learn as learn_on
from dshq_kernels.play import loops
from dshq_kernels.play.matches import match_tiles
from dshq_kernels.play.plans import *  # noqa: F403  (they are in the same module)
from dshq_kernels.play.plans import ONE, OPTIONS
from dshq_kernels.play.records import FORWARD, MATCHES, ROLLOUT, UPDATE

f32, f64, i32, i64, u32 = np.float32, np.float64, np.int32, np.int64, np.uint32
mean_lanes, mean_slope, judge_lanes, judge_slope = pairs.entries()  # called through the table, as a plan says


@cfunc(ONE, **OPTIONS)
def forward(at):
    r = record_at(at, FORWARD)
    plan = carray(pointer(r.plan), (r.layers, PLAN_COLUMNS), i64)
    memory = (r.memory, r.other_memory, r.keep)
    r.result = forward_lanes(
        plan, r.activation, r.params, r.x, r.x_other, r.allowed, r.other_allowed, memory, r.scratch
    )


@cfunc(ONE, **OPTIONS)
def play(at):
    r = record_at(at, ROLLOUT)
    loops.play(
        carray(pointer(r.verbs), r.n_verbs, i64),
        r.tiles,
        r.tile_bytes,
        (r.sides, r.n_obs, r.time_limit, r.action_repeat, r.mask_verb),
        carray(pointer(r.groups), (r.n_groups, 4), i64),
        carray(pointer(r.opponents), r.n_tiles, i64),
        r.length,
        carray(pointer(r.plan), (r.layers, PLAN_COLUMNS), i64),
        r.activation,
        r.params,
        r.policies,
        r.policy_bytes,
        carray(pointer(r.weights), r.n_terms, f32),
        carray(pointer(r.potential), r.n_terms, np.bool_),
        f32(r.gamma),
        f32(r.gae_lambda),
        r.seed,
        r.first_count,
        carray(pointer(r.scenes), (r.n_scenes, r.scene_words), u32),
        f32(r.scene_share),
        carray(pointer(r.running), (r.n_tiles, r.sides, 16), f32),
        r.memories,
        (r.obs, r.action, r.log_prob, r.value, r.advantage, r.returns, r.mask, r.begins, r.states),
        r.first_unit,
        carray(pointer(r.stats), len(loops.STATS) + r.n_terms, f64),
        r.scratch,
    )


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


@cfunc(ONE, **OPTIONS)
def matches(at):
    r = record_at(at, MATCHES)
    match_tiles(
        carray(pointer(r.verbs), r.n_verbs, i64),
        r.tiles,
        r.tile_bytes,
        (r.sides, r.n_obs, r.time_limit, r.action_repeat, r.mask_verb),
        carray(pointer(r.side_of), r.n_tiles, i64),
        (r.kind, r.other_kind),
        (
            carray(pointer(r.plan), (r.layers, PLAN_COLUMNS), i64),
            carray(pointer(r.other_plan), (r.other_layers, PLAN_COLUMNS), i64),
        ),
        (r.activation, r.other_activation),
        (r.params, r.other_params),
        r.n_actions,
        r.greedy != 0,
        r.seed,
        carray(pointer(r.weights), r.n_terms, f32),
        carray(pointer(r.results), (r.n_tiles, 16), i32),
        carray(pointer(r.lengths), (r.n_tiles, 16), i32),
        carray(pointer(r.returned), (r.n_tiles, 16), f32),
        r.actions,
        (r.memories, r.other_memories),
        r.scratch,
    )
