"""The learner's functions as C functions of one address: what the learner's WebAssembly module exports, but what learns
(exported_learn.py).

Importing this file compiles them, so only `wasm_numba.py` does. Each reads a record of numbers and addresses
(records.py) and calls what the processor's learner calls, with the same types.
"""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc

from dshq_kernels.backends.lanes import ONE, OPTIONS, pointer, record_at
from dshq_kernels.network.mlp import PLAN_COLUMNS, forward_lanes
from dshq_kernels.play import loops
from dshq_kernels.play.matches import match_tiles
from dshq_kernels.play.plans import *  # noqa: F403  (they are in the same module)
from dshq_kernels.play.records import FORWARD, MATCHES, ROLLOUT

f32, f64, i32, i64, u32 = np.float32, np.float64, np.int32, np.int64, np.uint32


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
        (
            carray(pointer(r.verbs), r.n_verbs, i64),
            r.tiles,
            r.tile_bytes,
            (r.sides, r.n_obs, r.time_limit, r.action_repeat, r.mask_verb),
            carray(pointer(r.opponents), r.n_tiles, i64),
            carray(pointer(r.running), (r.n_tiles, r.sides, 16), f32),
            r.memories,
        ),
        (carray(pointer(r.plan), (r.layers, PLAN_COLUMNS), i64), r.activation, r.params, r.policies, r.policy_bytes),
        (
            carray(pointer(r.weights), r.n_terms, f32),
            carray(pointer(r.potential), r.n_terms, np.bool_),
            f32(r.gamma),
            f32(r.gae_lambda),
        ),
        (r.seed, r.first_count, carray(pointer(r.scenes), (r.n_scenes, r.scene_words), u32), f32(r.scene_share)),
        carray(pointer(r.groups), (r.n_groups, 4), i64),
        r.length,
        (r.obs, r.action, r.log_prob, r.value, r.advantage, r.returns, r.mask, r.begins, r.states),
        r.first_unit,
        carray(pointer(r.stats), len(loops.STATS) + r.n_terms, f64),
        r.scratch,
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
