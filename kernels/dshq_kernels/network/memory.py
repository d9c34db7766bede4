"""A network's memory, the LSTM layer of layers.py: one decision of games as lanes for playing; sequences of decisions
as rows of samples, and backpropagation through time, for learning.

Each of the four gates is padded to whole blocks by itself. Padded units have no weights: their gates are those of 0, so
that they remember 0 and have no slope.
"""

from __future__ import annotations

from dshq_kernels.network.layers import GATES
from dshq_kernels.simd.block import add_block, input_slope_block, play_block, weight_slope_block
from dshq_kernels.simd.elementary import sigmoid, tanh
from dshq_kernels.simd.vector import compiled, fma, load, peek_f32, store, transpose


@compiled
def remember_lanes(sizes, places, source, target, memory):
    """One decision of two units of 16 games.

    `sizes`: inputs, padded units, units. `places`: addresses of the weights of the inputs and of the memory's own
    outputs, and of the biases. `source`: address of the inputs, f32 `[inputs, 2, 16]`. `target`: address of f32 `[4
    padded units, 2, 16]`, whose first rows get what the memory gives. `memory`: see `forward_lanes`; where both units
    are the same one, its state is advanced once.
    """
    inputs, wide, units = sizes
    weights, recall, biases = places
    state, other_state, keep = memory
    row = wide * 16  # bytes of a row of weights: four gates
    for gate in range(GATES):
        for j in range(gate * wide, gate * wide + units, 8):
            play_block(weights + j * 4, row, source, 128, 64, inputs, target + j * 128, 128, 64, biases + j * 4, 0)
            weight_slope_block(
                recall + j * 4, row, state, 64, other_state - state, units, target + j * 128, 128, 64, 0, 0
            )
    for k in range(units):
        for half in range(2 if other_state != state else 1):
            place, at = (other_state if half == 1 else state) + k * 64, target + k * 128 + half * 64
            step = wide * 128
            write = sigmoid(load(at)) * tanh(load(at + 2 * step))
            cell = fma(sigmoid(load(at + step)), load(place + units * 64), write)
            given = sigmoid(load(at + 3 * step)) * tanh(cell)
            store(at, given)
            if keep != 0:
                store(place, given)
                store(place + units * 64, cell)
        if other_state == state:
            store(target + k * 128 + 64, load(target + k * 128))


@compiled
def remember_rows(wide, units, recall, gates, given, cells, steps, length, begins, start):
    """`steps` decisions of 16 games, one after the other.

    `recall`: address of the weights of the memory's own outputs. `gates`: address of what inputs and biases give, f32
    `[steps 16, 4 wide]`; the gates take its place. `given`: address of f32 `[steps 16, wide]` for what the memory
    gives. `cells`: address of f32 `[4, length 16, wide]` for what `recall_slopes` needs: the tangents of the cells, the
    cells, and the outputs and cells before, 0 where an episode begins. `begins`: address of f32 `[16]` of the first
    decision, 1 where an episode begins; the next one's is 128 bytes further, since units alternate between two halves.
    `start`: address of the state before the first decision, f32 `[2 units, 16]`.
    """
    row, part = wide * 4, length * 64 * wide
    tangents, kept, output_before, cell_before = cells, cells + part, cells + 2 * part, cells + 3 * part
    for k in range(0, wide, 16):
        rows = max(0, min(16, units - k))
        transpose(start + k * 64, 64, output_before + k * 4, row, rows)
        transpose(start + (units + k) * 64, 64, cell_before + k * 4, row, rows)
    for t in range(steps):
        at = t * 16 * row
        if t > 0:
            for lane in range(16):
                goes_on = 1.0 - peek_f32(begins + t * 128 + lane * 4)
                here = at + lane * row
                for k in range(0, row, 64):
                    store(output_before + here + k, load(given + here - 16 * row + k) * goes_on)
                    store(cell_before + here + k, load(kept + here - 16 * row + k) * goes_on)
        for j in range(0, 4 * row, 128):
            for r in range(0, 16, 8):
                add_block(
                    output_before + at + r * row,
                    row,
                    recall + j,
                    4 * row,
                    64,
                    units,
                    gates + 4 * at + r * 4 * row + j,
                    4 * row,
                    64,
                    0,
                    0,
                )
        for lane in range(16):
            gate = gates + 4 * (at + lane * row)
            here = at + lane * row
            for k in range(0, row, 64):
                i, f = sigmoid(load(gate + k)), sigmoid(load(gate + row + k))
                g, o = tanh(load(gate + 2 * row + k)), sigmoid(load(gate + 3 * row + k))
                cell = fma(f, load(cell_before + here + k), i * g)
                tangent = tanh(cell)
                store(gate + k, i)
                store(gate + row + k, f)
                store(gate + 2 * row + k, g)
                store(gate + 3 * row + k, o)
                store(kept + here + k, cell)
                store(tangents + here + k, tangent)
                store(given + here + k, o * tangent)


