"""Whether somebody's next values, rollout and update are those of PPO's loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong

DONE = "It does in a game made for this check, step by step, what the loop of the project's learner does."

GAMES = 3
LENGTH = 6
NAMES = ("what was seen", "actions", "log-probabilities", "values", "rewards", "next values", "ends")
"""The arrays of a rollout in their order."""


class Counting:
    """Three games that count decisions: an observation is (game, decisions of this episode). Game 0 terminates after
    two decisions, game 1 is truncated after three, game 2 continues. A reward is 10 times the action plus the count.
    """

    def __init__(self) -> None:
        self.count = np.zeros(GAMES)

    def obs(self) -> NDArray[np.float32]:
        """f32 `[games, 2]`."""
        return np.stack([np.arange(GAMES), self.count], 1).astype(np.float32)

    def step(
        self, action: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """As a Gymnasium vector environment that begins the next episode in the same step."""
        self.count = self.count + 1
        terminated, truncated = self.count == [2, 99, 99], self.count == [99, 3, 99]
        over, infos = terminated | truncated, {}
        reward = (10 * np.asarray(action) + self.count).astype(np.float32)
        if over.any():
            last = np.full(GAMES, None, object)
            for game in np.flatnonzero(over):
                last[game] = self.obs()[game]
            infos = {"final_obs": last, "_final_obs": over}
        self.count = np.where(over, 0, self.count)
        return self.obs(), reward, terminated, truncated, infos


class Player:
    """Chooses by what it sees; the value of an observation (game, count) is 1 + game + count / 10."""

    def choose(self, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Actions, their log-probabilities, values."""
        action = (obs.sum(1) % 2).astype(np.int64)
        return action, (-0.1 - 0.2 * action).astype(np.float32), self.value(obs)

    def value(self, obs: NDArray[Any]) -> NDArray[np.float32]:
        """f32 `[games]`."""
        return (1 + obs[:, 0] + 0.1 * obs[:, 1]).astype(np.float32)


def following(
    agent: Any, after: NDArray[Any], terminated: NDArray[Any], truncated: NDArray[Any], final_obs: NDArray[Any] | None
) -> NDArray[Any]:
    """The value of what really follows, f32 `[games]`."""
    last, over = after.copy(), terminated | truncated
    if over.any() and final_obs is not None:
        last[over] = np.stack(final_obs[over])
    return agent.value(last) * ~terminated


def rollout(agent: Any, envs: Any, obs: NDArray[Any], length: int) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """The arrays of NAMES, `[length, games, ...]`, and the observations after them."""
    rows = []
    for _ in range(length):
        action, log_prob, value = agent.choose(obs)
        after, reward, terminated, truncated, infos = envs.step(action)
        later = following(agent, after, terminated, truncated, infos.get("final_obs"))
        rows.append((obs, action, log_prob, value, reward, later, terminated | truncated))
        obs = after
    return [np.stack(part) for part in zip(*rows, strict=True)], obs


def missing(**given: Any) -> list[str]:
    """What the answers to the three exercises lack, as far as they are given."""
    judges = {"play": _play, "next_value": _next_value, "update": _update}
    return first_wrong(given, judges, "Give what you wrote by its name: `check('ppo-loop', play=play)`.", [*judges])


def _next_value(next_value: Callable[..., Any]) -> list[str]:
    agent, envs, told = Player(), Counting(), []
    for _ in range(LENGTH):
        after, _, terminated, truncated, infos = envs.step(np.zeros(GAMES, int))
        final_obs = infos.get("final_obs")
        right = following(agent, after, terminated, truncated, final_obs), agent.value(after)
        told.append((after, terminated, truncated, final_obs, *right))
    for number, (after, terminated, truncated, final_obs, wanted, of_next) in enumerate(told, start=1):
        first = after.copy()
        try:
            answer = next_value(Player(), first, terminated.copy(), truncated.copy(), final_obs)
        except (TypeError, ValueError) as error:
            if final_obs is not None:
                raise
            return [
                f"Where no game is over it ends with {type(error).__name__}: `final_obs` is `None` then. "
                "Look at it only `if over.any()`."
            ]
        if answer is None:
            return ["`next_value` returns nothing: end it with `return` and the values."]
        if not np.array_equal(first, after):
            return [
                "`next_value` changes `after`, with which the next episodes begin. Write into a copy: `after.copy()`."
            ]
        given = np.asarray(answer, np.float64)
        if given.shape != wanted.shape:
            return [f"It should give one value for each game, shape {wanted.shape}; it gave shape {given.shape}."]
        wrong = np.flatnonzero(~np.isclose(given, wanted, atol=1e-5))
        if not len(wrong):
            continue
        game = int(wrong[0])
        if terminated[game]:
            return [
                f"A game terminated at decision {number}: nothing follows, its next value is 0, not {given[game]:g}."
            ]
        if truncated[game] and np.isclose(given[game], of_next[game]):
            return [
                "A game was truncated, and this is the value of the NEXT episode's first observation. Look at its "
                "`final_obs`."
            ]
        if truncated[game] and given[game] == 0:
            return ["A game was truncated and got 0. It would have continued: give the value of its `final_obs`."]
        return [
            f"At decision {number} the next value of game {game} should be {wanted[game]:g}; it is {given[game]:g}."
        ]
    return []


