"""Lesson gate: what a proposal is expected to bring, and a reward for all of them, also for those not carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.algorithms.gate import components
from dshq_widget.algorithms.gate.experience import RECORD
from dshq_widget.algorithms.gate.experience import training_rewards as rewards_of
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.lessons.checks.slips import first_wrong, runs_away

DONE = "this is the gate of the Territory Drill: a number for every proposal, and each number trains."


def missing(survival: Any = None, **given: Any) -> list[str]:
    """What the functions that are given still get wrong, the first thing only."""
    judges = {
        "survival": (_survival, "`return` and the probability"),
        "expected": (_expected, "`return` and the rewards"),
        "signal": (_signal, "`return` and the signals"),
        "training_rewards": (_rewards, "`return` and the rewards"),
        "stepped": (_stepped, "`return` and the new scores"),
    }
    ask = "Give the functions by their names, such as `check('gate', survival=survival)`."
    return first_wrong({"survival": survival, **given}, judges, ask)


def _survival(survival: Callable[..., Any]) -> str | None:
    for chunk, protectors, what in (
        (0, [399], "a protector at the other end of the map"),
        (105, [105], "a protector in the same chunk"),
        (105, [106], "a protector one chunk away"),
        (105, [107], "a protector exactly 2 chunks away"),
        (105, [110], "a protector 5 chunks away"),
        (105, [113], "a protector exactly 8 chunks away"),
        (1, [0], "a protector in chunk 0, one chunk away"),
        (105, [-1, -1], "dead protectors only"),
        (105, [146], "a protector one column and two rows away"),
        (19, [-1], "a dead protector, number -1"),
        (42, [-1, 399], "a dead protector, and one far away"),
        (105, [110, 185], "two protectors, 5 and 4 chunks away"),
        (105, [110, 399], "one protector 5 chunks away, and one far away"),
        (105, [399, 106], "one protector far away, and one beside it"),
        (119, [120], "a protector at the other edge of the next row"),
        (0, [], "no protector at all"),
    ):
        given = np.array(protectors, np.int64)
        wanted = float(components.survival(chunk, given))
        answer = survival(chunk, given.copy())
        if np.shape(answer) != ():
            return f"`survival` gives one number; got shape {np.shape(answer)}."
        if not abs(float(answer) - wanted) <= 1e-6:
            return f"With {what} the parasite lives with probability {wanted:.3f}; yours says {float(answer):.3f}."
    return None


def parts(n: int = 40) -> dict[str, NDArray[Any]]:
    """Components of proposals, drawn, `[n]` each."""
    rng = np.random.default_rng(3)
    drawn = [rng.random(n), rng.uniform(-1, 1, n), -0.4 * rng.random(n), rng.integers(2, size=n), 0.2 * rng.random(n)]
    return {name: np.asarray(values, float) for name, values in zip(components.NAMES, drawn, strict=True)}


def judged(some: dict[str, NDArray[Any]], **settings: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Expected rewards and gate signals of components, by the gate itself."""
    table = np.stack([some[name] for name in components.NAMES], axis=-1)
    return SimulationGate(GateSettings(**settings)).judge(table)


def _expected(expected: Callable[..., Any]) -> str | None:
    some = parts()
    some["capacity"][:] = 1.0
    wanted, _ = judged(some)
    of_others, _ = judged(some, survival_weight=0.7, disruption_weight=0.2, location_weight=0.3)
    answer = np.asarray(expected({name: values.copy() for name, values in some.items()}), float)
    if answer.shape != wanted.shape:
        return f"{len(wanted)} proposals have {len(wanted)} expected rewards; got shape {answer.shape}."
    if not np.allclose(answer, wanted):
        if np.allclose(answer, wanted - some["exploration"]):
            return "The exploration bonus is missing: it is added as it is."
        if np.allclose(answer, wanted - 0.2 * some["location"]):
            return "The location is a penalty already: it is 0 or negative. Add it."
        if np.allclose(answer, wanted - 0.6):
            return "That is minus the threshold already; `signal` does that."
        return f"The first proposal should be expected to bring {wanted[0]:.4f}; yours says {answer[0]:.4f}."
    if not np.allclose(np.asarray(expected(some, 0.7, 0.2, 0.3), float), of_others):
        return "Right for the usual weights, wrong for others: are they written into it?"
    return None


