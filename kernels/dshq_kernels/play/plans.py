"""A network's plan as a C function of one address, and a run's own functions: what of the learner's WebAssembly module
(exported.py) neither plays nor learns. Tests compile it alone.

Importing this file compiles them, so only `wasm_numba.py` does.
"""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc

from dshq_kernels.backends.lanes import ONE, OPTIONS, pointer, record_at
from dshq_kernels.network import mlp
from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.play.records import OF_NETWORK
from dshq_kernels.run.exported import *  # noqa: F403  (they are in the same module)

i64 = np.int64


@cfunc(ONE, **OPTIONS)
def plan_network(at):
    r = record_at(at, OF_NETWORK)
    plan = carray(pointer(r.plan), (r.layers, mlp.PLAN_COLUMNS), i64)
    dense, front = carray(pointer(r.dense), r.n_dense, i64), carray(pointer(r.front), r.n_front, i64)
    mlp.lay_out(plan, dense, front, r.in_front, r.memory, r.separate != 0, r.n_obs, r.n_actions)
    mlp.list_pieces(plan, r.in_front, carray(pointer(r.pieces), (1 + mlp.PIECES * r.layers, 4), i64))
    r.floats, r.play_scratch = mlp.plan_floats(plan), mlp.play_scratch(plan)
    r.learn_scratch = learn_scratch(plan, r.length)
