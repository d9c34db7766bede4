"""The layers of the size `spots`: glances, spots and the code between them."""

import pytest
import torch

from dshq_widget.algorithms.dreamer.model import places, spots
from dshq_widget.algorithms.dreamer.model.sizes import SIZES
from dshq_widget.algorithms.dreamer.model.world_model import WorldModel


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_glance_says_what_is_where():
    """One bright point: its place, and the features of its pixel, whatever lies elsewhere."""
    glance, pictures = spots.Glance(5, 9, 2), torch.zeros(1, 2, 5, 9)
    pictures[0, 0, 0, 8], pictures[0, 1, 0, 8], pictures[0, 1, 3, 3] = 10.0, 2.0, 9.0
    found = glance(pictures).view(2, -1)[0]
    assert found[:2].tolist() == pytest.approx([-places.SPREAD, places.SPREAD], abs=1e-4)
    assert torch.allclose(found[2:], glance.looks(torch.tensor([10.0, 2.0])), atol=1e-4)


def test_spots_are_drawn_where_they_are_said_to_be():
    """A single spot of the last shade on an empty ground."""
    decoder = spots.SpotDecoder(9, 11, 1, latent=4, units=6, code=3)
    with torch.no_grad():
        decoder.out.weight.zero_()
        decoder.out.bias.copy_(torch.tensor([0.5, -0.2, -2.0, -2.0, 0.0, -1.0, -1.0, 4.0]))
        decoder.ground[0] = 0.5
    drawn = decoder(torch.randn(2, 4, generator=rng()))
    assert drawn.shape == (2, 1, 9, 11)
    assert drawn[0, 0].argmax() == 6 * 11 + 4, "three quarters down, two fifths across"
    assert drawn[0, 0, 6, 4] > 0.45 and drawn[0, 0, 0, 0] < -0.45


def test_a_frames_nats_are_those_of_its_shades():
    logits = torch.randn(2, 4, 3, 5, generator=rng())
    shades = torch.randint(4, (2, 3, 5), generator=rng(1))
    wanted = -logits.log_softmax(1).gather(1, shades[:, None]).flatten(1).sum(1)
    assert torch.allclose(spots.surprisal(logits, shades[:, None] / 3 - 0.5), wanted, atol=1e-5)


def test_a_code_is_made_by_drawing_alone():
    """What latents expect of it, and what they are for, leaves the encoder as it is."""
    made, shape, chance = SIZES["spots"], (3, 2), rng()
    model = WorldModel(made, 3)
    given = {
        "obs": torch.randint(256, (*shape, 1, 72, 20), dtype=torch.uint8, generator=chance),
        "action": torch.randint(3, shape, generator=chance),
        "reward": torch.randn(shape, generator=chance),
        "continues": torch.ones(shape),
        "is_first": torch.zeros(shape, dtype=torch.bool),
    }
    losses, _ = model.losses(given, torch.rand(*shape, made.stoch, made.classes, generator=chance))
    (losses.reward + losses.continues + losses.representation).backward(retain_graph=True)
    assert all(each.grad is None or not each.grad.any() for each in model.encoder.parameters())
    losses.image.backward()
    assert any(each.grad is not None and each.grad.any() for each in model.encoder.parameters())