def _play(play: Callable[..., Any]) -> list[str]:
    envs, again = Counting(), Counting()
    wanted, last = rollout(Player(), again, again.obs(), LENGTH)
    answer = play(Player(), envs, envs.obs(), LENGTH)
    if answer is None:
        return ["`play` returns nothing: end it with the list of arrays and the observations."]
    if not (isinstance(answer, (tuple, list)) and len(answer) == 2):
        return ["`play` should return two things: the list of arrays, and the observations after the last decision."]
    given = [np.asarray(part) for part in answer[0]]
    steps = LENGTH * int(len(given) > 0 and len(given[0]) == LENGTH)
    if len(given) != len(wanted):
        return [f"A rollout has seven arrays, {', '.join(NAMES)}; yours has {len(given)}."]
    if not steps:
        return [f"For `length` = {LENGTH} each array should have {LENGTH} rows; the first has {len(given[0])}."]
    for name, mine, right in zip(NAMES, given, wanted, strict=True):
        if mine.shape != right.shape:
            return [f"The array of {name} should have shape {right.shape}; it has {mine.shape}."]
    if np.array_equal(given[0], np.broadcast_to(wanted[0][0], wanted[0].shape)):
        return ["It sees the same at every decision. After each one, what it sees next is `after`: `obs = after`."]
    for name, mine, right in zip(NAMES, given, wanted, strict=True):
        if not np.allclose(mine.astype(float), right.astype(float), atol=1e-5):
            t, game = np.argwhere(~np.isclose(mine.astype(float), right.astype(float), atol=1e-5))[0][:2]
            return [f"The array of {name} is wrong from decision {t} on, in game {game}. {_about(name)}"]
    if not np.array_equal(np.asarray(answer[1]), last):
        return ["The arrays are right. The second thing returned should be what is seen after the last decision."]
    return []


def _about(name: str) -> str:
    return {
        "what was seen": "Write down what was seen BEFORE the action, not after it.",
        "next values": "They come from your `next_value`, with `after`, `terminated`, `truncated` and `final_obs`.",
        "ends": "An episode is over where it terminated or was truncated.",
    }.get(name, f"They stand in this order: {', '.join(NAMES)}.")


SAMPLES, BATCH, EPOCHS, RATE = 10, 4, 3, 0.5


def _update(update: Callable[..., Any]) -> list[str]:
    net = torch.nn.Linear(1, 1, bias=False)
    used: list[list[int]] = []
    lengths: list[float] = []
    torch.nn.init.zeros_(net.weight)
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)

    def loss_of(net: Any, number: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        used.append(number.tolist())
        return -(net.weight * size.mean()).sum()

    step = optimiser.step

    def counted(*given: Any) -> Any:
        lengths.append(float(net.weight.grad.norm()) if net.weight.grad is not None else 0.0)
        return step(*given)

    optimiser.step = counted  # type: ignore[method-assign,assignment]
    rows = [torch.arange(SAMPLES), torch.full((SAMPLES,), 0.2)]
    try:
        update(net, optimiser, rows, loss_of, EPOCHS, BATCH, torch.Generator().manual_seed(1))
    except TypeError as error:
        return [
            f"It ends with TypeError: {error}. `rows` is a list of tensors: take the lines of a batch from each, "
            "`[part[lines] for part in rows]`."
        ]
    batches = -(-SAMPLES // BATCH)
    if not lengths:
        return ["No step was made: after `.backward()` comes `optimiser.step()`."]
    sizes = [len(part) for part in used]
    if max(sizes) > BATCH:
        return [f"A batch has {max(sizes)} samples and should have {BATCH} at most: `.split(batch)`."]
    if len(used) < EPOCHS * batches:
        return [
            f"{SAMPLES} samples in batches of {BATCH}, {EPOCHS} times over, are {EPOCHS * batches} batches; yours were "
            f"{len(used)}. One loop over the epochs, and one inside over the batches."
        ]
    if len(used) > EPOCHS * batches:
        return [f"{EPOCHS} epochs are {EPOCHS * batches} batches here; yours were {len(used)}."]
    epochs = [list(itertools.chain(*used[k * batches : (k + 1) * batches])) for k in range(EPOCHS)]
    if any(sorted(epoch) != list(range(SAMPLES)) for epoch in epochs):
        return ["In each epoch every sample counts exactly once: draw a new `randperm` for each and split it."]
    if all(epoch == list(range(SAMPLES)) for epoch in epochs):
        return ["The samples are never shuffled: `torch.randperm(n, generator=chance)`."]
    if any(epoch == epochs[0] for epoch in epochs[1:]):
        return ["Each epoch has the same order. Draw a new `randperm` inside the loop over the epochs."]
    if len(lengths) != len(used):
        return [f"{len(used)} batches should make {len(used)} steps; there were {len(lengths)}."]
    if max(lengths) > 0.21:
        return ["Old slopes are still there and add up: `optimiser.zero_grad()` before each `.backward()`."]
    if min(lengths) < 0.19:
        return ["A step was made before the slopes were known: first `.backward()`, then `optimiser.step()`."]
    return _held(update)


def _held(update: Callable[..., Any]) -> list[str]:
    """Whether slopes that are too long are held to 0.5, all of them together."""
    net = torch.nn.Linear(1, 1)
    torch.nn.init.zeros_(net.weight)
    torch.nn.init.zeros_(net.bias)
    rows = [torch.full((BATCH,), 100.0)]

    def loss_of(net: Any, size: torch.Tensor) -> torch.Tensor:
        return -(0.6 * net.weight + 0.8 * net.bias).sum() * size.mean()

    update(net, torch.optim.SGD(net.parameters(), lr=1.0), rows, loss_of, 1, BATCH, torch.Generator())
    first, second = net.weight.item(), net.bias.item()
    if not (abs(first - 0.3) <= 1e-3 and abs(second - 0.4) <= 1e-3):
        return [
            f"Slopes 60 and 80, of length 100 together, moved weight and bias by {first:.3g} and {second:.3g}; held "
            "to 0.5 together they move them by 0.3 and 0.4. "
            "`nn.utils.clip_grad_norm_(net.parameters(), 0.5)` stands between `.backward()` and `.step()`."
        ]
    return []
