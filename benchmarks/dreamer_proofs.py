"""What a world model has learned of real games: the long forms of three proofs; `python -m benchmarks.dreamer --only
proofs` runs them. Short forms: tests/algorithms/dreamer/test_dreamer_proofs.py.

    standing   nobody moves: the reconstruction falls fast, and prior and posterior stay close
    open_loop  16 frames seen, 16 imagined with the actions that were taken: how far off the ball is, in pixels
    reward     whether a touch is told from no touch: area under the ROC curve

Only the model learns; games are played at random.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.env.batch import compiled
from dshq_widget.pixels.ring import ReplayRing

SETTINGS = DreamerSettings(games=32, ring=32 * 1024, rare_shades=60, free_nats=0.3, learning_rate=1e-3)
SEEN, IMAGINED, WINDOWS, BALL = 16, 16, 256, 0.49
"""Frames of context, frames imagined, windows measured, and the brightness from which a pixel is the ball."""


def learned(drill: str, updates: int, still: bool = False, every: int = 50) -> tuple[Dreamer, Actor, list[Any]]:
    """A world model after so many updates on games of random play, or in which nobody does anything; and its losses."""
    games = FrameGames(compiled(drill), SETTINGS.games, 0, opponent="idle" if still else "random", shaping=False)
    actor = Actor(games, ReplayRing(SETTINGS.rows, SETTINGS.games), 0)
    dreamer, chance, curve = Dreamer(SETTINGS, games.n_actions, 0), torch.Generator().manual_seed(0), []
    idle = torch.zeros(SETTINGS.games, dtype=torch.int64)
    for _ in range(SETTINGS.rows):
        actor.step((lambda frames, is_first: idle) if still else actor.random)
    for k in range(updates):
        batch = actor.sample(SETTINGS.batch, SETTINGS.sequence, chance)
        assert batch is not None
        found, _ = dreamer.model_gradients(batch)
        model = dreamer.optimisers["model"]
        model.step(SETTINGS.learning_rate, SETTINGS.max_grad_norm, model.norm())
        if k % every == 0 or k == updates - 1:
            curve.append({"update": k, **{name: float(value) for name, value in found.items()}})
    return dreamer, actor, curve


def standing(updates: int = 300) -> dict[str, Any]:
    """The Ball Drill in which nobody moves."""
    _, _, curve = learned("ball", updates, still=True)
    first, last = curve[0], curve[-1]
    return {
        "curve": curve,
        "image_share": last["loss_image"] / first["loss_image"],
        "entropy_gap": abs(last["prior_entropy"] - last["posterior_entropy"]),
    }


def rolling(updates: int = 4000) -> dict[str, Any]:
    """Approach: the ball in open loop, and touches in the reward head."""
    dreamer, actor, curve = learned("approach", updates, every=250)
    chance = torch.Generator().manual_seed(1)
    found = actor.sample(4 * WINDOWS, SEEN + IMAGINED, chance)
    assert found is not None
    whole = ~found["is_first"][1:].any(0)
    batch = {name: row[:, whole][:, :WINDOWS].contiguous() for name, row in found.items()}
    touches = actor.sample(4 * WINDOWS, SETTINGS.sequence, chance)
    assert touches is not None
    return {"curve": curve, "pixels_off": open_loop(dreamer, batch, chance), "auc": auc(*rewards(dreamer, touches))}


@torch.no_grad()
def open_loop(dreamer: Dreamer, batch: dict[str, Tensor], chance: torch.Generator) -> dict[str, float]:
    """The median distance from the ball's centre to the brightest pixel drawn, after so many imagined steps; 0 is the
    last frame that was seen.
    """
    model, size = dreamer.model, SIZES[SETTINGS.size]
    steps, n = batch["reward"].shape
    pixels = model.pixels(batch["obs"])
    embedded = model.encoder(pixels.flatten(0, 1)).unflatten(0, (steps, n))
    taken = dist.one_hot(batch["action"].long(), model.n_actions)
    before = torch.cat([torch.zeros_like(taken[:1]), taken[:-1]])
    uniform = torch.rand(steps, n, size.stoch, size.classes, generator=chance)
    states = model.rssm.observe(embedded[:SEEN], before[:SEEN], batch["is_first"][:SEEN], uniform[:SEEN])
    h, z, off = states.h[-1], states.z[-1], {}
    for k in range(IMAGINED):
        if k:
            h, z = model.rssm.imagine_step(h, z, taken[SEEN + k - 2], uniform[SEEN + k - 1])
        if k in (0, 1, 5, 10, 15):
            drawn = model.decoder(torch.cat([z, h], -1))[:, 0]
            off[str(k)] = _distance(drawn, pixels[SEEN + k - 1, :, 0])
    return off


def _distance(drawn: Tensor, truth: Tensor) -> float:
    width, place = drawn.shape[-1], torch.cartesian_prod(*(torch.arange(float(n)) for n in drawn.shape[1:]))
    ball = (truth > BALL).flatten(1).float()
    centre = (ball @ place) / ball.sum(1, keepdim=True)
    brightest = drawn.flatten(1).argmax(1)
    at = torch.stack([brightest // width, brightest % width], 1).float()
    return float((at - centre)[ball.sum(1) > 0].norm(dim=1).median())


@torch.no_grad()
def rewards(dreamer: Dreamer, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """What the model expects of each step, knowing its frame, and whether it was a touch."""
    model, size = dreamer.model, SIZES[SETTINGS.size]
    uniform = torch.rand(*batch["reward"].shape, size.stoch, size.classes, generator=torch.Generator().manual_seed(2))
    _, states = model.losses(batch, uniform)
    counts = ~batch["is_first"]
    return model.reward(states.latent)[counts], batch["reward"][counts] > 0.5


def auc(scores: Tensor, positive: Tensor) -> float:
    """The share of pairs of a positive and a negative in which the positive has the larger score."""
    good, bad = scores[positive], scores[~positive]
    wins = (good[:, None] > bad[None]).float() + 0.5 * (good[:, None] == bad[None]).float()
    return float(wins.mean())
