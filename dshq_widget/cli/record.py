"""`dshq record`: a policy's best match as an animation.

The best match is the fastest win; in a drill of one side, the episode with the highest return. Matches start from
proper starts and only their actions are kept; the best one is replayed and drawn, one picture after the other: neither
all matches nor all pictures are held at once.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.protocol import REST_SECONDS
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import Batch
from dshq_widget.env.picture import Painter
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint, ladder, loading
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.policy.compatibility import shape_of
from dshq_widget.policy.policy import Policy
from dshq_widget.policy.recurrent import RecurrentPolicy

RATE = 20
"""Frames per second; a GIF stores delays in hundredths of a second. js/worker/film.ts has the same."""
LINGER_SECONDS = 1.0
"""How long the last frame is shown before the animation repeats."""
TOGETHER = 1024
"""Matches that are played at once."""
MOST_ACTIONS = 1 << 27
"""That are kept of them: half a gigabyte."""
MOST_PICTURES = 60_000
"""Of an animation: 50 minutes."""
LONGEST_MILLISECONDS = 600_000
"""That one frame is shown: a GIF can say 655 s."""
KEEP = 1
"""GIF89a's disposal method: the next frame is drawn over this one."""

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
    """A network as a player. A memory starts empty with each batch."""
    last: list[Batch] = []

    def choose(batch: Batch, side: int, rng: np.random.Generator) -> NDArray[Any]:
        if isinstance(policy, RecurrentPolicy) and last != [batch]:
            last[:] = [batch]
            policy.forget()
        mask = batch.mask()[:, side] if batch.game.masked else None
        return policy.act(batch.observe()[:, side], rng, greedy, mask)

    return choose


def by_file(saved: Checkpoint, name: str, drill: CompiledDrill, greedy: bool = False) -> Choose:
    """The policy in a file called `name` as a player. Raises CheckpointError where the file has another network than
    the drill's: a strange layer in front may cost minutes a decision.
    """
    policy = loading.as_policy(saved)
    shape_of(saved, name, drill.spec)
    return by_policy(policy, greedy)


def by_name(who: str | os.PathLike[str], drill: CompiledDrill, greedy: bool = False) -> Choose:
    """A player by name: "scripted" (the first baseline), a baseline, "random", "idle", the path of a `.dshq`
    file, or a policy of the package ("ball:gold", or "gold" of this drill's ladder).

    Raises ValueError for an unknown name and CheckpointError for a file that cannot be read or is of another drill.
    """
    text = os.fspath(ladder.full_name(drill.name, who))
    if text.endswith(".dshq") or ":" in text:
        return by_file(checkpoint.load(text), os.path.basename(text), drill, greedy)
    if text == "scripted":
        text = (drill.spec.baselines or ["random"])[0]
    if text != "idle":
        drill.game().verb_of(text)
    return lambda batch, side, rng: batch.scripted(text)[:, side]


def play(drill: CompiledDrill, players: list[Choose], matches: int, seed: int = 0) -> list[Match]:
    """`matches` matches, one `Choose` per side, the same every time for one seed (match g is keyed `seed + g`). Raises
    ValueError where they have no end.
    """
    batch = Batch(drill, matches, seed, practice=False, shaping=False)
    rng = np.random.default_rng(abs(seed))
    ends, winners = np.zeros(matches, int), np.zeros(matches, int)
    returns = np.zeros(matches)
    history: list[NDArray[Any]] = []
    while not ends.all():
        actions = np.stack([choose(batch, side, rng) for side, choose in enumerate(players)], 1)
        history.append(actions.astype(np.int32))
        if len(history) * actions.size > MOST_ACTIONS:
            raise ValueError(
                f"matches continue after {len(history):,} decisions, more than can be kept: lower --matches, or the "
                "drill's time_limit"
            )
        rewards, _, terminated, truncated = batch.step(actions)
        playing = ends == 0
        returns[playing] += rewards[playing, 0]
        finished = playing & (terminated | truncated)
        winners[finished] = batch.winners()[finished]
        ends[finished] = len(history)
    taken = np.stack(history)
    return [Match(seed + g, taken[: ends[g], g], int(winners[g]), float(returns[g])) for g in range(matches)]


def best_of(drill: CompiledDrill, players: list[Choose], matches: int, seed: int = 0) -> tuple[Match, int]:
    """The best of `count` matches, which are played some at a time, and how many of them side 0 has won. Raises
    ValueError if there is nothing to show.
    """
    kept: list[Match] = []
    wins = 0
    for first in range(0, matches, TOGETHER):
        played = play(drill, players, min(TOGETHER, matches - first), seed + first)
        won = sum(match.winner > 0 for match in played)
        wins += won
        if won or drill.spec.sides == 1:
            found = best(drill, [*kept, *played])
            kept = [dataclasses.replace(found, actions=found.actions.copy())]  # without those of the others
    return best(drill, kept, matches), wins


