"""The gate's policy, one of two networks, by 28 features of which 25 say five places.

`places` takes the places' chunks apart into column and row: a chunk's logit is what the places pull by where it lies to
them (dshq_kernels/network/places.py), a type's comes from the places' mean traits and the other features -> 32 -> 16.
`source` (Nexus of Mind, 2026-01-21) reads all 28 as they are: 28 -> 32 -> 16, from there a chunk head (32, then 400),
and a type head (1).

Small enough for numpy: forward pass, gradient and Adam. `blob` writes the same function as a network of `LAYERS`, which
files and pages can read: each action's logit is the sum of its chunk's and its type's, so its probability is the
product of the two. `wait` gets a logit that no proposal ever has; the gate waits.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.network.layers import Places, parse
from dshq_kernels.network.places import nearness
from dshq_widget.algorithms.gate.shape import (
    ACTIVATION,
    CHUNK_HIDDEN,
    CHUNKS,
    FIRST,
    LAYERS,
    SECOND,
    SIGNED,
)
from dshq_widget.algorithms.gate.trunk import Layout, Trunk
from dshq_widget.policy.network import PolicySpec

NEVER = -30.0
"""Logit of `wait`: e^-30 of a proposal's probability."""
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam: Kingma and Ba, 2015."""


class PolicyLayout(Layout):
    """The parameters of one network of `LAYERS`. `layers`: names of W and b of what is not a head of one unit; `wt`,
    `bt` are the type's, `wv`, `bv` the reward's.
    """

    def __init__(self, kind: str) -> None:
        self.spec = PolicySpec(LAYERS[kind], ACTIVATION)
        front = self.spec.front if isinstance(self.spec.front, Places) else None
        names = (("wp", "bp"), ("wr", "br"), ("w1", "b1"), ("w2", "b2"), ("wc", "bc"), ("wo", "bo"))
        inputs, own = parse(self.spec.layers)[1][0], front.shapes if front else ()
        chunk_head = () if front else ((SECOND, CHUNK_HIDDEN), (CHUNK_HIDDEN, CHUNKS))
        sizes = [*own, (inputs, FIRST), (FIRST, SECOND), *chunk_head]
        first = 2 - len(own)
        self.layers = names[first : first + len(sizes)]
        heads = {("wt", "bt"): (SECOND, 1), ("wv", "bv"): (SECOND, 1)}
        super().__init__(dict(zip(self.layers, sizes, strict=True)) | heads, front)


LAYOUTS = {kind: PolicyLayout(kind) for kind in LAYERS}
OF_SIZE = {layout.size: layout for layout in LAYOUTS.values()}


class GateNetwork(Trunk):
    """Parameters in one row, f32, with views by name; their number says which network it is."""

    layout: PolicyLayout

    def __init__(self, flat: np.ndarray) -> None:
        super().__init__(flat, OF_SIZE[len(flat)])

    @classmethod
    def initial(cls, seed: int, kind: str = "places") -> GateNetwork:
        """He initialisation (He et al., 2015), biases zero; the reward head and the pulls of places begin at zero."""
        network = cls(np.zeros(LAYOUTS[kind].size, np.float32))
        network.initialise(np.random.default_rng([seed, 0x6A7E]), ("wp", "w1", "w2", "wc", "wo", "wt"))
        return network

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Chunk logits f32 `[n, 400]`, type logits f32 `[n]` (positive: combat), values f32 `[n]` of features f32
        `[n, 28]`, and the hidden layers for `gradient`.
        """
        p, front, hidden = self.views, self.layout.front, self.read(x)
        h2 = hidden["h2"]
        if front:
            near = hidden["near"] = nearness(front)[hidden["cell"]].reshape(len(x), -1, CHUNKS)
            pulls = (hidden["traits"] @ p["wr"] + p["br"]) * hidden["exists"][..., None]
            chunk = (pulls.reshape(len(x), 1, -1) @ near)[:, 0]
        else:
            hidden["hc"] = np.maximum(h2 @ p["wc"] + p["bc"], np.float32(0))
            chunk = hidden["hc"] @ p["wo"] + p["bo"]
        kind = (h2 @ p["wt"] + p["bt"])[:, 0]
        value = (h2 @ p["wv"] + p["bv"])[:, 0]
        return chunk, kind, value, hidden

    def gradient(
        self, hidden: dict[str, np.ndarray], d_chunk: np.ndarray, d_kind: np.ndarray, d_value: np.ndarray
    ) -> np.ndarray:
        """f32, as the parameters: the gradient of a loss, given its derivatives by the outputs of `forward`."""
        p, out = self.views, GateNetwork(np.empty(self.layout.size, np.float32))
        g, h2, d_traits = out.views, hidden["h2"], None
        g["wt"][:, 0], g["bt"][0] = h2.T @ d_kind, d_kind.sum()
        g["wv"][:, 0], g["bv"][0] = h2.T @ d_value, d_value.sum()
        d_h2 = d_kind[:, None] * p["wt"].T + d_value[:, None] * p["wv"].T
        if self.layout.front:
            d_traits = self._pulled_back(g, hidden, d_chunk)
        else:
            hc = hidden["hc"]
            g["wo"][:], g["bo"][:] = hc.T @ d_chunk, d_chunk.sum(0)
            d_hc = (d_chunk @ p["wo"].T) * (hc > 0)
            g["wc"][:], g["bc"][:] = h2.T @ d_hc, d_hc.sum(0)
            d_h2 += d_hc @ p["wc"].T
        self.read_back(g, hidden, d_h2, d_traits)
        return out.flat

    def _pulled_back(self, g: dict[str, np.ndarray], hidden: dict[str, np.ndarray], d_chunk: np.ndarray) -> np.ndarray:
        """Writes the gradient of the pulls into `g`; the derivatives by the traits that they are made of."""
        front, traits = self.layout.front, hidden["traits"]
        assert front is not None
        exists = hidden["exists"][..., None]
        d_pulls = (hidden["near"] @ d_chunk[..., None]).reshape(*traits.shape[:2], front.reaches) * exists
        g["wr"][:], g["br"][:] = np.einsum("npt,npr->tr", traits, d_pulls), d_pulls.sum((0, 1))
        return d_pulls @ self.views["wr"].T

    def blob(self) -> np.ndarray:
        """The same policy as flat weights of a network of `LAYERS`, f32; the last output is the value."""
        p, layout = self.views, self.layout
        parts = [p[name] for pair in layout.layers[: 4 if layout.front else 2] for name in pair]
        return np.concatenate(
            [part.ravel() for part in (*parts, *(self._heads() if layout.front else self._outputs()))]
        )

    def _heads(self) -> list[np.ndarray]:
        """W and b of the last layer behind places: what is said of waiting, energy and combat, and the value."""
        p, zero = self.views, np.zeros((SECOND, 1), np.float32)
        return [np.hstack([zero, zero, p["wt"], p["wv"]]), np.array([NEVER, 0, p["bt"][0], p["bv"][0]], np.float32)]

    def _outputs(self) -> list[np.ndarray]:
        """The last two layers of the source's network, W with b as the last row: chunks and signed heads, actions."""
        p = self.views
        third = np.zeros((SECOND + 1, CHUNK_HIDDEN + SIGNED), np.float32)
        third[:-1, :CHUNK_HIDDEN], third[-1, :CHUNK_HIDDEN] = p["wc"], p["bc"]
        for k, (w, b) in enumerate((("wt", "bt"), ("wv", "bv"))):
            at = CHUNK_HIDDEN + 2 * k
            third[:-1, at], third[-1, at] = p[w][:, 0], p[b][0]
            third[:, at + 1] = -third[:, at]
        last = np.zeros((CHUNK_HIDDEN + SIGNED + 1, 3 * CHUNKS + 1), np.float32)
        last[-1, :CHUNKS] = NEVER
        for kind in (1, 2):
            columns = slice(kind * CHUNKS, (kind + 1) * CHUNKS)
            last[:CHUNK_HIDDEN, columns], last[-1, columns] = p["wo"], p["bo"]
        last[CHUNK_HIDDEN, 2 * CHUNKS : 3 * CHUNKS] = 1
        last[CHUNK_HIDDEN + 1, 2 * CHUNKS : 3 * CHUNKS] = -1
        last[CHUNK_HIDDEN + 2, -1], last[CHUNK_HIDDEN + 3, -1] = 1, -1
        return [third, last]

    @classmethod
    def from_blob(cls, blob: np.ndarray) -> GateNetwork:
        """The inverse of `blob`. Raises ValueError for weights that are not the gate's."""
        layout = next((one for one in LAYOUTS.values() if blob.shape == (one.spec.floats,)), None)
        if layout is None:
            known = " or ".join(f"{one.spec.floats} weights of layers {one.spec.layers}" for one in LAYOUTS.values())
            raise ValueError(f"the gate's network has {known}; got shape {blob.shape}")
        network = cls(np.zeros(layout.size, np.float32))
        g, parts = network.views, layout.spec.split(np.asarray(blob, np.float32))
        shared = layout.layers[: 4 if layout.front else 2]
        for (w, b), part in zip(shared, parts, strict=False):
            g[w][:], g[b][:] = part
        matrix, bias = parts[len(shared)]
        at = (2, 3)
        if not layout.front:
            last, columns, at = parts[-1], slice(CHUNKS, 2 * CHUNKS), (CHUNK_HIDDEN, CHUNK_HIDDEN + 2)
            g["wc"][:], g["bc"][:] = matrix[:, :CHUNK_HIDDEN], bias[:CHUNK_HIDDEN]
            g["wo"][:], g["bo"][:] = last[0][:CHUNK_HIDDEN, columns], last[1][columns]
        for (w, b), k in zip((("wt", "bt"), ("wv", "bv")), at, strict=True):
            g[w][:, 0], g[b][0] = matrix[:, k], bias[k]
        if not np.array_equal(network.blob(), blob):
            raise ValueError(
                "these weights are not those of a gate's policy (chunk and type heads): train with algorithm gate"
            )
        return network


class Adam:
    """Adam on `size` flat parameters, f32."""

    def __init__(self, size: int) -> None:
        self.mean: np.ndarray = np.zeros(size, np.float32)
        self.square: np.ndarray = np.zeros(size, np.float32)
        self.steps = 0

    def restore(self, mean: np.ndarray, square: np.ndarray, steps: int) -> None:
        """Continue with these moments after `steps`."""
        self.mean, self.square, self.steps = mean, square, steps

    def step(self, flat: np.ndarray, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        """The parameters after one step; `flat` stays as it is."""
        self.steps += 1
        self.mean = np.float32(BETA1) * self.mean + np.float32(1 - BETA1) * gradient
        self.square = np.float32(BETA2) * self.square + np.float32(1 - BETA2) * gradient * gradient
        rate = np.float32(learning_rate * np.sqrt(1 - BETA2**self.steps) / (1 - BETA1**self.steps))
        return flat - rate * self.mean / (np.sqrt(self.square) + np.float32(EPSILON))
