"""What a policy reads of one observation: numbers, one picture, or a row of pictures with numbers behind them.

Numbers alone are f32 `[n]`, a picture alone is uint8 `[channels, height, width]`. Of a Dict or a Tuple with more in it
than one picture an observation is a row f32: the pictures in their order, each flattened from `[channels, height,
width]` with shades 0 to 255, then all numbers. Each picture has convolutions of its own (convolutions.py), whose
weights stand behind those of the layers in the pictures' order. The first dense layer reads their features in the same
order, and behind them the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dshq_kernels.network.layers import MOST_WORK
from dshq_widget.policy import convolutions
from dshq_widget.policy.convolutions import Pixels

MOST_PICTURES = 16
"""Of one observation (assumed)."""


@dataclass(frozen=True)
class Layout:
    """`pictures`: the shape of each, channels first. `numbers`: how many stand behind them. Raises ValueError for
    pictures that are too small, too many, or cost too much.
    """

    pictures: tuple[Pixels, ...]
    numbers: int

    def __post_init__(self) -> None:
        count, costs = len(self.pictures), sum(map(convolutions.work, self.pictures))
        if self.numbers < 0:
            raise ValueError(
                f"pictures of shape {', '.join(map(str, self.pictures))} give {self.features} numbers, {-self.numbers} "
                "more than the first layer reads"
            )
        if count > MOST_PICTURES:
            raise ValueError(f"an observation has {MOST_PICTURES} pictures at most, got {count}: leave some out")
        if costs > MOST_WORK:
            raise ValueError(
                f"its pictures cost {costs:,} operations a decision, more than the {MOST_WORK:,} that are allowed: "
                "make them smaller, or leave some out"
            )

    @classmethod
    def of(cls, n_obs: int, pictures: Sequence[Pixels]) -> Layout:
        """The layout whose first dense layer reads `n_obs` numbers."""
        return cls(tuple(pictures), n_obs - sum(map(convolutions.features, pictures)))

    @property
    def features(self) -> int:
        """What all convolutions give."""
        return sum(map(convolutions.features, self.pictures))

    @property
    def alone(self) -> bool:
        """Whether one picture is all that is read."""
        return len(self.pictures) == 1 and not self.numbers

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the parts of a row, in order."""
        return (*map(prod, self.pictures), *([self.numbers] if self.numbers else []))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one observation."""
        return self.pictures[0] if self.alone else (sum(self.sizes),)

    def parts(self, obs: Any) -> tuple[list[Any], list[Any]]:
        """The pictures `[N, *pixels]`, and in a list of its own the numbers `[N, numbers]`, if there are any, of
        observations `[N, *shape]`, an array or a tensor.
        """
        if self.alone:
            return [obs], []
        pictures, at = [], 0
        for pixels, size in zip(self.pictures, self.sizes, strict=False):
            pictures.append(obs[:, at : at + size].reshape(-1, *pixels))
            at += size
        return pictures, [obs[:, at:]] if self.numbers else []

    def trunks(self, weights: Any) -> list[Any]:
        """The flat weights of each picture's convolutions in those of all, an array or a tensor."""
        trunks, at = [], 0
        for pixels in self.pictures:
            end = at + convolutions.floats(pixels)
            trunks.append(weights[at:end])
            at = end
        return trunks

    def forward(self, weights: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """What the first dense layer reads, f32 `[N, n_obs]`, of observations `[N, *shape]`."""
        pictures, numbers = self.parts(obs)
        each = zip(self.trunks(weights), self.pictures, pictures, strict=True)
        found = [convolutions.forward(*one) for one in each]
        return np.concatenate([*found, *(part.astype(np.float32) for part in numbers)], axis=1)


def pictures_of(environment: Mapping[str, Any]) -> tuple[Pixels, ...]:
    """The shapes of the pictures in a file's description of an environment: `pixels` is that of one alone, `pictures`
    those of a row.
    """
    pixels = tuple(environment.get("pixels", ()))
    return (pixels,) if pixels else tuple(map(tuple, environment.get("pictures", ())))