def best(drill: CompiledDrill, played: list[Match], of: int = 0) -> Match:
    """The fastest win of side 0, or in a drill of one side the highest return. Raises ValueError if none was won, of
    `of` matches if these are not all.
    """
    if drill.spec.sides == 1:
        return max(played, key=lambda match: match.score)
    won = [match for match in played if match.winner > 0]
    if not won:
        raise ValueError(
            f"none of the {of or len(played)} matches was won, so there is nothing to record: raise --matches, or "
            "choose a weaker opponent"
        )
    return min(won, key=lambda match: len(match.actions))


class Film(Sequence[Any]):
    """Pictures u8 `[height, width, 3]`, each of which is drawn when it is asked for."""

    def __init__(self, painter: Painter, scenes: Sequence[NDArray[np.float32]]) -> None:
        self._painter, self._scenes = painter, scenes

    def __len__(self) -> int:
        return len(self._scenes)

    def __getitem__(self, k: Any) -> Any:
        return self._painter.draw(self._scenes[k])


def pictures(
    drill: CompiledDrill, match: Match, *, seconds: float = 10.0, width: int = 480, theme: str = "light"
) -> Film:
    """The end of a match, and how the world runs out after it: RATE pictures a second, at least one and at most
    `MOST_PICTURES`.
    """
    rate, repeat = drill.spec.tick_rate, drill.spec.action_repeat
    batch = Batch(drill, 1, match.seed, practice=False)
    rest = max(1, round(REST_SECONDS["goal" if match.winner else "draw"] * rate))
    ticks = len(match.actions) * repeat + rest
    begin = max(0, ticks - round(min(seconds, ticks / rate, MOST_PICTURES / RATE) * rate))
    scenes: list[NDArray[np.float32]] = []
    for tick in range(ticks):
        decision, phase = divmod(tick, repeat)
        if phase == 0 and decision < len(match.actions):
            batch.tiles["action"][0, :, 0] = match.actions[decision]
            batch.game.decide(batch.tiles)
        batch.game.tick(batch.tiles)
        due = int((tick + 1 - begin) * RATE // rate)  # several for a tick that takes longer than a picture
        if tick + 1 == ticks:
            due = max(due, 1)
        if due > len(scenes):
            scenes += [batch.game.scene(batch.tiles).copy()] * (due - len(scenes))
    return Film(Painter(drill.spec, width, theme), scenes)


def save_gif(path: str | os.PathLike[str], film: Sequence[NDArray[np.uint8]]) -> int:
    """Write frames as a GIF that repeats for ever, of each what differs from the one before; returns their number. Two
    are held at a time. Raises OSError if it cannot be written, and ImportError without Pillow.
    """
    try:
        from PIL import GifImagePlugin, Image
    except ImportError as error:
        raise ImportError("recording a GIF needs pillow: pip install 'dshq-widget[record]'") from error

    thirds = np.concatenate([film[k * (len(film) - 1) // 2] for k in range(3)])
    palette = Image.fromarray(thirds).quantize(256, Image.Quantize.MEDIANCUT)

    def flat(k: int) -> NDArray[np.uint8]:
        return np.asarray(Image.fromarray(film[k]).quantize(palette=palette, dither=Image.Dither.NONE))

    now, waited = flat(0), 0
    changed = slice(0, now.shape[0]), slice(0, now.shape[1])
    whole = Image.fromarray(now)
    whole.putpalette(palette.getpalette() or [])
    with atomic.aside(path) as file:
        file.write(b"".join(GifImagePlugin.getheader(whole, info={"loop": 0})[0]))
        for k in range(len(film)):
            last = k + 1 == len(film)
            waited += round(1000 * LINGER_SECONDS) if last else 1000 // RATE
            following = now if last else flat(k + 1)
            differs = now != following
            if last or differs.any() or waited >= LONGEST_MILLISECONDS:
                rows, columns = changed
                part = Image.fromarray(np.ascontiguousarray(now[changed]))
                shown = {"duration": waited, "disposal": KEEP}
                file.write(b"".join(GifImagePlugin.getdata(part, (columns.start, rows.start), **shown)))
                now, waited, changed = following, 0, (_span(differs.any(axis=1)), _span(differs.any(axis=0)))
        file.write(b";")
    return len(film)


def _span(differs: NDArray[np.bool_]) -> slice:
    """From the first to the last that differs; the first one where none does."""
    found = np.flatnonzero(differs)
    return slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 1)
