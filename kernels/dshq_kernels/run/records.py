"""What a run's own functions take in the learner's WebAssembly module: records of 8-byte numbers.

A record's fields are i64 (sizes, switches, and addresses, which bear the name of what lies there) or, where named in
`REALS`, f64. The functions in exported.py say what becomes of them.
"""

from __future__ import annotations

import numpy as np

REALS = (
    *("gamma", "gae_lambda", "scene_share", "advantage_mean", "advantage_scale", "reward_scale", "clip", "value_coef"),
    *("entropy_coef", "learning_rate", "epsilon", "max_norm", "target_kl"),
    *("won", "played", "gap", "alpha", "beta", "mean", "deviation", "explained"),
)


def record(fields: str) -> np.dtype:
    """The record of these fields, in this order."""
    return np.dtype([(name, "<f8" if name in REALS else "<i8") for name in fields.split()])


DRAW = record("generator out count bound items n_items")
RUN_RECORDS = {
    **dict.fromkeys(("seed", "words", "below", "uniform", "normal", "shuffle", "weighted"), DRAW),
    "plan_minibatches": record(
        "generator begins n length advantage all_units epochs count shuffled alpha beta room drawn order importance "
        "bounds"
    ),
    "moments": record("units n advantage value returns all_units mean deviation explained"),
    "add_moments": record("units n values all_units size moments room"),
    "difference": record("won played gap"),
    "ratings": record("n points matches pinned rating deviations free room"),
}
"""Function -> the record that it takes."""
