"""Whether somebody's `gae` is generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dshq_widget.algorithms.ppo.learners import losses

GAMMA, GAE_LAMBDA = 0.9, 0.5
REWARDS = np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], np.float32)
VALUES = np.array([0.2, 0.2, 0.3, 0.3, 0.5, 0.6, 0.2, 0.1, 0.2, 0.3], np.float32)
NEXT_VALUES = np.array([0.2, 0.3, 0.3, 0.5, 0.6, 0.0, 0.1, 0.2, 0.3, 0.4], np.float32)
OVER = np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], bool)
"""Ten decisions of one game: a goal ends the first episode at decision 5, the second one goes on behind the last. What
follows a goal is worth nothing; what follows decision 9 is worth 0.4."""
TOLERANCE = 1e-4
DONE = (
    "It agrees with the learner's own on your ten numbers and on 512 drawn ones, ends of episodes of both kinds among "
    "them. From here on the agent below learns from your advantages."
)


def reference(
    rewards: np.ndarray, values: np.ndarray, next_values: np.ndarray, over: np.ndarray, gamma: float, gae_lambda: float
) -> np.ndarray:
    """Advantages by the learner's own formula, f32 of the shape of `rewards`: decisions, or decisions x games.

    `next_values` has the value of what follows each decision: 0 where the episode has ended for good.
    """
    parts = [torch.as_tensor(np.reshape(part, (len(part), -1))) for part in (rewards, values, next_values, over)]
    reward, value, following, ended = parts
    advantages, _ = losses.gae(
        reward, value, following[-1], following, torch.zeros_like(ended), ended, gamma, gae_lambda
    )
    return advantages.numpy().reshape(np.shape(rewards))


def missing(gae: Callable[..., Any]) -> list[str]:
    """What `gae(rewards, values, next_values, over, gamma, gae_lambda)` still lacks."""
    ten = (REWARDS, VALUES, NEXT_VALUES, OVER)
    kept = [part.copy() for part in ten]
    given = gae(*kept, GAMMA, GAE_LAMBDA)
    if given is None:
        return ["`gae` returns nothing: end it with `return advantages`."]
    answer = np.asarray(given, np.float64)
    if answer.shape != REWARDS.shape:
        return [f"`gae` should return ten advantages, one for each decision; it returned shape {answer.shape}."]
    if any((one != other).any() for one, other in zip(kept, ten, strict=True)):
        return ["`gae` changes the arrays that it is given. Write into one of your own: `np.zeros_like(rewards)`."]
    wanted = reference(*ten, GAMMA, GAE_LAMBDA).astype(np.float64)
    if not _close(answer, wanted):
        return _hints(answer, wanted)
    rng = np.random.default_rng(4)
    rewards, values, finals = rng.standard_normal((3, 64, 8)).astype(np.float32)
    over = rng.random((64, 8)) < 0.1
    next_values = np.where(over, finals * rng.integers(0, 2, (64, 8)), np.concatenate([values[1:], finals[-1:]]))
    many = rewards, values, next_values.astype(np.float32), over
    try:
        answer = np.asarray(gae(*many, 0.97, 0.9), np.float64)
    except (TypeError, ValueError) as error:
        return [
            f"Right on the ten numbers. On 64 decisions of 8 games it ends with {type(error).__name__}: there "
            "`over[t]` is a row of 8, which no `if` and no `not` can take. Multiply by `~over[t]`, or use `np.where`."
        ]
    if answer.shape != over.shape:
        return [f"For 64 decisions of 8 games at once it should return shape (64, 8); it returned {answer.shape}."]
    if not _close(answer, reference(*many, 0.97, 0.9)):
        return [
            "Right on the ten numbers, wrong on 64 decisions of 8 games with other settings. Is `gamma`, `gae_lambda` "
            "or the end of an episode written into it as a number? Does one game's carry leak into the next?"
        ]
    return []


def _close(answer: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.allclose(answer, wanted, rtol=TOLERANCE, atol=TOLERANCE))


def _hints(answer: np.ndarray, wanted: np.ndarray) -> list[str]:
    """Which of the usual slips these ten numbers are, or the last decision at which they are wrong."""
    surprise = REWARDS + GAMMA * NEXT_VALUES - VALUES
    slips = {
        "These are only the surprises. Each advantage also carries `gamma * gae_lambda` of the one after it.": (
            surprise
        ),
        "The goal's surprise is right, but the next episode's leaks into it: where `over`, nothing is carried back.": (
            _carried(surprise, np.zeros_like(OVER), GAMMA * GAE_LAMBDA)
        ),
        "The carry shrinks by `gae_lambda` only; it is worth less by `gamma` as well, with every decision.": (
            _carried(surprise, OVER, GAE_LAMBDA)
        ),
        "The carry shrinks by `gamma` only; `gae_lambda` is missing.": _carried(surprise, OVER, GAMMA),
        "These are returns. Advantages are what is left without the value that was expected anyway.": wanted + VALUES,
        "The right numbers in the wrong order: the first one belongs to decision 0.": wanted[::-1],
    }
    for slip, numbers in slips.items():
        if _close(answer, numbers):
            return [slip]
    last = int(np.flatnonzero(~np.isclose(answer, wanted, rtol=TOLERANCE, atol=TOLERANCE))[-1])
    return [
        f"Advantage {last} should be {wanted[last]:.4f} and is {answer[last]:.4f}; those after it are right."
        if last < len(wanted) - 1
        else f"The last advantage has nothing after it: `0 + 0.9 * 0.4 - 0.3` is {wanted[last]:.4f}, and yours is "
        f"{answer[last]:.4f}. Begin there and go backwards."
    ]


def _carried(surprise: np.ndarray, over: np.ndarray, factor: float) -> np.ndarray:
    """Each surprise with those behind it, weighed by `factor` a decision."""
    carried, carry = np.zeros(len(surprise)), 0.0
    for t in reversed(range(len(surprise))):
        carry = float(surprise[t]) + factor * carry * (not over[t])
        carried[t] = carry
    return carried