def _signal(signal: Callable[..., Any]) -> str | None:
    reward = np.array([0.9, 0.6, 0.1, 2.0, -0.9, 0.9, 0.6])
    capacity = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    for threshold in (0.6, 0.2):
        given = (reward.copy(), capacity.copy())
        try:
            answer = signal(*given) if threshold == 0.6 else signal(*given, threshold)
        except ValueError:
            return "Rewards and capacity are arrays, which no `if` can take: `np.where(capacity > 0, ..., -1.0)`."
        answer = np.asarray(answer, float)
        wanted = np.where(capacity > 0, np.clip(reward - threshold, -1, 1), -1.0)
        if answer.shape != wanted.shape:
            return f"{len(wanted)} rewards give {len(wanted)} signals; got shape {answer.shape}."
        if np.allclose(answer, wanted):
            continue
        if threshold != 0.6 and np.allclose(answer, np.where(capacity > 0, np.clip(reward - 0.6, -1, 1), -1.0)):
            return "The threshold changes nothing: is 0.6 written into it?"
        if np.isin(answer, (0.0, 1.0, -1.0)).all():
            return "That is a verdict. The signal is a number: how far the reward is above the threshold."
        if not np.allclose(answer[5:], -1):
            return f"What the queen cannot pay for has a signal of -1; yours is {answer[5]:g}."
        if answer[3] > 1 or answer[4] < -1:
            return "A signal is from -1 to 1: `np.clip`."
        if np.allclose(answer[:3], reward[:3]):
            return "Subtract the threshold."
        k = int(np.argmax(~np.isclose(answer, wanted)))
        said = f"An expected reward of {reward[k]:g} with threshold {threshold:g} is a signal of {wanted[k]:+.2f}"
        return f"{said}; yours is {answer[k]:+.2f}."
    return None


def _rewards(training_rewards: Callable[..., Any]) -> str | None:
    signals = np.array([0.2, 0.3, -0.4, -1.0, 0.1])
    actual = np.array([0.5, np.nan, np.nan, np.nan, -0.6])
    sent = np.array([True, True, False, False, True])
    batch = np.zeros(5, RECORD)
    batch["gate_signal"], batch["actual_reward"], batch["was_executed"] = signals, actual, sent
    for weights in ((), (0.5, 0.5), (1.0, 0.0)):
        wanted = rewards_of(batch, *weights)
        answer = np.asarray(training_rewards(signals.copy(), actual.copy(), sent.copy(), *weights), float)
        if answer.shape != wanted.shape:
            return f"Five proposals have five rewards; got shape {answer.shape}."
        if np.allclose(answer, wanted):
            continue
        if np.isnan(answer).any():
            return "Some of yours are nan. Where `actual` is nan the gate signal alone counts: `np.isnan` finds them."
        if np.allclose(answer[2:4], 0):
            return "What was blocked is paid 0 by you. It has a gate signal, and that is its reward."
        if not np.allclose(answer[2:4], signals[2:4]):
            return f"What was blocked is paid its gate signal, {signals[2:4].tolist()}; yours {answer[2:4].tolist()}."
        if weights and np.allclose(answer, rewards_of(batch)):
            return "The weights change nothing: are 0.3 and 0.7 written into it?"
        if not np.isclose(answer[1], signals[1]):
            return f"What was sent but has not come out yet is paid its gate signal alone, 0.3; yours is {answer[1]:g}."
        return f"Sent with signal 0.2, and brought 0.5: paid {wanted[0]:.3f}; yours is {answer[0]:.3f}."
    return None


def after(scores: NDArray[Any], chunks: NDArray[Any], advantages: NDArray[Any], rate: float) -> NDArray[Any]:
    """Scores after one step, the reference."""
    p = np.exp(scores - scores.max())
    p /= p.sum()
    slopes = np.eye(len(scores))[chunks] - p
    return scores + rate * (advantages[:, None] * slopes).mean(0)


def _stepped(stepped: Callable[..., Any]) -> str | None:
    scores = np.array([0.2, -0.5, 1.0, 0.0])
    chunks, advantages = np.array([1, 3, 1]), np.array([0.5, -0.4, 0.3])
    answer = stepped(scores, chunks.copy(), advantages.copy(), 0.5)
    answer, wanted = np.asarray(answer, float), after(scores, chunks, advantages, 0.5)
    if answer.shape != scores.shape:
        return f"Four scores go in and four come out; got shape {answer.shape}."
    if np.allclose(answer, scores):
        return "The scores stay as they are. What did better than expected should become likelier."
    if np.allclose(answer, wanted):
        if runs_away(stepped, 1000 * scores, chunks, advantages, 0.5):
            return "With scores of a thousand yours gives nan: subtract the largest score before you take powers."
        return None
    if np.allclose(answer - scores, scores - wanted):
        return "The wrong way: a positive advantage should raise the score of what was proposed."
    if np.allclose(answer - scores, 3 * (wanted - scores)):
        return "That is the sum over the proposals; take the mean."
    if np.allclose(answer, after(scores, chunks, advantages, 1.0)):
        return "The `rate` changes nothing."
    if np.allclose(answer, after(scores, chunks, np.ones(3), 0.5)):
        return "The advantages change nothing: multiply each slope by its own."
    once = scores.copy()
    once[chunks] += 0.5 * advantages / 3
    alone = scores.copy()
    np.add.at(alone, chunks, 0.5 * advantages / 3)
    if np.allclose(answer, alone):
        return "Only what was proposed moves. All scores move by minus their probability times the advantage as well."
    each = np.exp(scores) / np.exp(scores).sum()
    if np.allclose(answer, once) or np.allclose(answer, once - 0.5 * advantages.mean() * each):
        return (
            "Chunk 1 was proposed twice and counts once: `scores[chunks] += ...` forgets repeats; `np.add.at` does not."
        )
    return f"The scores should come to {wanted.round(4).tolist()}; yours come to {answer.round(4).tolist()}."
