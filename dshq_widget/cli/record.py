"""`dshq record`: a policy's best match as an animation.

The best match is the fastest win; in a drill of one side, the episode with the highest return. Matches start from
proper starts and only their actions are kept; the best one is replayed and drawn.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.env.picture import Painter
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.policy.compatibility import shape_of
from dshq_widget.policy.policy import Policy

RATE = 20
"""Frames per second; a GIF stores delays in hundredths of a second. js/worker/film.ts has the same."""
LINGER_SECONDS = 1.0
"""How long the last frame is shown before the animation repeats."""

Choose = Callable[[Batch, int, np.random.Generator], NDArray[Any]]
"""A player: returns the action of one side in every game, (num_games,)."""


@dataclasses.dataclass(frozen=True)
class Match:
    """One match of a policy, which played side 0: enough to play it again."""

    seed: int
    actions: NDArray[np.int32]
    """`[decisions, sides]`."""
    winner: int
    """+1 the policy, -1 the other side, 0 nobody."""
    score: float
    """The policy's return: rewards, potentials left out."""


def by_policy(policy: Policy, greedy: bool = False) -> Choose:
    """A network as a player."""

    def choose(batch: Batch, side: int, rng: np.random.Generator) -> NDArray[Any]:
        mask = batch.mask()[:, side] if batch.game.masked else None
        return policy.act(batch.observe()[:, side], rng, greedy, mask)

    return choose


def by_file(saved: Checkpoint, name: str, drill: CompiledDrill, greedy: bool = False) -> Choose:
    """The policy in a file called `name` as a player. Raises CheckpointError where the file has another network than
    the drill's: a strange layer in front may cost minutes a decision.
    """
    policy = checkpoint.as_policy(saved)
    shape_of(saved, name, drill.spec)
    return by_policy(policy, greedy)


def by_name(who: str | os.PathLike[str], drill: CompiledDrill, greedy: bool = False) -> Choose:
    """A player by name: "scripted" (the first baseline), a baseline, "random", "idle", the path of a `.dshq`
    file, or a policy of the package ("ball:gold").

    Raises ValueError for an unknown name and CheckpointError for a file that cannot be read or is of another drill.
    """
    text = os.fspath(who)
    if text.endswith(".dshq") or ":" in text:
        return by_file(checkpoint.load(text), os.path.basename(text), drill, greedy)
    if text == "scripted":
        text = (drill.spec.baselines or ["random"])[0]
    if text != "idle":
        drill.game().verb_of(text)
    return lambda batch, side, rng: batch.scripted(text)[:, side]


def play(drill: CompiledDrill, players: list[Choose], matches: int, seed: int = 0) -> list[Match]:
    """`matches` matches, one `Choose` per side, the same every time for one seed (match g is keyed `seed + g`)."""
    batch = Batch(drill, matches, seed, practice=False, shaping=False)
    rng = np.random.default_rng(seed)
    ends, winners = np.zeros(matches, int), np.zeros(matches, int)
    returns = np.zeros(matches)
    history: list[NDArray[Any]] = []
    while not ends.all():
        actions = np.stack([choose(batch, side, rng) for side, choose in enumerate(players)], 1)
        history.append(actions.astype(np.int32))
        rewards, _, terminated, truncated = batch.step(actions)
        playing = ends == 0
        returns[playing] += rewards[playing, 0]
        finished = playing & (terminated | truncated)
        winners[finished] = batch.winners()[finished]
        ends[finished] = len(history)
    taken = np.stack(history)
    return [Match(seed + g, taken[: ends[g], g], int(winners[g]), float(returns[g])) for g in range(matches)]


def best(drill: CompiledDrill, played: list[Match]) -> Match:
    """The fastest win of side 0, or in a drill of one side the highest return. Raises ValueError if none was won."""
    if drill.spec.sides == 1:
        return max(played, key=lambda match: match.score)
    won = [match for match in played if match.winner > 0]
    if not won:
        raise ValueError(
            f"none of the {len(played)} matches was won, so there is nothing to record: raise --matches, or choose "
            "a weaker opponent"
        )
    return min(won, key=lambda match: len(match.actions))


def pictures(
    drill: CompiledDrill, match: Match, *, seconds: float = 10.0, width: int = 480, theme: str = "light"
) -> Iterator[NDArray[np.uint8]]:
    """The end of a match, and how the world runs out after it: RATE pictures a second, at least one, each u8
    `[height, width, 3]`.
    """
    painter = Painter(drill.spec, width, theme)
    rate, repeat = drill.spec.tick_rate, drill.spec.action_repeat
    batch = Batch(drill, 1, match.seed, practice=False)
    rest = max(1, round(REST_SECONDS["goal" if match.winner else "draw"] * rate))
    ticks = len(match.actions) * repeat + rest
    begin = max(0, ticks - round(seconds * rate))
    shown = 0
    for tick in range(ticks):
        decision, phase = divmod(tick, repeat)
        if phase == 0 and decision < len(match.actions):
            batch.tiles["action"][0, :, 0] = match.actions[decision]
            batch.game.decide(batch.tiles)
        batch.game.tick(batch.tiles)
        if (tick + 1 - begin) * RATE >= (shown + 1) * rate or (tick + 1 == ticks and not shown):
            shown += 1
            yield painter.draw(batch.game.scene(batch.tiles))


def save_gif(path: str | os.PathLike[str], film: Iterator[NDArray[np.uint8]]) -> int:
    """Write frames as a GIF that repeats for ever; returns their number. Raises OSError if it cannot be written, and
    ImportError without Pillow.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("recording a GIF needs pillow: pip install 'dshq-widget[record]'") from error

    images = [Image.fromarray(picture) for picture in film]
    thirds = [np.asarray(images[k * (len(images) - 1) // 2]) for k in range(3)]
    palette = Image.fromarray(np.concatenate(thirds)).quantize(256, Image.Quantize.MEDIANCUT)
    flat = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    delays = [1000 // RATE] * (len(flat) - 1) + [round(1000 * LINGER_SECONDS)]
    with atomic.aside(path) as file:
        flat[0].save(file, "GIF", save_all=True, append_images=flat[1:], duration=delays, loop=0, optimize=False)
    return len(flat)
