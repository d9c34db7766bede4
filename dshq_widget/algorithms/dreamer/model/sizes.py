"""Sizes of the model, and what may be trained with it; free of torch and numba, because the registry reads them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from dshq_widget.contract.game_spec import DrillSpec, GameSpec

STRIDES = (2, 2, 2)
"""Convolutions that shrink a frame from 72 x 80 to 9 x 10, where the halves end (gbxcule)."""
PATCHES = (4, 2)
"""The same in two: patches of 4 x 4 first. Most of the time goes into the large pictures between (docs/LOG.md)."""
KERNEL = 4
"""Of all convolutions (DreamerV1 to V3). With stride 2 they overlap, with stride 4 they are patches."""
EPSILON = 1e-3
"""Of layer norms (dreamerv3-torch)."""
WAVES = (1, 2, 4)
"""Half waves over a frame, in both directions, by which a `PlacedDecoder` knows where a pixel is (assumed)."""
CODE = 32
"""Numbers of a frame's code, where spots are drawn (measured: docs/LOG.md)."""
LOOKS = 16
"""Features that a `Glance` takes from the place of each channel (assumed)."""
BINS = 255
"""Of rewards and returns (danijar/dreamerv3)."""
STRIDE = 8
"""By default steps between two commits of the ring, and steps at its ends that are left alone (gbxcule)."""

SHADES = 4
"""Of a frame (pixels/packing.py, which needs torch)."""
PIXELS = 72 * 80
"""The same."""
FRAME_BYTES = 1457
"""Of a frame in the ring, with what arrives with it (pixels/ring.py)."""


@dataclass(frozen=True)
class Size:
    """Widths of the model. The latent of a step is z, `stoch` variables of `classes`, and h, `deter` floats."""

    deter: int
    stoch: int
    classes: int
    hidden: int
    """Width of the layers before the GRU, the prior and the posterior."""
    units: int
    """Width of the heads' layers."""
    depth: int
    """Channels of the first convolution; each one doubles them."""
    predictors: int
    """Layers of the reward and the continue head."""
    behaviour: int
    """Layers of actor and critic."""
    strides: tuple[int, ...] = STRIDES
    places: bool = False
    """The encoder says where each channel is active, and the decoder draws by coordinates (places.py)."""
    spots: int = 0
    """Not 0: the decoder draws so many spots on a ground, and the encoder says what is where (spots.py)."""

    @property
    def latent(self) -> int:
        """Floats of a latent: z and h."""
        return self.stoch * self.classes + self.deter


SIZES: dict[str, Size] = {
    "pico": Size(128, 16, 16, 64, 64, 16, 1, 1, PATCHES, places=True),
    "spots": Size(128, 32, 16, 64, 64, 16, 1, 1, PATCHES, spots=16),
    "nano": Size(256, 16, 16, 128, 128, 16, 2, 2),
    "1m": Size(512, 32, 4, 64, 64, 4, 1, 3),
    "torch": Size(512, 32, 32, 512, 512, 32, 2, 2),
    "12m": Size(2048, 32, 16, 256, 256, 16, 1, 3),
}
"""`1m` and `12m` have the widths of danijar/dreamerv3's configurations of that name (its GRU has eight blocks, this one
has none, so `12m` has more weights here), `torch` those of NM512/dreamerv3-torch. `nano` is half of `torch` or less,
`pico` has half of its widths, the same z and layers that know places, `spots` those of `pico` and layers for a few
small things on a ground that stands still (measured: docs/LOG.md).
"""


def acting_floats(size: Size, n_actions: int) -> int:
    """Weights of the world model and the actor, counted as layers.py, rssm.py, world_model.py and behaviour.py lay them
    out; a test compares.
    """
    wide, latent = size.stoch * size.classes, size.latent
    small = PIXELS // prod(size.strides) ** 2
    channels = [1, *(size.depth * 2**k for k in range(len(size.strides)))]
    kernels = KERNEL**2 * sum(a * b for a, b in pairwise(channels))
    last = KERNEL**2 if size.strides[0] == KERNEL else 1
    biases = last + sum(KERNEL**2 * n for n, k in zip(channels[1:-1], size.strides[1:], strict=True) if k == KERNEL)
    encoder = kernels + 2 * sum(channels[1:])
    decoder = kernels + 2 * sum(channels[1:-1]) + biases + (latent + 1) * small * channels[-1]
    seen = small * channels[-1]
    if size.places:
        encoder, seen = encoder + len(size.strides), seen + 2 * sum(channels[1:])
        side, waves, units = prod(size.strides), (2 * len(WAVES) + 1) ** 2, size.units
        decoder = (latent + waves + 4) * 2 * units + (2 * units + 3) * units + (units + 1) * side**2
    if size.spots:
        planes = KERNEL**2 * (SHADES - 2) * channels[1]  # of shades, beside the one plane of the others
        encoder = encoder + planes + sum(1 + (n + 1) * LOOKS for n in channels[1:])
        encoder, seen, units = encoder + ((2 + LOOKS) * sum(channels[1:]) + 1) * CODE, CODE, 2 * size.units
        decoder = _head(latent, units, 1, CODE) + _head(CODE, units, 1, size.spots * (4 + SHADES)) + SHADES * PIXELS
    gru = (size.hidden + size.deter + 2) * 3 * size.deter
    prior = _dense(size.deter, size.hidden) + (size.hidden + 1) * wide
    posterior = (size.deter + seen + 2) * size.hidden + (size.hidden + 1) * wide
    rssm = _dense(wide + n_actions, size.hidden) + gru + prior + posterior + size.deter
    heads = [(size.predictors, BINS), (size.predictors, 1), (size.behaviour, n_actions)]
    return encoder + decoder + rssm + sum(_head(latent, size.units, layers, n_out) for layers, n_out in heads)


def update_floats(size: Size, frames: int, starts: int, horizon: int) -> int:
    """About how many floats an update holds: of each replayed frame the pictures between encoder and decoder, of each
    imagined state its latent and the heads' layers, both three times: with their slopes, and once more while they are
    made (assumed).
    """
    between, channels, left = 0, size.depth, PIXELS
    for stride in size.strides:
        left //= stride**2
        between, channels = between + channels * left, 2 * channels
    state = 4 * size.latent + size.units * 2 * (size.predictors + size.behaviour) + 2 * BINS
    return 3 * (frames * (2 * between + 3 * PIXELS) + (starts or frames) * (horizon + 1) * state)


def _dense(n_in: int, n_out: int) -> int:
    """A linear layer without bias, and a layer norm."""
    return (n_in + 2) * n_out


def _head(n_in: int, units: int, layers: int, n_out: int) -> int:
    return _dense(n_in, units) + (layers - 1) * _dense(units, units) + (units + 1) * n_out


def rows_needed(sequence: int, stride: int = STRIDE, margin: int = STRIDE) -> int:
    """Steps that a ring must hold so that a window of `sequence` is found at any time, while an actor continues."""
    return sequence + stride + 2 * margin + 1


def suits(spec: GameSpec) -> None:
    """Raises ValueError for a drill that cannot be learned from its frames."""
    if isinstance(spec, DrillSpec) and not spec.drawn:
        raise ValueError(
            f"dreamer learns from frames, and the drill {spec.name!r} has no scene to draw: give it a rule `scene`, "
            "or choose the algorithm ppo"
        )
    if spec.masked:
        raise ValueError(
            f"dreamer sees frames only, and in the drill {spec.name!r} the rules forbid actions (mask), which no "
            "frame shows: choose the algorithm ppo"
        )
