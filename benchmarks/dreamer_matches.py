"""What has to be beaten before a policy of the Ball Drill has learned anything, and what its rewards are made of:
`python -m benchmarks.dreamer --only matches`. No model and no frames.

    floors   matches as side 0 against random play: of random play, of each action that is always chosen (the best by
             matches won), and of the scripts, actions kept for `repeat` decisions
    paid     what each reward term pays in a step of random play: mean and standard deviation, and the deviation of its
             discounted sum. Frames show no clock, so what time decides cannot be foreseen in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dshq_widget.algorithms.dreamer import evaluator
from dshq_widget.algorithms.dreamer.actor import Choose
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch, compiled

MATCHES, TRIED = 1024, 256
"""Of each way to play, and of each action before the best of them is played as often."""
GAMES, ROWS = 256, 300
"""Of random play with rewards."""


def always(action: int) -> Choose:
    """The same action at every step."""
    return lambda frames, is_first: torch.full((len(frames),), action)


def floors(drill: CompiledDrill, repeat: int) -> dict[str, Any]:
    """Counts of matches by who played."""

    def matches(choose: Choose, count: int = MATCHES, seed: int = 0) -> dict[str, Any]:
        return evaluator.matches(evaluator.play(drill, choose, count, seed, "random", repeat))

    n = drill.spec.n_actions
    tried = [matches(always(action), TRIED, 1)["win_share"] for action in range(n)]
    best = int(np.argmax(tried))
    found = {"random": matches(evaluator.by_chance(n, MATCHES, 0)), f"always {best}": matches(always(best))}
    return found | {name: scripted(drill, name, repeat) for name in drill.spec.baselines}


def scripted(drill: CompiledDrill, who: str, repeat: int) -> dict[str, Any]:
    """Matches of a script whose actions are kept as long: it reads the state of the games that are being played."""
    games = FrameGames(drill, MATCHES, 0, repeat=repeat, practice=False, shaping=False)
    found = evaluator.Played(np.zeros(MATCHES), np.zeros(MATCHES), np.zeros(MATCHES, np.int32))
    waiting = np.ones(MATCHES, bool)
    while waiting.any():
        games.step(games.batch.scripted(who)[:, 0])
        fresh = np.zeros((3, MATCHES))
        fresh[:, games.over] = games.ended, games.lengths, games.results
        now = games.over & waiting
        found.returns[now], found.lengths[now], found.winners[now] = fresh[:, now]
        waiting &= ~games.over
    return evaluator.matches(found)


def paid(drill: CompiledDrill, settings: DreamerSettings) -> dict[str, Any]:
    """By reward term, as much as the world model hears of it with the drill's own weights."""
    batch = Batch(drill, GAMES, 0, gamma=settings.discount ** (1 / settings.repeat))
    rng, steps, ends = np.random.default_rng(0), [], []
    for _ in range(ROWS):
        actions = np.zeros((GAMES, batch.sides), np.int32)
        actions[:, 0] = rng.integers(0, drill.spec.n_actions, GAMES)
        heard, ended = np.zeros((GAMES, len(drill.spec.terms))), np.zeros(GAMES, bool)
        for _ in range(settings.repeat):
            actions[:, 1:] = batch.scripted("random")[:, 1:]
            _, terms, terminated, truncated = batch.step(actions)
            heard += terms[:, 0] * ~ended[:, None]
            ended |= terminated | truncated
        batch.reset(ended)
        steps.append(settings.reward_scale * heard)
        ends.append(ended)
    step, ahead, sums = np.stack(steps), np.zeros_like(steps[0]), []
    for now, ended in zip(steps[::-1], ends[::-1], strict=True):
        ahead = now + settings.discount * ahead * ~ended[:, None]
        sums.append(ahead)
    whole = np.stack(sums[::-1])[: ROWS * 2 // 3]  # the last ones are cut off
    measured = {"mean": step.mean((0, 1)), "spread": step.std((0, 1)), "spread of sums": whole.std((0, 1))}
    return {
        term.name: {"weight": term.weight, **{name: float(row[k]) for name, row in measured.items()}}
        for k, term in enumerate(drill.spec.terms)
    }


def ball(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Both, of the Ball Drill."""
    drill, how = compiled("ball"), DreamerSettings(**settings)
    return {"settings": dict(settings), "floors": floors(drill, how.repeat), "paid": paid(drill, how)}