@compiled
def recall_slopes(wide, units, turned, gates, slopes, out, cells, carry, steps, length, begins, gradient):
    """Backpropagation through time (Werbos, 1990) of `remember_rows`.

    `turned`: address of the weights of the memory's own outputs, transposed, f32 `[4 wide, wide]`. `slopes`: address of
    the slopes of what the memory gave, f32 `[steps 16, wide]`. `out`: address of f32 `[steps 16, 4 wide]` for the
    slopes of what inputs and biases gave. `carry`: address of f32 `[2, 16, wide]`. `gradient`: address of the gradient
    of the memory's own weights, f32 `[wide, 4 wide]`, added to. The rest is as in `remember_rows`.
    """
    row, part = wide * 4, length * 64 * wide
    tangents, output_before, cell_before = cells, cells + 2 * part, cells + 3 * part
    of_output, of_cell = carry, carry + 16 * row
    for k in range(0, 32 * row, 64):
        store(carry + k, 0.0)
    for t in range(steps - 1, -1, -1):
        at = t * 16 * row
        for lane in range(16):
            goes_on = 1.0 - (peek_f32(begins + t * 128 + lane * 4) if t > 0 else 0.0)
            here, back = at + lane * row, lane * row
            gate, slope = gates + 4 * here, out + 4 * here
            for k in range(0, row, 64):
                i, f, g, o = load(gate + k), load(gate + row + k), load(gate + 2 * row + k), load(gate + 3 * row + k)
                tangent, pull = load(tangents + here + k), load(slopes + here + k) + load(of_output + back + k)
                cell = fma(pull * o, 1.0 - tangent * tangent, load(of_cell + back + k))
                store(slope + k, cell * g * i * (1.0 - i))
                store(slope + row + k, cell * load(cell_before + here + k) * f * (1.0 - f))
                store(slope + 2 * row + k, cell * i * (1.0 - g * g))
                store(slope + 3 * row + k, pull * tangent * o * (1.0 - o))
                store(of_cell + back + k, cell * f * goes_on)
        for j in range(0, row, 128):
            for r in range(0, 16, 8):
                input_slope_block(
                    out + 4 * at + r * 4 * row,
                    4 * row,
                    turned + j,
                    row,
                    64,
                    4 * wide,
                    of_output + r * row + j,
                    row,
                    64,
                    0,
                    0,
                )
        for lane in range(16):
            goes_on = 1.0 - (peek_f32(begins + t * 128 + lane * 4) if t > 0 else 0.0)
            for k in range(0, row, 64):
                store(of_output + lane * row + k, load(of_output + lane * row + k) * goes_on)
    for j in range(0, 4 * row, 128):
        for k in range(0, units, 8):
            to = gradient + k * 4 * row + j
            weight_slope_block(output_before + k * 4, row, out + j, 4 * row, 64, steps * 16, to, 4 * row, 64, 0, 0)
