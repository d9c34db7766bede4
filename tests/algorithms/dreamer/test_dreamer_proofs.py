"""That the world model learns, on a ball that rolls across the frame; on real games: benchmarks.dreamer."""

import math

import pytest
import torch

from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model import sizes
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.pixels import packing

pytestmark = pytest.mark.slow  # half a minute each
STEPS, GAMES, SEEN, SPEED, SIDE = 12, 8, 6, 5, 6
SIZE = sizes.SIZES["pico"]
SETTINGS = DreamerSettings(size="pico", rare_shades=60, free_nats=0.1, learning_rate=1e-3)


def rolling(seed: int, speed: int = SPEED) -> dict[str, torch.Tensor]:
    """Balls of 6 x 6 pixels that roll to the right, 5 pixels a step, and pay 1 where they cross the middle."""
    chance = torch.Generator().manual_seed(seed)
    start, height = torch.randint(0, 15, (GAMES,), generator=chance), torch.randint(0, 66, (GAMES,), generator=chance)
    shades, reward = torch.zeros(STEPS, GAMES, 1, 72, 80, dtype=torch.uint8), torch.zeros(STEPS, GAMES)
    for t in range(STEPS):
        for k in range(GAMES):
            x, y = int(start[k]) + speed * t, int(height[k])
            shades[t, k, 0, y : y + SIDE, x : x + SIDE] = 3
            reward[t, k] = float(x - speed < 40 <= x)
    first = torch.zeros(STEPS, GAMES, dtype=torch.bool)
    first[0] = True
    return {
        "obs": packing.pack(shades),
        "action": torch.zeros(STEPS, GAMES, dtype=torch.int32),
        "reward": reward,
        "is_first": first,
        "continues": torch.ones(STEPS, GAMES),
    }


def taught(updates: int, speed: int = SPEED) -> tuple[Dreamer, list[dict[str, float]]]:
    """A world model after so many updates, and its losses."""
    dreamer, losses = Dreamer(SETTINGS, 2, 0), []
    for k in range(updates):
        found, _ = dreamer.model_gradients(rolling(k, speed))
        model = dreamer.optimisers["model"]
        model.step(SETTINGS.learning_rate, SETTINGS.max_grad_norm, model.norm())
        losses.append({name: float(value) for name, value in found.items()})
    return dreamer, losses


def test_what_stands_still_is_drawn_soon_and_expected():
    _, losses = taught(200, speed=0)
    last = losses[-1]
    assert last["loss_image"] < 0.2 * losses[0]["loss_image"]
    most = SIZE.stoch * math.log(SIZE.classes)
    assert abs(last["prior_entropy"] - last["posterior_entropy"]) < most / 4
    assert all(torch.tensor(list(row.values())).isfinite().all() for row in losses)


def test_a_ball_is_imagined_where_it_rolls_and_its_reward_is_known():
    dreamer, _ = taught(500)
    with torch.no_grad():
        off, share = measured(dreamer)
    assert off < 4 + SIDE / 2, "the brightest pixel is anywhere in the ball"
    assert share > 0.9


def measured(dreamer: Dreamer) -> tuple[float, float]:
    """How many pixels the ball is off after five imagined steps, and the area under the reward's ROC curve."""
    model, size, given = dreamer.model, SIZE, rolling(10_000)
    chance = torch.Generator().manual_seed(0)
    uniform = torch.rand(STEPS, GAMES, size.stoch, size.classes, generator=chance)
    pixels = model.pixels(given["obs"])
    embedded = model.encoder(pixels.flatten(0, 1)).unflatten(0, (STEPS, GAMES))
    none = dist.one_hot(torch.zeros(GAMES, dtype=torch.int64), 2)
    before = torch.cat([torch.zeros(1, GAMES, 2), none.expand(STEPS - 1, -1, -1)])
    states = model.rssm.observe(embedded, before, given["is_first"], uniform)
    h, z = states.h[SEEN - 1], states.z[SEEN - 1]
    for k in range(5):
        h, z = model.rssm.imagine_step(h, z, none, uniform[SEEN + k])
    brightest = model.decoder(torch.cat([z, h], -1)).flatten(1).argmax(1)
    ball = (pixels[SEEN + 4, :, 0] > 0.49).flatten(1).float()
    place = torch.cartesian_prod(torch.arange(72.0), torch.arange(80.0))
    centre = ball @ place / SIDE**2
    off = (torch.stack([brightest // 80, brightest % 80], 1) - centre).norm(dim=1)
    expected, paid = model.reward(states.latent), given["reward"] > 0.5
    pairs = expected[paid][:, None] > expected[~paid][None]
    return float(off.median()), float(pairs.float().mean())
