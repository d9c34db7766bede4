"""What a replay was paid for and played against: stored beside it, and compared before anyone learns from it again.

A replay holds rewards as sums, of which no part can be weighted again. They depend on the rules, on the weight of each
reward term, on the words of a reward of one's own, and, where potentials are paid, on the discount. An algorithm adds
what else of its own enters what is asked for: who plays the other side, a factor of the rewards, the discount of a
search's returns. What only decides how well something was found, such as a search's depth or a policy's noise, does not
belong to it: such decisions age in a replay as they always do.

Where a fingerprint differs from that of now, at a resume or after a change of settings, the replay begins empty. So it
does with a file that has none, from a release before there were any: what it was paid for is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dshq_widget.contract.finite import unusable
from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.contract.metrics import OWN_REWARD

NAME = "train.replay.fingerprint"
"""Its tensor in a file: u8 `[bytes]`, JSON."""
MOST_BYTES = 64 * 1024

Fingerprint = Mapping[str, Any]
"""Plain values by name; the names stand in the sentence that says what has changed."""


def paid(spec: DrillSpec, weights: np.ndarray, discount: float) -> dict[str, Any]:
    """How rewards are paid: `weights`, f32 `[n_terms]`, of the drill's terms, and `discount` of a decision, which only
    potentials read. A term of weight 0 is as good as none.
    """
    terms = [(term, float(weight)) for term, weight in zip(spec.terms, weights, strict=True) if weight]
    found: dict[str, Any] = {"rules": spec.rules_hash, "reward weights": {term.name: weight for term, weight in terms}}
    for term, _ in terms:
        if term.name == OWN_REWARD:
            found["reward of one's own"] = term.help
        if term.kind == "potential":
            found["discount"] = discount
    return found


def packed(fingerprint: Fingerprint) -> dict[str, np.ndarray]:
    """The tensor of a file."""
    return {NAME: np.frombuffer(json.dumps(fingerprint).encode(), np.uint8)}


def unpacked(state: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    """What `packed` wrote; None where a file has none. Raises ValueError for anything else."""
    if NAME not in state:
        return None
    row = state[NAME]
    if row.dtype != np.uint8 or row.ndim != 1 or row.size > MOST_BYTES:
        raise ValueError(f"expected a fingerprint of at most {MOST_BYTES} bytes, got {row.dtype} of shape {row.shape}")
    try:
        found = json.loads(row.tobytes())
    except RecursionError as error:
        raise ValueError("expected a fingerprint, got JSON that is nested too deep") from error
    if not isinstance(found, dict) or unusable(found):
        raise ValueError(f"expected a fingerprint, plain values by name, got {found!r:.60}")
    return found


def fits(found: np.ndarray, _: int) -> bool:
    """Whether a file's tensor is one (saved_state.py)."""
    try:
        return unpacked({NAME: found}) is not None
    except ValueError:
        return False


def difference(then: Fingerprint | None, now: Fingerprint) -> str:
    """A sentence if a replay of `then` is not to be learned from now, else ""."""
    if then is None:
        return "the replay begins empty: the file does not say what its rewards were paid for"
    changed = sorted(key for key in {*then, *now} if then.get(key) != now.get(key))
    if not changed:
        return ""
    return f"the replay begins empty, since it was made with other values of: {', '.join(changed)}"
