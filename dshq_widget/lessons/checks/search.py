"""Lesson search: futures of a state, their weights, and which of them continue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.env.batch import Batch
from dshq_widget.env.snapshots import RNG_KEY, Snapshots
from dshq_widget.lessons.checks.slips import first_wrong, runs_away

DONE = "this is how search does it: copies are played ahead, weighed by what they were paid, and drawn again."

PLANS = np.array([[1] * 25, [0] * 25, [0, 1] * 12 + [0], [1, 1, 0] * 8 + [1]])
GAINS = np.array([3.0, 1.0, 2.0, 5.0, 4.5, 0.0])


def missing(futures: Any = None, **given: Any) -> list[str]:
    """What the functions that are given still get wrong, the first thing only."""
    judges = {
        "futures": (_futures, "`return` and what each plan was paid"),
        "weights": (_weights, "`return` and the shares"),
        "effective": (_effective, "`return` and the number"),
        "resampled": (_resampled, None),
    }
    ask = "Give the functions by their names, such as `check('search', futures=futures)`."
    return first_wrong({"futures": futures, **given}, judges, ask)


def cartpole() -> tuple[Snapshots, int]:
    """A CartPole that has been played for three decisions, and the id of its state."""
    game = Batch("cartpole", 1, seed=3)
    for action in (1, 0, 1):
        game.step(np.array([[action]]))
    kept = Snapshots(game, capacity=4096)
    return kept, int(kept.snapshot([0])[0])


def payments(kept: Snapshots, state: int, plans: NDArray[Any]) -> NDArray[Any]:
    """Payments f64 `[futures, decisions]`, the reference."""
    ids, paid = np.full(len(plans), state), []
    for actions in plans.T:
        made = kept.simulate_batch(ids, actions[:, None])
        kept.release_batch(ids[ids != state])
        ids = made.state_ids
        paid.append(made.rewards[:, 0])
    kept.release_batch(ids)
    return np.array(paid, float).T


def _futures(futures: Callable[..., Any]) -> str | None:
    kept, state = cartpole()
    before, paid = kept.states([state]), payments(kept, state, PLANS)
    wanted, keys = paid.sum(1), np.arange(len(PLANS))
    try:
        answer = futures(kept, state, PLANS.copy(), keys)
    except LookupError as error:
        if type(error) is not LookupError:  # an index or a key of the answer's own
            raise
        return f"A state was used after it had been released: {error}"
    answer = np.asarray(answer, float)
    if answer.shape != wanted.shape:
        return f"{len(PLANS)} plans are {len(PLANS)} numbers; got shape {answer.shape}."
    if state not in kept.ids:
        return "The state itself was released. Release the copies only: it is still needed to decide from."
    if not np.array_equal(kept.states([state]), before):
        return "The state itself has changed; play from copies of it."
    if kept.live > 1:
        return (
            f"{kept.live - 1} copies are left over. Release the old states after each decision, and the last ones at "
            "the end: `kept.live` says how many there are."
        )
    if np.allclose(answer, wanted):
        fewer = PLANS[:0:-1, :14]
        answer = np.asarray(futures(kept, state, fewer, keys[1:]), float)
        if answer.shape == (len(fewer),) and np.allclose(answer, payments(kept, state, fewer).sum(1)):
            return None
        return "Right for four plans of 25 decisions, wrong for three of 14: is a number written into it?"
    if np.allclose(answer, PLANS.shape[1]):
        return (
            "All your futures live to the end, also the one that pushes right 25 times. Go from `made.state_ids`, "
            "not from the first state."
        )
    if np.allclose(answer, paid[:, -1]) or np.allclose(answer, 1):
        return "That is what one decision was paid. Add up what all of them were paid, and go from what came of each."
    if np.allclose(answer, paid.mean(1)):
        return "That is the mean of the payments; give their sum."
    if np.allclose(answer, payments(kept, state, PLANS[:, :-1]).sum(1)):
        return "The last decision of each plan is left out."
    return f"The plans should be paid {wanted.tolist()}; yours were paid {np.round(answer, 3).tolist()}."


def _weights(weights: Callable[..., Any]) -> str | None:
    answer = weights(GAINS.copy(), 1.0)
    answer = np.asarray(answer, float)
    if answer.shape != GAINS.shape:
        return f"{len(GAINS)} gains are {len(GAINS)} weights; got shape {answer.shape}."
    if abs(answer.sum() - 1) > 1e-6:
        return f"Weights are shares and add up to 1; yours add up to {answer.sum():.4g}."
    if np.allclose(answer, 1 / len(GAINS)):
        return "All your weights are equal. A future with a larger gain should weigh more."
    if np.argmax(answer) != np.argmax(GAINS):
        return "The future with the largest gain should weigh the most; yours gives the most to another."
    if np.allclose(answer, np.eye(len(GAINS))[GAINS.argmax()], atol=1e-3):
        return (
            "The best future takes everything. At temperature 1 a gain that is 1 less counts e times less, not nothing."
        )
    if runs_away(weights, GAINS * 1000, 1.0):
        return (
            "With gains of some thousands the powers are more than a number can hold: subtract the largest gain first."
        )
    for temperature in (1.0, 0.5, 4.0):
        answer, wanted = np.asarray(weights(GAINS.copy(), temperature), float), softmax(GAINS, temperature)
        if np.allclose(answer, wanted):
            continue
        if temperature != 1 and np.allclose(answer, softmax(GAINS, 1 / temperature)):
            return "Divide by the temperature: at a high one the weights are nearly equal. Yours do the opposite."
        if temperature != 1 and np.allclose(answer, softmax(GAINS, 1.0)):
            return "The temperature changes nothing in your weights."
        return (
            f"At temperature {temperature:g} two gains that are 1 apart should weigh {np.exp(1 / temperature):.3f} "
            f"to 1; yours weigh {answer[0] / max(answer[2], 1e-300):.3f} to 1."
        )
    return None


def softmax(gains: NDArray[Any], temperature: float) -> NDArray[Any]:
    """exp(gains / temperature) as shares of their sum."""
    powers = np.exp((gains - gains.max()) / temperature)
    return powers / powers.sum()


def _effective(effective: Callable[..., Any]) -> str | None:
    for shares in (np.full(8, 1 / 8), np.eye(8)[2], softmax(GAINS, 1.0), np.array([0.5, 0.5, 0, 0])):
        answer, wanted = effective(shares.copy()), 1 / np.square(shares).sum()
        if np.shape(answer) != ():
            return f"`effective` gives one number; got shape {np.shape(answer)}."
        if abs(float(answer) - wanted) < 1e-6:
            continue
        if abs(float(answer) - np.square(shares).sum()) < 1e-6:
            return "That is the sum of the squares; the effective number is 1 over it."
        return (
            f"Of the shares {shares.round(3).tolist()} effectively {wanted:.3f} count; yours says {float(answer):.3f}."
        )
    return None


def _resampled(resampled: Callable[..., Any]) -> str | None:
    kept, state = cartpole()
    rng, rounds = np.random.default_rng(5), 100
    n, counts = len(GAINS), np.zeros(len(GAINS))
    made = kept.simulate_batch(np.full(n, state), np.arange(n)[:, None] % 2)
    for k in range(n):  # six states that can be told apart
        again = kept.simulate_batch(made.state_ids[k:], np.ones((n - k, 1), int))
        kept.release_batch(made.state_ids[k:])
        made.state_ids[k:] = again.state_ids
    kept.release_batch([state])
    words = _content(kept, made.state_ids)
    first = 10 + np.arange(n)
    for _ in range(rounds):
        ids = kept.branch(made.state_ids, np.arange(n))
        answer = resampled(kept, ids, first.copy(), GAINS.copy(), 2.0, rng)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            return "`resampled` gives two things: `return ids, first`."
        new, actions = np.asarray(answer[0]), np.asarray(answer[1])
        if new.shape != (n,) or actions.shape != (n,):
            return (
                f"{n} copies go in and {n} come out, with {n} first actions; got shapes {new.shape}, {actions.shape}."
            )
        alive = np.isin(new, kept.ids)
        if not alive.all():
            return "Some of the new ids were released. Release the old ones, after they have been copied."
        if np.isin(ids, new).any():
            return "These are the old ids. `kept.branch` gives new ones, and the old ones are released."
        if np.isin(ids, kept.ids).any():
            return "The old ids are still kept: release them, or memory fills up."
        if len(np.unique(new)) < n:
            return "Two copies share an id. Copy each of them: `kept.branch(ids[parents], keys)`."
        parents = np.array([np.flatnonzero((words == row).all(1))[0] for row in _content(kept, new)])
        if not np.array_equal(actions, first[parents]):
            return (
                "First actions have to go along with their copies: pick them with the same numbers, `first[parents]`."
            )
        if len(np.unique(kept.states(new)[:, RNG_KEY])) < n:
            return "Some copies have the same dice. Draw a random key for each: `rng.integers(1 << 32, size=...)`."
        counts += np.bincount(parents, minlength=n)
        kept.release_batch(new)
    shares, wanted = counts / counts.sum(), softmax(GAINS, 2.0)
    if np.abs(shares - wanted).max() < 0.08:
        return None
    if np.abs(shares - 1 / n).max() < 0.08:
        return "Every copy is drawn as often as any other. Draw them by their weights: `p=weights(gains, temperature)`."
    if shares.max() > 0.98:
        return "Always the best copy alone continues. Draw them by their weights, or all hang on one lucky future."
    return (
        f"Copies with gains {GAINS.tolist()} should continue in shares of {wanted.round(2).tolist()} at temperature 2; "
        f"yours do in shares of {shares.round(2).tolist()}."
    )


def _content(kept: Snapshots, ids: NDArray[Any]) -> NDArray[Any]:
    """The states without their dice."""
    words = kept.states(ids)
    words[:, RNG_KEY] = 0
    return words
