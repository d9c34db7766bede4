"""Matches between a policy and any player: draws counted, sides swapped, with a confidence interval. In a drill of one
side the returns of the episodes are measured.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dshq_kernels.network.layers import memory_of
from dshq_kernels.network.mlp import ACTIVATIONS
from dshq_kernels.play.players import IDLE, POLICY, RANDOM
from dshq_kernels.play.rollout import Matches, Player, opponent_kind, play_matches
from dshq_kernels.search.matches import Searching, play_searched_matches
from dshq_widget.contract.statistics import Z95
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy import checkpoint, ladder

SHARE_FLOOR = {"random": 0.3}
"""A win rate counts only with at least this share of all matches won; 0.2 for opponents not listed."""
FLOOR = 0.2


def wilson(wins: float, losses: float) -> list[float]:
    """95 % interval of wins / (wins + losses): E. B. Wilson, "Probable inference", JASA 1927. [0, 1] when nothing was
    decided.
    """
    n = wins + losses
    if n == 0:
        return [0.0, 1.0]
    p, z2 = wins / n, Z95 * Z95
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def network(layers: Sequence[int], activation: str, weights: np.ndarray) -> Player:
    """A policy as a player of matches."""
    return Player(POLICY, tuple(layers), ACTIVATIONS[activation], weights)


def opponent(who: str | os.PathLike[str], drill: CompiledDrill) -> Player:
    """A player by name: "scripted" (the first baseline), a baseline, "random", "idle", the path of a `.dshq`
    file, or a policy of the package ("ball:gold", or "gold" of this drill's ladder).

    Raises ValueError for an unknown name and CheckpointError for a file that does not fit.
    """
    text = os.fspath(ladder.full_name(drill.name, who))
    if text.endswith(".dshq") or ":" in text:
        return learned(text, drill)
    if text == "scripted":
        text = (drill.spec.baselines or ["random"])[0]
    kind = {"random": RANDOM, "idle": IDLE}.get(text)
    return Player(opponent_kind(text, drill.spec) if kind is None else kind)


def learned(policy: str | os.PathLike[str], drill: CompiledDrill) -> Player:
    """The policy of a `.dshq` file, or of the package ("ball:gold"), as a player. Raises CheckpointError for one that
    does not fit.
    """
    text = os.fspath(policy)
    saved = checkpoint.load(text)
    checkpoint.check_whole(saved)
    wanted = (drill.spec.n_obs, drill.spec.n_actions + 1)
    if (saved.layers[0], saved.layers[-1]) != wanted:
        raise checkpoint.CheckpointError(
            f"{text!r} plays {saved.drill!r}, not {drill.name!r}: choose a file of the same drill"
        )
    return network(saved.layers, saved.activation, saved.weights)


def evaluate(
    drill: CompiledDrill,
    player: Player,
    against: Player,
    matches: int = 500,
    *,
    seed: int = 0,
    greedy: bool = False,
    name: str = "",
    searching: Searching | None = None,
) -> dict[str, Any]:
    """`matches` matches from proper starts, sides swapped half way, the same seeds every time. With `searching` the
    player decides by search.

    wins, draws, losses, win_rate (of decided matches), win_share (of all), points ((wins + draws / 2) / matches),
    counts (whether win_share is enough for win_rate to mean something), ci95 of win_rate, mean_goals_for /
    mean_goals_against per match, episode_length_mean in decisions, return_mean.
    """
    played = play(drill, player, against, matches, seed=seed, greedy=greedy, searching=searching)
    return tallied(played.result, played.length, played.returns, name)


def tallied(result: np.ndarray, length: np.ndarray, returns: np.ndarray, name: str) -> dict[str, Any]:
    """The numbers of `evaluate` from each match's result (+1, 0, -1), length in decisions and return, `[matches]`."""
    wins, losses = int((result > 0).sum()), int((result < 0).sum())
    matches, decided = len(result), wins + losses
    return {
        "matches": matches,
        "wins": wins,
        "draws": matches - decided,
        "losses": losses,
        "win_rate": wins / decided if decided else 0.0,
        "win_share": wins / matches,
        "points": (wins + (matches - decided) / 2) / matches,
        "counts": wins / matches >= SHARE_FLOOR.get(name, FLOOR),
        "ci95": wilson(wins, losses),
        "mean_goals_for": wins / matches,
        "mean_goals_against": losses / matches,
        "episode_length_mean": float(length.mean()),
        "return_mean": float(returns.mean()),
    }


def evaluate_alone(
    drill: CompiledDrill,
    player: Player,
    episodes: int = 500,
    *,
    seed: int = 0,
    greedy: bool = False,
    searching: Searching | None = None,
) -> dict[str, Any]:
    """`episodes` episodes of a drill of one side from proper starts, the same seeds every time. With `searching` the
    player decides by search.

    return_mean, its ci95 (normal; None of one episode), return_std, return_min and return_max per episode (rewards,
    potentials left out), episode_length_mean in decisions, target of the drill and whether the mean reaches it (both
    None without one); `optimality`, how close it comes to perfect play, where the drill says what that is: its mean
    return as a share of the best one, or the mean share of a perfect player's decisions in its own, 0 for an episode
    that is not won.
    """
    played = play(drill, player, Player(IDLE), episodes, seed=seed, greedy=greedy, searching=searching)
    found = rated(drill, played.returns.astype(np.float64), played.length)
    if isinstance(optimum := drill.spec.optimum, str):
        best = play(drill, opponent(optimum, drill), Player(IDLE), episodes, seed=seed)
        found["optimality"] = float(np.mean(np.where(played.result > 0, best.length / played.length, 0.0)))
    return found


def rated(drill: CompiledDrill, returns: np.ndarray, lengths: np.ndarray) -> dict[str, Any]:
    """`summary` of a drill's episodes, and `optimality` where the drill says what the best mean return is."""
    found, optimum = summary(returns, lengths, drill.spec.target), drill.spec.optimum
    if optimum is not None and not isinstance(optimum, str):
        found["optimality"] = found["return_mean"] / optimum
    return found


def play(
    drill: CompiledDrill,
    player: Player,
    against: Player,
    matches: int,
    *,
    seed: int,
    greedy: bool = False,
    scene: np.ndarray | None = None,
    searching: Searching | None = None,
) -> Matches:
    """As `dshq_kernels.play.rollout.play_matches`, with or without search. Raises ValueError for a search where a
    player has a memory.
    """
    game, spec = drill.game(), drill.spec
    if searching is None:
        return play_matches(game, spec, player, against, matches, seed=seed, greedy=greedy, scene=scene)
    if memory_of(player.layers) or memory_of(against.layers):
        raise ValueError("a network with a memory cannot search, and nobody searches against one: leave the search out")
    return play_searched_matches(game, spec, player, against, matches, searching, seed=seed)[0]


def references(drill: CompiledDrill, episodes: int = 500, *, seed: int = 0) -> dict[str, float | None]:
    """References for the returns of `evaluate_alone`, with the same seeds: return_mean_random of random play,
    return_mean_scripted of the drill's first baseline (None without one).
    """

    def mean(who: str) -> float:
        return evaluate_alone(drill, opponent(who, drill), episodes, seed=seed)["return_mean"]

    scripted = mean("scripted") if drill.spec.baselines else None
    return {"return_mean_random": mean("random"), "return_mean_scripted": scripted}


def summary(returns: np.ndarray, lengths: np.ndarray, target: float | None) -> dict[str, Any]:
    """The numbers of `evaluate_alone` from each episode's return and length."""
    episodes = len(returns)
    mean, deviation = float(returns.mean()), float(returns.std(ddof=1)) if episodes > 1 else 0.0
    half = Z95 * deviation / math.sqrt(episodes)
    return {
        "episodes": episodes,
        "return_mean": mean,
        "ci95": [mean - half, mean + half] if episodes > 1 else None,
        "return_std": deviation,
        "return_min": float(returns.min()),
        "return_max": float(returns.max()),
        "episode_length_mean": float(lengths.mean()),
        "target": target,
        "solved": None if target is None else mean >= target,
    }
