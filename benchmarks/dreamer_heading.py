"""What frames of Approach and the Ball Drill show, where players look above all, and whether a world model has found it
there; `python -m benchmarks.dreamer --only heading` runs it.

    frames   how many degrees the heading is off that is read from frames at the beginning of games of Approach, with
             the mark and without it: by a linear map of the 25 x 25 pixels around the player, and by a small network
             that sees the whole frame, after so many updates; both in other games than those they learned from
    latents  what a linear map of the latents of a policy's file, and of the codes of its frames if it makes such, knows
             of headings, places and velocities: the share of the variance that it explains in other games
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
"""Fields of a state of Approach."""
ASKED = {"approach": KNOWN, "ball": (*KNOWN, "ball_vx", "ball_vy", "p_vx", "p_vy", "p_cooldown")}
"""What latents are asked for, by drill; of players all."""
RIDGE = 1.0


class Unmarked(Approach):
    """Approach as its frames were before they had a mark of the heading."""

    pointed = ()  # type: ignore[assignment]  # mypy takes the number of the other's paints as a part of its type


def numbers(games: FrameGames, fields: Sequence[str]) -> list[str]:
    """The fields by name; of one that both players have "NAME 0" and "NAME 1"."""
    both = [games.batch.tiles[name].ndim == 3 and games.batch.sides == 2 for name in fields]
    return [
        each for name, two in zip(fields, both, strict=True) for each in ([f"{name} 0", f"{name} 1"] if two else [name])
    ]


def truth(games: FrameGames, fields: Sequence[str] = KNOWN) -> NDArray[Any]:
    """f64 `[n, len(numbers(games, fields))]` of each game."""
    rows = []
    for name in fields:
        field = np.asarray(games.batch.tiles[name], np.float64)  # [tiles, 16], of players [tiles, sides, 16]
        rows += [field[:, k] for k in range(field.shape[1])] if field.ndim == 3 else [field]
    return np.stack([row.reshape(-1)[: games.n] for row in rows], 1)


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
    """See `told`, of the policy in a file."""
    saved = checkpoint.load(path)
    marked = "noses in frames" in (fingerprint.unpacked(saved.state) or {})
    drill = compiled(saved.drill if marked else Unmarked)
    found = told(dreamer_of(saved, drill.spec.n_actions), drill)
    return {"drill": drill.name, "marked": marked, "updates": saved.version, **found}


def told(dreamer: Dreamer, drill: CompiledDrill) -> dict[str, Any]:
    """What a linear map reads from the latents of a policy that plays, against random play where there are two sides:
    see `by_line`; `code` is the same of the codes of the frames, which latents should expect.
    """
    games = FrameGames(drill, GAMES, 1, repeat=dreamer.settings.repeat, practice=drill.spec.sides == 2)
    player = Player(dreamer, GAMES, torch.Generator().manual_seed(1))
    frames, latents, codes, known = torch.empty((GAMES, 1, 72, 20), dtype=torch.uint8), [], [], []
    for _ in range(ROWS):
        games.draw(frames.numpy())
        actions = player(frames, torch.from_numpy(games.arrival.is_first))
        latents.append(player.latent.double())
        with torch.no_grad():
            codes.append(dreamer.model.encoder(dreamer.model.pixels(frames)).double())
        known.append(torch.from_numpy(truth(games, ASKED[drill.name])))
        games.step(actions.numpy())
    names, y = numbers(games, ASKED[drill.name]), torch.stack(known)
    found = by_line(torch.stack(latents), y, names)
    return found | ({"code": by_line(torch.stack(codes), y, names)} if dreamer.model.size.spots else {})


def by_line(x: Tensor, y: Tensor, names: Sequence[str]) -> dict[str, Any]:
    """What a linear map says of `y` `[rows, games, numbers]` by `x`: of each number the share of variance explained in
    other games than those it learned from, and how many degrees headings are off.
    """
    half = x.shape[1] // 2
    one, other = ((x[:, part].flatten(0, 1), y[:, part].flatten(0, 1)) for part in (slice(half), slice(half, None)))
    said = linear(one, other)
    share = 1 - (said - other[1]).square().mean(0) / other[1].var(0, correction=0)
    found: dict[str, Any] = dict(zip(names, share.tolist(), strict=True))
    for name in (name for name in names if name.startswith("p_cos")):
        heading = [names.index(name), names.index(name.replace("p_cos", "p_sin"))]
        found[name.replace("p_cos", "degrees")] = degrees(said[:, heading], other[1][:, heading])
    return found


def alone(drill: CompiledDrill, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A world model that learns from random play and does nothing else: see `told`, after so many updates and seconds
    of a processor.
    """
    how = DreamerSettings(**settings)
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
    return {"drill": drill.name, "settings": dict(settings), "curve": curve}


def heading(files: Sequence[Path]) -> dict[str, Any]:
    """The latents of the files; without files, frames with the mark and without."""
    if files:
        return {"latents": [explained(path) for path in files]}
    return {"frames": {"marked": read(compiled(Approach)), "unmarked": read(compiled(Unmarked))}}
