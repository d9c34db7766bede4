"""A run's own functions as C functions of one address, a part of the learner's WebAssembly module (play/exported.py).

Importing this file compiles them, so only `wasm_numba.py` does.
"""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc

from dshq_kernels.backends.lanes import ONE, OPTIONS, pointer, record_at
from dshq_kernels.run import draws, elo, minibatches
from dshq_kernels.run import moments as of_rollout
from dshq_kernels.run.records import DRAW, RUN_RECORDS

f32, f64, i64, u32, u64 = np.float32, np.float64, np.int64, np.uint32, np.uint64
PLAN, MOMENTS, ADD_MOMENTS = (RUN_RECORDS[name] for name in ("plan_minibatches", "moments", "add_moments"))
DIFFERENCE, RATINGS = (RUN_RECORDS[name] for name in ("difference", "ratings"))


@cfunc(ONE, **OPTIONS)
def seed(at):
    r = record_at(at, DRAW)
    draws.seed(carray(pointer(r.generator), 2, u64), carray(pointer(r.items), r.n_items, u32))


@cfunc(ONE, **OPTIONS)
def words(at):
    r = record_at(at, DRAW)
    draws.words(carray(pointer(r.generator), 2, u64), carray(pointer(r.out), r.count, u32))


@cfunc(ONE, **OPTIONS)
def below(at):
    r = record_at(at, DRAW)
    draws.below(carray(pointer(r.generator), 2, u64), r.bound, carray(pointer(r.out), r.count, u32))


@cfunc(ONE, **OPTIONS)
def uniform(at):
    r = record_at(at, DRAW)
    draws.uniform(carray(pointer(r.generator), 2, u64), carray(pointer(r.out), r.count, f64))


@cfunc(ONE, **OPTIONS)
def normal(at):
    r = record_at(at, DRAW)
    draws.normal(carray(pointer(r.generator), 2, u64), carray(pointer(r.out), r.count, f64))


@cfunc(ONE, **OPTIONS)
def shuffle(at):
    r = record_at(at, DRAW)
    draws.shuffle(carray(pointer(r.generator), 2, u64), carray(pointer(r.items), r.n_items, i64), r.count)


@cfunc(ONE, **OPTIONS)
def weighted(at):
    r = record_at(at, DRAW)
    generator, weights = carray(pointer(r.generator), 2, u64), carray(pointer(r.items), r.n_items, f64)
    draws.weighted(generator, weights, carray(pointer(r.out), r.count, i64))


@cfunc(ONE, **OPTIONS)
def plan_minibatches(at):
    r = record_at(at, PLAN)
    n = r.epochs * r.n
    minibatches.plan(
        carray(pointer(r.generator), 2, u64),
        carray(pointer(r.begins), r.n, i64),
        r.length,
        carray(pointer(r.advantage), (r.all_units, 16), f32),
        r.epochs,
        r.count,
        r.shuffled != 0,
        r.alpha,
        r.beta,
        carray(pointer(r.room), (2, r.n), f64),
        carray(pointer(r.drawn), n, i64),
        carray(pointer(r.order), n * r.length, i64),
        carray(pointer(r.importance), n * r.length, f32),
        carray(pointer(r.bounds), r.epochs * r.count + 1, i64),
    )


@cfunc(ONE, **OPTIONS)
def moments(at):
    r = record_at(at, MOMENTS)
    units, shape = carray(pointer(r.units), r.n, i64), (r.all_units, 16)
    advantage, value, returns = (
        carray(pointer(r.advantage), shape, f32),
        carray(pointer(r.value), shape, f32),
        carray(pointer(r.returns), shape, f32),
    )
    r.mean, r.deviation, r.explained = of_rollout.moments(units, advantage, value, returns)


@cfunc(ONE, **OPTIONS)
def add_moments(at):
    r = record_at(at, ADD_MOMENTS)
    of_rollout.add(
        carray(pointer(r.units), r.n, i64),
        carray(pointer(r.values), (r.all_units, r.size, 16), f32),
        carray(pointer(r.moments), 2 * r.size + 1, f64),
        carray(pointer(r.room), (2, r.size), f64),
    )


@cfunc(ONE, **OPTIONS)
def difference(at):
    r = record_at(at, DIFFERENCE)
    r.gap = elo.difference(r.won, r.played)


@cfunc(ONE, **OPTIONS)
def ratings(at):
    r = record_at(at, RATINGS)
    elo.ratings(
        carray(pointer(r.points), (r.n, r.n), f64),
        carray(pointer(r.matches), (r.n, r.n), f64),
        carray(pointer(r.pinned), r.n, f64),
        carray(pointer(r.rating), r.n, f64),
        carray(pointer(r.deviations), r.n, f64),
        carray(pointer(r.free), r.n, np.bool_),
        carray(pointer(r.room), (5, r.n, r.n), f64),
    )
