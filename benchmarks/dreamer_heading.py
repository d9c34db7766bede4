"""Whether a frame of Approach shows where its player looks, and whether a world model has found it there; `python -m
benchmarks.dreamer --only heading` runs it.

    frames   how many degrees the heading is off that is read from frames at the beginning of games, with the mark and
             without it: by a linear map of the 25 x 25 pixels around the player, and by a small network that sees the
             whole frame, after so many updates; both in other games than those they learned from
    latents  what a linear map of the latents of a policy's file knows of heading and places: the share of the variance
             that it explains in other games
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dshq_kernels.play import raster
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.algorithms.dreamer.model.layers import Encoder
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.saved import dreamer_of
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills.approach import Approach
from dshq_widget.env.batch import compiled
from dshq_widget.learning.saved import fingerprint
from dshq_widget.pixels import packing
from dshq_widget.pixels.ring import ReplayRing
from dshq_widget.policy import checkpoint

GAMES, FRAMES, BATCH, ROWS = 64, 8192, 64, 120
"""Games at once, frames in all, frames of an update of the small network, rows of play for a file's latents."""
UPDATES = 500, 1000, 2000
PLAYED, LOOKS = 1024, (250, 500, 750, 1000)
"""Rows of random play that a world model learns from alone, and updates after which it is asked."""
AROUND = 12
"""Pixels to each side of the player."""
KNOWN = ("p_cos", "p_sin", "p_px", "p_py", "ball_px", "ball_py")
RIDGE = 1.0


class Unmarked(Approach):
    """Approach as its frames were before they had a mark of the heading."""

    pointed = ()  # type: ignore[assignment]  # mypy takes the number of the other's paints as a part of its type


def truth(games: FrameGames) -> NDArray[Any]:
    """f64 `[n, len(KNOWN)]` of each game."""
    tiles = games.batch.tiles
    return np.stack([np.asarray(tiles[name], np.float64).reshape(-1)[: games.n] for name in KNOWN], 1)


