"""How the gate's networks read a state: places taken apart if they stand in front, then 32 and 16 units with ReLU.

What follows from the 16 units is each network's own (network.py, action_rewards.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dshq_kernels.network.layers import Places
from dshq_kernels.network.places import read_places, seen_of_each, traits_of_each


class Layout:
    """Where the parameters of a network lie in a row: `shapes` by name, in order, and `places`, where each begins and
    ends. `weights`: the shape of each W, by its name and its bias's.
    """

    def __init__(self, weights: Mapping[tuple[str, str], tuple[int, int]], front: Places | None) -> None:
        self.front = front
        self.shapes: dict[str, tuple[int, ...]] = {}
        for (w, b), shape in weights.items():
            self.shapes |= {w: shape, b: shape[1:]}
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()]).tolist()
        self.places = dict(zip(self.shapes, zip([0, *ends], ends, strict=False), strict=True))
        self.size: int = ends[-1]


class Trunk:
    """Parameters in one row, f32, with `views` by name: `wp`, `bp` make traits of a place, `w1` to `b2` are the dense
    layers.
    """

    def __init__(self, flat: np.ndarray, layout: Layout) -> None:
        self.flat, self.layout = flat, layout
        self.views: dict[str, np.ndarray] = {}
        for name, (begin, end) in layout.places.items():
            self.views[name] = flat[begin:end].reshape(layout.shapes[name])

    def initialise(self, rng: np.random.Generator, names: tuple[str, ...]) -> None:
        """He initialisation (He et al., 2015) of these matrices; all else stays as it is."""
        for name in names:
            view = self.views.get(name, np.zeros((1, 0)))
            view[:] = rng.standard_normal(view.shape) * np.sqrt(2.0 / len(view))

    def read(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The hidden layers of features f32 `[n, 28]`: `x`, what the dense layers read, `h1` and `h2`, and with places
        `cell`, `there`, `exists` and `traits`.
        """
        p, zero, front = self.views, np.float32(0), self.layout.front
        hidden = {}
        if front:
            own = [(p["wp"], p["bp"])]
            cell, there, exists = seen_of_each(front, x)
            traits = traits_of_each(own, there, exists)
            x = read_places(front, own, x)
            hidden = {"cell": cell, "there": there, "exists": exists, "traits": traits}
        h1 = np.maximum(x @ p["w1"] + p["b1"], zero)
        return hidden | {"x": x, "h1": h1, "h2": np.maximum(h1 @ p["w2"] + p["b2"], zero)}

    def read_back(
        self,
        g: dict[str, np.ndarray],
        hidden: dict[str, np.ndarray],
        d_h2: np.ndarray,
        d_traits: np.ndarray | None = None,
    ) -> None:
        """Writes the gradient of all that `read` uses into `g`, given the derivatives of a loss by `h2` and by what
        else comes of the traits.
        """
        p, front, h1 = self.views, self.layout.front, hidden["h1"]
        d_h2 = d_h2 * (hidden["h2"] > 0)
        g["w2"][:], g["b2"][:] = h1.T @ d_h2, d_h2.sum(0)
        d_h1 = (d_h2 @ p["w2"].T) * (h1 > 0)
        g["w1"][:], g["b1"][:] = hidden["x"].T @ d_h1, d_h1.sum(0)
        if front is None:
            return
        read = (d_h1 @ p["w1"].T)[:, None, : front.traits] / front.places
        d_traits = read if d_traits is None else d_traits + read
        d_traits = d_traits * (hidden["traits"] > 0) * hidden["exists"][..., None]
        g["wp"][:], g["bp"][:] = np.einsum("npf,npt->ft", hidden["there"], d_traits), d_traits.sum((0, 1))
