"""The gate's policy: 28 features -> 32 -> 16, from there a chunk head (32, then 400) and a type head (1).

Small enough for numpy: forward pass, gradient and Adam. `blob` writes the same function as a plain network of layers
`LAYERS`, which every player, file and page of the package can read: each action's logit is the sum of its chunk's and
its type's, so its probability is the product of the two. `wait` gets a logit that no proposal ever has; the gate waits.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dshq_widget.algorithms.gate.shape import CHUNK_HIDDEN, CHUNKS, FIRST, LAYERS, N_FEATURES, SECOND, SIGNED

NEVER = -30.0
"""Logit of `wait`: e^-30 of a proposal's probability."""

SHAPES = {
    "w1": (N_FEATURES, FIRST),
    "b1": (FIRST,),
    "w2": (FIRST, SECOND),
    "b2": (SECOND,),
    "wc": (SECOND, CHUNK_HIDDEN),
    "bc": (CHUNK_HIDDEN,),
    "wo": (CHUNK_HIDDEN, CHUNKS),
    "bo": (CHUNKS,),
    "wt": (SECOND, 1),
    "bt": (1,),
    "wv": (SECOND, 1),
    "bv": (1,),
}
"""Parameters by name, in the order in which they lie in `flat`; `wv`, `bv` are the reward head (17 of 15,234)."""
ENDS = np.cumsum([np.prod(shape) for shape in SHAPES.values()]).tolist()
PLACES = dict(zip(SHAPES, zip([0, *ENDS], ENDS, strict=False), strict=True))
SIZE = ENDS[-1]
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam: Kingma and Ba, 2015."""


class GateNetwork:
    """Parameters in one row, f32 `[15234]`, with views by name."""

    def __init__(self, flat: np.ndarray) -> None:
        self.flat = flat
        self.views: dict[str, np.ndarray] = {}
        for name, (begin, end) in PLACES.items():
            self.views[name] = flat[begin:end].reshape(SHAPES[name])

    @classmethod
    def initial(cls, seed: int) -> GateNetwork:
        """He initialisation (He et al., 2015), biases zero; the reward head begins at zero."""
        rng = np.random.default_rng([seed, 0x6A7E])
        network = cls(np.zeros(SIZE, np.float32))
        for name in ("w1", "w2", "wc", "wo", "wt"):
            view = network.views[name]
            view[:] = rng.standard_normal(view.shape) * np.sqrt(2.0 / len(view))
        return network

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Chunk logits f32 `[n, 400]`, type logits f32 `[n]` (positive: combat), values f32 `[n]` of features f32
        `[n, 28]`, and the hidden layers for `gradient`.
        """
        p, zero = self.views, np.float32(0)
        h1 = np.maximum(x @ p["w1"] + p["b1"], zero)
        h2 = np.maximum(h1 @ p["w2"] + p["b2"], zero)
        hc = np.maximum(h2 @ p["wc"] + p["bc"], zero)
        chunk = hc @ p["wo"] + p["bo"]
        kind = (h2 @ p["wt"] + p["bt"])[:, 0]
        value = (h2 @ p["wv"] + p["bv"])[:, 0]
        return chunk, kind, value, {"x": x, "h1": h1, "h2": h2, "hc": hc}

    def gradient(
        self, hidden: dict[str, np.ndarray], d_chunk: np.ndarray, d_kind: np.ndarray, d_value: np.ndarray
    ) -> np.ndarray:
        """f32 `[15234]`: the gradient of a loss, given its derivatives by the outputs of `forward`."""
        p, out = self.views, GateNetwork(np.empty(SIZE, np.float32))
        g, h1, h2, hc = out.views, hidden["h1"], hidden["h2"], hidden["hc"]
        g["wo"][:], g["bo"][:] = hc.T @ d_chunk, d_chunk.sum(0)
        d_hc = (d_chunk @ p["wo"].T) * (hc > 0)
        g["wc"][:], g["bc"][:] = h2.T @ d_hc, d_hc.sum(0)
        g["wt"][:, 0], g["bt"][0] = h2.T @ d_kind, d_kind.sum()
        g["wv"][:, 0], g["bv"][0] = h2.T @ d_value, d_value.sum()
        d_h2 = d_hc @ p["wc"].T + d_kind[:, None] * p["wt"].T + d_value[:, None] * p["wv"].T
        d_h2 *= h2 > 0
        g["w2"][:], g["b2"][:] = h1.T @ d_h2, d_h2.sum(0)
        d_h1 = (d_h2 @ p["w2"].T) * (h1 > 0)
        g["w1"][:], g["b1"][:] = hidden["x"].T @ d_h1, d_h1.sum(0)
        return out.flat

    def blob(self) -> np.ndarray:
        """The same policy as flat weights of a network of layers `LAYERS`, f32; the last output is the value."""
        p = self.views
        third = np.zeros((SECOND + 1, CHUNK_HIDDEN + SIGNED), np.float32)  # the last row is the bias
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
        parts = (p["w1"], p["b1"], p["w2"], p["b2"], third, last)
        return np.concatenate([part.ravel() for part in parts])

    @classmethod
    def from_blob(cls, blob: np.ndarray) -> GateNetwork:
        """The inverse of `blob`. Raises ValueError for weights that are not the gate's."""
        sizes = [n_in * n_out + n_out for n_in, n_out in pairwise(LAYERS)]
        if blob.shape != (sum(sizes),):
            raise ValueError(f"the gate's network has {sum(sizes)} weights of layers {LAYERS}; got shape {blob.shape}")
        first, second, third, last = np.split(np.asarray(blob, np.float32), np.cumsum(sizes)[:-1])
        third = third.reshape(SECOND + 1, -1)
        last = last.reshape(CHUNK_HIDDEN + SIGNED + 1, -1)
        network = cls(np.zeros(SIZE, np.float32))
        g = network.views
        g["w1"][:], g["b1"][:] = first[:-FIRST].reshape(N_FEATURES, FIRST), first[-FIRST:]
        g["w2"][:], g["b2"][:] = second[:-SECOND].reshape(FIRST, SECOND), second[-SECOND:]
        g["wc"][:], g["bc"][:] = third[:-1, :CHUNK_HIDDEN], third[-1, :CHUNK_HIDDEN]
        g["wo"][:], g["bo"][:] = last[:CHUNK_HIDDEN, CHUNKS : 2 * CHUNKS], last[-1, CHUNKS : 2 * CHUNKS]
        for k, (w, b) in enumerate((("wt", "bt"), ("wv", "bv"))):
            g[w][:, 0], g[b][0] = third[:-1, CHUNK_HIDDEN + 2 * k], third[-1, CHUNK_HIDDEN + 2 * k]
        if not np.array_equal(network.blob(), blob):
            raise ValueError(
                "these weights are not those of a gate's policy (chunk and type heads): train with algorithm gate"
            )
        return network


class Adam:
    """Adam on flat parameters, f32."""

    def __init__(self) -> None:
        self.mean: np.ndarray = np.zeros(SIZE, np.float32)
        self.square: np.ndarray = np.zeros(SIZE, np.float32)
        self.steps = 0

    def step(self, flat: np.ndarray, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        """The parameters after one step; `flat` stays as it is."""
        self.steps += 1
        self.mean = np.float32(BETA1) * self.mean + np.float32(1 - BETA1) * gradient
        self.square = np.float32(BETA2) * self.square + np.float32(1 - BETA2) * gradient * gradient
        rate = np.float32(learning_rate * np.sqrt(1 - BETA2**self.steps) / (1 - BETA1**self.steps))
        return flat - rate * self.mean / (np.sqrt(self.square) + np.float32(EPSILON))