def beginnings(drill: CompiledDrill, n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Frames f32 `[n, 1, 72, 80]` of new games, and what is true of them f32 `[n, len(KNOWN)]`."""
    games, frames, known = FrameGames(drill, GAMES, seed), torch.empty((n, 1, 72, 20), dtype=torch.uint8), []
    for first in range(0, n, GAMES):
        games.begin_anew()
        games.draw(frames[first : first + GAMES].numpy())
        known.append(truth(games))
    return packing.unpack(frames).float() / (packing.SHADES - 1) - 0.5, torch.from_numpy(np.concatenate(known)).float()


def degrees(said: Tensor, heading: Tensor) -> dict[str, float]:
    """How far cosines and sines `[n, 2]` are off: median and 90th percentile."""
    apart = torch.atan2(said[:, 1], said[:, 0]) - torch.atan2(heading[:, 1], heading[:, 0])
    off = torch.rad2deg(torch.atan2(apart.sin(), apart.cos()).abs())
    return {"median": float(off.median()), "p90": float(off.quantile(0.9))}


def linear(train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor]) -> Tensor:
    """What a linear map, by least squares with a small penalty, says of the second pair."""
    (x, y), (rest, _) = (
        (torch.cat([rows, torch.ones_like(rows[:, :1])], 1).double(), of.double()) for rows, of in (train, test)
    )
    return rest @ torch.linalg.solve(x.T @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype), x.T @ y)


def around(pixels: Tensor, known: Tensor, drill: CompiledDrill) -> Tensor:
    """f32 `[n, 25 * 25]`: the pixels around each player."""
    left, top, side = raster.view(drill.spec.world).tolist()
    column, row = ((known[:, 2] - left) / side).long(), ((top - known[:, 3]) / side).long()
    step = torch.arange(2 * AROUND + 1)
    wide = nn.functional.pad(pixels[:, 0], [AROUND] * 4, value=-0.5)
    rows, columns = row[:, None, None] + step[:, None], column[:, None, None] + step
    return wide[torch.arange(len(wide))[:, None, None], rows, columns].flatten(1)


def read(drill: CompiledDrill) -> dict[str, Any]:
    """Of the last fourth of the frames: degrees off by both ways."""
    pixels, known = beginnings(drill, FRAMES)
    heading, train = known[:, :2], FRAMES * 3 // 4
    near = around(pixels, known, drill)
    said = linear((near[:train], heading[:train]), (near[train:], heading[train:]))
    found: dict[str, Any] = {"linear": degrees(said, heading[train:])}
    size, chance = SIZES["pico"], torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = Encoder(packing.HEIGHT, packing.WIDTH, size.depth, size.strides, size.places)
        head = nn.Linear(encoder.features, 2)
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], 1e-3)
    for k in range(1, max(UPDATES) + 1):
        chosen = torch.randint(train, (BATCH,), generator=chance)
        loss = (head(encoder(pixels[chosen])) - heading[chosen]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if k in UPDATES:
            with torch.no_grad():
                said = torch.cat([head(encoder(part)) for part in pixels[train:].split(256)])
            found[f"network after {k}"] = degrees(said, heading[train:])
    return found


def explained(path: Path) -> dict[str, Any]:
    """See `told`, of the policy in a file of Approach."""
    saved = checkpoint.load(path)
    marked = "noses in frames" in (fingerprint.unpacked(saved.state) or {})
    drill = compiled(Approach if marked else Unmarked)
    return {"marked": marked, "updates": saved.version, **told(dreamer_of(saved, drill.spec.n_actions), drill)}


def told(dreamer: Dreamer, drill: CompiledDrill) -> dict[str, Any]:
    """What a linear map reads from the latents of a policy that plays: by number of `KNOWN`, the share of variance
    explained in other games, and how many degrees the heading is off.
    """
    games = FrameGames(drill, GAMES, 1, repeat=dreamer.settings.repeat, practice=False)
    player = Player(dreamer, GAMES, torch.Generator().manual_seed(1))
    frames, latents, known = torch.empty((GAMES, 1, 72, 20), dtype=torch.uint8), [], []
    for _ in range(ROWS):
        games.draw(frames.numpy())
        actions = player(frames, torch.from_numpy(games.arrival.is_first))
        latents.append(player.latent.double())
        known.append(torch.from_numpy(truth(games)))
        games.step(actions.numpy())
    x, y, half = torch.stack(latents), torch.stack(known), GAMES // 2
    one, other = ((x[:, part].flatten(0, 1), y[:, part].flatten(0, 1)) for part in (slice(half), slice(half, None)))
    said = linear(one, other)
    share = 1 - (said - other[1]).square().mean(0) / other[1].var(0, correction=0)
    return {**dict(zip(KNOWN, share.tolist(), strict=True)), "degrees": degrees(said[:, :2], other[1][:, :2])}


def alone(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A world model that learns from random play and does nothing else: see `told`, after so many updates and seconds
    of a processor.
    """
    drill, how = compiled(Approach), DreamerSettings(**settings)
    games = FrameGames(drill, how.games, 0, repeat=how.repeat, reward_scale=how.reward_scale, gamma=how.discount)
    actor = Actor(games, ReplayRing(PLAYED, how.games), 0)
    for _ in range(PLAYED):
        actor.step(actor.random)
    dreamer, chance, spent = Dreamer(how, drill.spec.n_actions, 0), torch.Generator().manual_seed(0), 0.0
    model, curve = dreamer.optimisers["model"], []
    for k in range(1, max(LOOKS) + 1):
        begin = time.process_time()
        batch = actor.sample(how.batch, how.sequence, chance)
        assert batch is not None
        found, _ = dreamer.model_gradients(batch)
        model.step(how.learning_rate, how.max_grad_norm, model.norm())
        spent += time.process_time() - begin
        if k in LOOKS:
            losses = {name: float(value) for name, value in found.items()}
            curve.append({"updates": k, "processor_seconds": spent, **told(dreamer, drill), **losses})
            print(curve[-1], flush=True)
    return {"settings": dict(settings), "curve": curve}


def heading(files: Sequence[Path]) -> dict[str, Any]:
    """The latents of the files; without files, frames with the mark and without."""
    if files:
        return {"latents": [explained(path) for path in files]}
    return {"frames": {"marked": read(compiled(Approach)), "unmarked": read(compiled(Unmarked))}}
