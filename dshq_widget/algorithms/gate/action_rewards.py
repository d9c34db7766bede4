"""What each action of the gate is paid in a state: to wait, to send an energy parasite, to send a combat one.

A small network of its own, beside the policy: with the policy's hidden units it predicted worse (docs/LOG.md), and so
the policy learns the same with and without it. It reads places and the other features as the policy does -> 32 -> 16 ->
3 and is fitted to training rewards by squared error, each decision at the action that was taken. Decisions weigh w, as
in the policy's loss, since most were proposed by earlier policies.

Of the actions that were not taken it learns nothing. The gate's simulation does say at no cost what a blocked proposal
was expected to bring; but that is the gate's guess, and whoever wants it can ask the gate. The predictions are of what
came.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dshq_widget.algorithms.gate.network import LAYOUTS, Adam
from dshq_widget.algorithms.gate.shape import FIRST, KINDS, N_FEATURES, OF_PLACE, PLACES, SECOND
from dshq_widget.algorithms.gate.trunk import Layout, Trunk

NAMES = ("wait", "energy", "combat")
"""The actions, in the order of the predictions."""
FRONT = LAYOUTS["places"].front
assert FRONT is not None
LAYOUT = Layout(
    {
        ("wp", "bp"): FRONT.shapes[0],
        ("w1", "b1"): (FRONT.features + N_FEATURES - PLACES * OF_PLACE, FIRST),
        ("w2", "b2"): (FIRST, SECOND),
        ("wa", "ba"): (SECOND, KINDS),
    },
    FRONT,
)


def taken(batch: np.ndarray) -> np.ndarray:
    """Index in NAMES of what was done at each decision of a batch (experience.py), i64 `[n]`."""
    return np.where(batch["was_executed"], 1 + batch["spawn_type"], 0).astype(np.int64)


def known(batch: np.ndarray) -> np.ndarray:
    """Whether what a decision is paid is known, bool `[n]`: it is not while a sent one is pending."""
    return ~(batch["was_executed"] & np.isnan(batch["actual_reward"]))


class ActionRewards:
    """The network and its optimiser. Predictions begin at 0."""

    def __init__(self, seed: int) -> None:
        self.network = Trunk(np.zeros(LAYOUT.size, np.float32), LAYOUT)
        self.network.initialise(np.random.default_rng([seed, 0xAC7]), ("wp", "w1", "w2"))
        self.adam = Adam(LAYOUT.size)

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Rewards f32 `[n, 3]`, in the order of NAMES, of features f32 `[n, 28]`."""
        p = self.network.views
        return self.network.read(features)["h2"] @ p["wa"] + p["ba"]

    def learn(
        self, features: np.ndarray, actions: np.ndarray, rewards: np.ndarray, weights: np.ndarray, rate: float
    ) -> float:
        """One step of Adam with the learning rate `rate` on rewards `[n]` of the actions taken, i64 `[n]`. Returns
        their mean squared error before it, each counted by its weight.
        """
        p, n = self.network.views, len(actions)
        hidden = self.network.read(features)
        error = (hidden["h2"] @ p["wa"] + p["ba"])[np.arange(n), actions] - rewards
        d_out = np.zeros((n, KINDS), np.float32)
        d_out[np.arange(n), actions] = weights * error / n
        out = Trunk(np.empty(LAYOUT.size, np.float32), LAYOUT)
        out.views["wa"][:], out.views["ba"][:] = hidden["h2"].T @ d_out, d_out.sum(0)
        self.network.read_back(out.views, hidden, d_out @ p["wa"].T)
        self.network = Trunk(self.adam.step(self.network.flat, out.flat, rate), LAYOUT)
        return float((weights * error**2).mean())

    def state(self) -> dict[str, np.ndarray]:
        """Weights and optimiser, for a checkpoint."""
        rows = np.stack([self.network.flat, self.adam.mean, self.adam.square])
        return {"train.gate.predictor": rows, "train.gate.predictor_steps": np.array(self.adam.steps, np.int64)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned; a file of a run without predictions leaves them at the beginning."""
        rows = state.get("train.gate.predictor")
        if rows is None or rows.shape != (3, LAYOUT.size):
            return
        weights, mean, square = (row.astype(np.float32) for row in rows)
        self.network = Trunk(weights, LAYOUT)
        self.adam.restore(mean, square, int(state["train.gate.predictor_steps"]))
