"""How good the policy is: whole episodes from proper starts, from frames, beside random play."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_widget.algorithms.dreamer.actor import Choose
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import seeds
from dshq_widget.learning.evaluator import Judge
from dshq_widget.policy.evaluate import summary, wilson

EPISODES = 64
"""Episodes per evaluation, all at once (assumed; four tiles)."""


@dataclass
class Played:
    """Of the first episode of each game: returns f64 without potentials, lengths in decisions, winners +1, 0, -1."""

    returns: NDArray[Any]
    lengths: NDArray[Any]
    winners: NDArray[Any]


def play(drill: CompiledDrill, choose: Choose, games: int, seed: int, opponent: str, repeat: int = 1) -> Played:
    """One whole episode in each of `games` games; `choose(frames, is_first)` gives the actions, each kept for `repeat`
    decisions.
    """
    played = FrameGames(drill, games, seed, repeat=repeat, opponent=opponent, practice=False, shaping=False)
    frames = torch.empty((games, 1, 72, 20), dtype=torch.uint8)
    found = Played(np.zeros(games), np.zeros(games), np.zeros(games, np.int32))
    waiting = np.ones(games, bool)
    while waiting.any():
        played.draw(frames.numpy())
        played.step(choose(frames, torch.from_numpy(played.arrival.is_first)).numpy())
        over = played.over
        for row, values in zip(
            (found.returns, found.lengths, found.winners), (played.ended, played.lengths, played.results), strict=True
        ):
            fresh = np.zeros(games, row.dtype)
            fresh[over] = values
            row[over & waiting] = fresh[over & waiting]
        waiting &= ~over
    return found


def by_policy(dreamer: Dreamer, games: int, seed: int, greedy: bool = False) -> Choose:
    """A player with a memory and chances of its own; the games are on the processor, wherever it is."""
    device = dreamer.device
    player = Player(dreamer, games, torch.Generator(device).manual_seed(seeds.apart(seed, seeds.ACTIONS)), greedy)
    return lambda frames, is_first: player(frames.to(device), is_first.to(device)).cpu()


def by_chance(n_actions: int, games: int, seed: int) -> Choose:
    """Random play."""
    rng = np.random.default_rng([seed, 0x4A7D])
    return lambda frames, is_first: torch.from_numpy(rng.integers(0, n_actions, games))


class DreamerEvaluator(Judge):
    """One side: the mean return, and once that of random play. Two sides: matches with the first baseline and with
    random play.
    """

    def __init__(self, drill: CompiledDrill, dreamer: Dreamer, seed: int) -> None:
        super().__init__(drill, seed)
        self.dreamer = dreamer

    def play(self, blob: np.ndarray) -> None:
        """One round with the learner's present weights; `blob` is the stand-in for the page."""
        begin, seed = time.monotonic(), seeds.apart(self.seed, seeds.EVALUATION, self.episodes)
        if self.alone:
            found = self._play("random", seed)
            numbers = summary(found.returns, found.lengths, self.drill.spec.target)
            self.metrics["evaluated_return"] = numbers["return_mean"]
            if numbers["target"] is not None:
                self.metrics["solved"] = int(numbers["solved"])
            if "evaluated_return_random" not in self.metrics:
                chance = by_chance(self.drill.spec.n_actions, EPISODES, seed)
                random = play(self.drill, chance, EPISODES, seed, "random", self.dreamer.settings.repeat)
                self.metrics["evaluated_return_random"] = float(random.returns.mean())
            self.episodes += EPISODES
        else:
            for name in (*self.drill.spec.baselines[:1], "random"):
                won = matches(self._play(name, seed))
                scripted = name != "random"
                self.metrics["win_rate_ema" if scripted else "win_rate_random"] = won["win_rate"]
                self.metrics["win_share" if scripted else "win_share_random"] = won["win_share"]
                self.episodes += EPISODES
        self.played(begin)

    def _play(self, opponent: str, seed: int) -> Played:
        policy = by_policy(self.dreamer, EPISODES, seed)
        return play(self.drill, policy, EPISODES, seed, opponent, self.dreamer.settings.repeat)


def matches(found: Played) -> dict[str, Any]:
    """Counts of matches as side 0, under the keys of policy/evaluate.py."""
    wins, losses, count = int((found.winners > 0).sum()), int((found.winners < 0).sum()), len(found.winners)
    return {
        "matches": count,
        "wins": wins,
        "draws": count - wins - losses,
        "losses": losses,
        "win_rate": wins / (wins + losses) if wins + losses else 0.0,
        "win_share": wins / count,
        "ci95": wilson(wins, losses),
        "episode_length_mean": float(found.lengths.mean()),
        "return_mean": float(found.returns.mean()),
    }
