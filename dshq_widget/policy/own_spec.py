"""The shape of a network of a person's own as flat weights: it stands where a `PolicySpec` does. torch is loaded where
a module is made (own_module.py).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.torch_needed import need_torch
from dshq_widget.policy.convolutions import Pixels
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.own_network import MOST_FLOATS, Found, NetworkError, Tensors, other


@dataclass(frozen=True)
class OwnSpec(PolicySpec):
    """The shape of a network of a person's own. `layers` are only what it reads and how many outputs it has. Flat
    weights are its `tensors` in their order: the parameters, then the buffers, which are saved and do not learn.
    """

    found: Found | None = None
    tensors: Tensors = ()
    learning: tuple[str, ...] = ()
    """Names of those parameters that learn."""

    @classmethod
    def of(cls, spec: GameSpec, found: Found) -> OwnSpec:
        """The network for a game. Its module is made once and tried. Raises NetworkError for one that does not keep to
        the protocol, and MissingTorch.
        """
        return cls.reading((spec.n_obs, spec.n_actions + 1), spec.pictures_read, found)

    @classmethod
    def reading(cls, layers: tuple[int, ...], pictures: tuple[Pixels, ...], found: Found) -> OwnSpec:
        """The same for what is read and said, as a file has it."""
        need_torch("a network of your own")
        from dshq_widget.policy.own_module import tensors_of

        bare = cls(layers, pictures=pictures, found=found)
        tensors, learning = tensors_of(bare)
        spec = dataclasses.replace(bare, tensors=tensors, learning=learning)
        if spec.floats > MOST_FLOATS:
            raise NetworkError(f"{spec.name}: wanted {MOST_FLOATS:,} parameters at most, got {spec.floats:,}")
        return spec

    @property
    def name(self) -> str:
        """Of the factory, "module:NAME"."""
        assert self.found is not None
        return self.found.name

    def to_json(self) -> dict[str, str]:
        """How another process finds the factory."""
        assert self.found is not None
        return self.found.to_json()

    @property
    def own(self) -> dict[str, Any]:
        """See `PolicySpec.own`."""
        text = json.dumps([[name, list(shape)] for name, shape in self.tensors])
        return {"name": self.name, "tensors": hashlib.sha256(text.encode()).hexdigest()[:16]}

    @property
    def floats(self) -> int:
        """Length of the flat weights."""
        return sum(math.prod(shape) for _, shape in self.tensors)

    @functools.cached_property
    def places(self) -> dict[str, slice]:
        """Where in the flat weights each tensor is."""
        ends = np.cumsum([0, *(math.prod(shape) for _, shape in self.tensors)]).tolist()
        names = (name for name, _ in self.tensors)
        return {name: slice(*ends[k : k + 2]) for k, name in enumerate(names)}

    def split(self, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Raises ValueError: it has no layers that anybody here knows."""
        raise ValueError(f"{self.name} is a network of your own, and its layers are not known: give its module")

    def mask(self) -> np.ndarray:
        """See `PolicySpec.mask`."""
        mask = np.zeros(self.floats, np.float32)
        for name in self.learning:
            mask[self.places[name]] = 1
        return mask

    def misfit(self, weights: np.ndarray) -> str:
        """See `PolicySpec.misfit`."""
        if weights.shape == (self.floats,):
            return ""
        return f"{self.name} wants {self.floats:,} numbers in one row, got shape {weights.shape}"

    def untrained(self, seed: int) -> np.ndarray:
        """As its constructor makes them after `torch.manual_seed(seed)`."""
        from dshq_widget.policy.own_module import OwnModule

        return OwnModule.made(self, seed).flat()


def spec_of(values: Mapping[str, Any], layers: tuple[int, ...], pictures: tuple[Pixels, ...], found: Found) -> OwnSpec:
    """The network of a file that says `values` of it. Raises NetworkError if it is not the one that is given."""
    spec = OwnSpec.reading(layers, pictures, found)
    if why := other(values, spec.own):
        raise NetworkError(f"the file cannot be played: {why}")
    return spec
