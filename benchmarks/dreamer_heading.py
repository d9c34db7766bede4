"""Whether a frame of Approach shows where its player looks, and whether a world model has found it there; `python -m
benchmarks.dreamer --only heading` runs it.

    frames   a small network, trained on frames at the beginning of games, says the heading: degrees off in other games,
             with the mark and without it
    latents  what a linear map of the latents of a policy's file knows of heading and places: the share of the variance
             that it explains in other games
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.agent import Player
from dshq_widget.algorithms.dreamer.model.layers import Encoder
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.saved import dreamer_of
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills.approach import Approach
from dshq_widget.env.batch import compiled
from dshq_widget.learning import fingerprint
from dshq_widget.pixels import packing
from dshq_widget.policy import checkpoint

GAMES, FRAMES, STEPS, BATCH, ROWS = 64, 8192, 600, 64, 120
"""Games at once, frames in all, updates of the small network and their frames, rows of play per latent's file."""
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
    """Frames u8 `[n, 1, 72, 20]` of new games, and cosine and sine of the headings f32 `[n, 2]`."""
    games, frames, known = FrameGames(drill, GAMES, seed), torch.empty((n, 1, 72, 20), dtype=torch.uint8), []
    for first in range(0, n, GAMES):
        games.begin_anew()
        games.draw(frames[first : first + GAMES].numpy())
        known.append(truth(games)[:, :2])
    return frames, torch.from_numpy(np.concatenate(known)).float()


def degrees_off(drill: CompiledDrill, frames: int = FRAMES, steps: int = STEPS) -> dict[str, float]:
    """How far the network's headings are off in the last fourth of so many frames: median and 90th percentile."""
    seen, heading = beginnings(drill, frames)
    pixels = packing.unpack(seen).float() / 3 - 0.5
    size, chance, train = SIZES["pico"], torch.Generator().manual_seed(0), frames * 3 // 4
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = Encoder(packing.HEIGHT, packing.WIDTH, size.depth, size.strides, size.places)
        head = nn.Linear(encoder.features, 2)
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], 1e-3)
    for _ in range(steps):
        chosen = torch.randint(train, (BATCH,), generator=chance)
        loss = (head(encoder(pixels[chosen])) - heading[chosen]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        said = torch.cat([head(encoder(part)) for part in pixels[train:].split(256)])
    apart = torch.atan2(said[:, 1], said[:, 0]) - torch.atan2(heading[train:, 1], heading[train:, 0])
    off = torch.rad2deg(torch.atan2(apart.sin(), apart.cos()).abs())
    return {"median": float(off.median()), "p90": float(off.quantile(0.9))}


def explained(path: Path) -> dict[str, Any]:
    """Of the policy in a file of Approach, which plays: by number of `KNOWN`, the share of variance explained."""
    saved = checkpoint.load(path)
    marked = "noses in frames" in (fingerprint.unpacked(saved.state) or {})
    drill = compiled(Approach if marked else Unmarked)
    dreamer = dreamer_of(saved, drill.spec.n_actions)
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
    x = torch.cat([x, torch.ones_like(x[..., :1])], -1)
    (learnt, rest), (of_learnt, of_rest) = (
        (row[:, :half].flatten(0, 1), row[:, half:].flatten(0, 1)) for row in (x, y)
    )
    weights = torch.linalg.solve(
        learnt.T @ learnt + RIDGE * torch.eye(x.shape[-1], dtype=x.dtype), learnt.T @ of_learnt
    )
    share = 1 - (rest @ weights - of_rest).square().mean(0) / of_rest.var(0, correction=0)
    return {"marked": marked, "updates": saved.version, **dict(zip(KNOWN, share.tolist(), strict=True))}


def heading(files: Sequence[Path]) -> dict[str, Any]:
    """Frames with the mark and without, and the latents of the files."""
    frames = {"marked": degrees_off(compiled(Approach)), "unmarked": degrees_off(compiled(Unmarked))}
    return {"frames": frames, "latents": [explained(path) for path in files]}
