"""A network's `layers` with its memory, an LSTM layer behind the hidden ones.

`dshq_kernels/network/layers.py` defines the rest: dense layers, and what may stand in front of them. A memory of n
units is written as -n before the outputs: `(28, 64, -32, 31)`. The kernels play and learn networks without one.

The layer (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; the forget gate of Gers et al., 2000) reads what
the last hidden layer gives, x, and what it gave before, h. Its weights are those of one dense layer from `[x, h]` to
the gates `[i, f, g, o]`, in torch's order, n each: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
The outputs read h'. A memory's state is `[h, c]`, 2 n numbers, all 0 when an episode begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from dshq_kernels.network import layers as feed_forward

GATES = 4


def memory_of(layers: Sequence[int]) -> int:
    """Units of the memory; 0 for a network without one."""
    return -int(layers[-2]) if len(layers) > 3 and layers[-2] < 0 < layers[-3] else 0


def without_memory(layers: Sequence[int]) -> tuple[int, ...]:
    """The same network with no memory between its hidden layers and its outputs."""
    return (*layers[:-2], layers[-1]) if memory_of(layers) else tuple(layers)


def is_network(layers: Sequence[int]) -> bool:
    """Whether these are sizes of a network; in front of a memory there are dense layers alone."""
    units = memory_of(layers)
    return feed_forward.is_network(without_memory(layers)) and not (units and min(layers[:-2]) < 1)


def shapes(layers: Sequence[int]) -> list[tuple[int, int]]:
    """Inputs and outputs of the weights of each layer, those in front first, the memory last but one."""
    units, dense = memory_of(layers), feed_forward.shapes(without_memory(layers))
    if not units:
        return dense
    width, outputs = dense[-1]
    return [*dense[:-1], (width + units, GATES * units), (units, outputs)]
