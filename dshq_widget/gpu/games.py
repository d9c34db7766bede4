"""Games of a drill on one device, sharing memory with torch. Both kinds have the same interface: tensors with the game
as the last axis, results written to the caller's tensors, no waiting for the device.

`CudaGames` runs the rules as CUDA kernels on torch's current stream and on torch's own memory; `CpuGames` are the
compiled rules on the processor, so that code for one can be tested with the other. Numba's simulator
(NUMBA_ENABLE_CUDASIM=1) runs `CudaGames` on tensors of the processor.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play import settle_cuda
from dshq_kernels.play.loops import KEPT_WORDS
from dshq_kernels.simd.lanes import LANES
from dshq_widget.drill.compiled import CompiledDrill


class DeviceGames(Protocol):
    """`n` games of one drill. Tensors that it is given live as long as the games: their addresses may be remembered."""

    drill: CompiledDrill
    n: int
    device: torch.device
    action: Tensor
    """Actions of the next decision: i32 `[sides, n]`, written by the players; new episodes may overwrite it."""

    def begin(self, keys: NDArray[Any], ticks: NDArray[Any]) -> None:
        """Practice games from generators seeded u32 `[n]`, each already i32 `[n]` ticks old."""
        ...

    def follow(self) -> None:
        """Queue work on torch's current stream from now on."""
        ...

    def observe(self, out: Tensor) -> None:
        """f32 `[sides, n_obs, n]`."""
        ...

    def terms(self, out: Tensor) -> None:
        """f32 `[sides, n_terms, n]`."""
        ...

    def status(self, out: Tensor) -> None:
        """Terminated (0 or 1), winner (+1, 0, -1) and ticks: i32 `[3, n]`."""
        ...

    def mask(self, out: Tensor) -> None:
        """Which actions are allowed: u8 `[sides, n_actions, n]`, 0 or 1."""
        ...

    def actions(self, who: str, begin: int, out: Tensor, mask: Tensor | None) -> None:
        """Of a baseline or "random", for the games from `begin` on: i32 `[sides, m]`; `begin` and m divide by 16.

        `mask` is what `mask` said of those games, u8 `[sides, n_actions, m]`; None without one.
        """
        ...

    def decide(self, actions: Tensor | None = None) -> None:
        """One decision: what stands in `action`, or these, and then the drill's ticks."""
        ...

    def reset(self, chosen: Tensor) -> None:
        """New episodes where u8 `[n]` is not zero."""
        ...

    def words(self) -> NDArray[Any]:
        """Every game's state, u32 `[n, words]`, on the host: waits for the device."""
        ...

    def restore(self, words: NDArray[Any]) -> None:
        """Restore what `words` returned."""
        ...

    def put(self, chosen: Tensor, drawn: Tensor, share: Tensor, scenes: Tensor) -> None:
        """Where u8 `[n]` is not zero and uniform f32 `drawn`, `[n]`, is below `share`, `[1]`, a game's state becomes
        one of `scenes`, i32 `[words, k]`, all equally likely; generator and purpose apart.
        """
        ...


def make_games(drill: CompiledDrill, n: int, device: torch.device) -> DeviceGames:
    """Games on a device. Raises ValueError for a number that does not divide by 16, RuntimeError without a GPU."""
    if n % LANES or n < LANES:
        raise ValueError(f"games come in tiles of {LANES}: expected a positive multiple of it, got {n}")
    return CudaGames(drill, n, device) if device.type == "cuda" else CpuGames(drill, n)


class CudaGames:
    """See `DeviceGames`."""

    def __init__(self, drill: CompiledDrill, n: int, device: torch.device):
        self.drill, self.n, self.device = drill, n, device
        if device.type == "cuda" and device.index is not None:
            from numba import cuda

            cuda.select_device(device.index)
        self.game = drill.cuda_game()
        self.state = torch.zeros((self.game.words_per_game, n), dtype=torch.int32, device=device)
        self._arrays: dict[tuple[Any, ...], Any] = {}
        self._streams: dict[int, Any] = {}
        self.numba_state = self.array(self.state, np.uint32)
        """The same memory as the rules' kernels take it."""
        self.action = self.state[self.game.rows["action"]]
        self.ticks = self.state[self.game.rows["ticks"].start]
        """Of the games' episodes: i32 `[n]`, in their own memory, as `action` is."""
        self._repeat = drill.spec.action_repeat
        self.follow()

    def array(self, tensor: Tensor, dtype: type | None = None) -> Any:
        """A tensor as numba's kernels take it, over the same memory; `dtype` is what its words are taken for."""
        key = (tensor.data_ptr(), dtype or tensor.dtype, tuple(tensor.shape), tensor.stride())
        if key not in self._arrays:
            self._arrays[key] = shared(tensor, dtype)
        return self._arrays[key]

    def follow(self) -> None:
        if self.device.type == "cuda":
            from numba import cuda

            stream = torch.cuda.current_stream(self.device).cuda_stream
            if stream and stream not in self._streams:
                self._streams[stream] = cuda.external_stream(stream)  # numba prepares launches for each stream object
            self.game.stream = self._streams[stream] if stream else 0

    def begin(self, keys: NDArray[Any], ticks: NDArray[Any]) -> None:
        self.state.zero_()
        self.state[self.game.rows["rng_key"].start] = torch.from_numpy(keys.view(np.int32)).to(self.device)
        self.state[self.game.rows["practice"].start] = 1
        self.reset(torch.ones(self.n, dtype=torch.uint8, device=self.device))
        self.ticks.copy_(torch.from_numpy(ticks))

    def observe(self, out: Tensor) -> None:
        self.game.observe(self.numba_state, self.array(out))

    def terms(self, out: Tensor) -> None:
        self.game.terms(self.numba_state, self.array(out))

    def status(self, out: Tensor) -> None:
        self.game.status(self.numba_state, self.array(out))
        out[2] = self.ticks

    def mask(self, out: Tensor) -> None:
        if self.game.masked:
            out.zero_()
            self.game.mask(self.numba_state, self.array(out))
        else:
            out.fill_(1)

    def actions(self, who: str, begin: int, out: Tensor, mask: Tensor | None) -> None:
        games = self.state[:, begin : begin + out.shape[1]]
        allowed = None if mask is None else self.array(mask)
        self.game.actions(self.array(games, np.uint32), who, self.array(out), allowed)

    def decide(self, actions: Tensor | None = None) -> None:
        if actions is not None:
            self.action.copy_(actions)
        self.game.decide(self.numba_state)
        self.game.tick(self.numba_state, self._repeat)

    def reset(self, chosen: Tensor) -> None:
        self.game.reset(self.numba_state, self.array(chosen))

    def words(self) -> NDArray[Any]:
        return np.ascontiguousarray(self.state.cpu().numpy().T).view(np.uint32)

    def restore(self, words: NDArray[Any]) -> None:
        self.state.copy_(torch.from_numpy(np.array(words.T, order="C").view(np.int32)))

    def put(self, chosen: Tensor, drawn: Tensor, share: Tensor, scenes: Tensor) -> None:
        given = self.array(chosen), self.array(drawn), self.array(share), self.array(scenes, np.uint32)
        self.game.launch(settle_cuda.put, self.n, self.numba_state, *given)


def shared(tensor: Tensor, dtype: type | None = None) -> Any:
    """A tensor's memory as a device array of numba; of the processor, as one of numba's simulator."""
    if tensor.device.type == "cuda":
        from numba import cuda

        found = cuda.as_cuda_array(tensor)
        return found if dtype is None else found.view(dtype)
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    return FakeCUDAArray(tensor.numpy() if dtype is None else tensor.numpy().view(dtype))


class CpuGames:
    """See `DeviceGames`."""

    device = torch.device("cpu")

    def __init__(self, drill: CompiledDrill, n: int):
        self.drill, self.n = drill, n
        self.game = drill.game()
        self.tiles = self.game.new(n // LANES)
        self._words = self.tiles.view(np.uint32).reshape(len(self.tiles), -1, LANES)  # a view, as [tiles, words, 16]
        self._repeat = drill.spec.action_repeat
        self.action = torch.zeros((drill.spec.sides, n), dtype=torch.int32)

    def begin(self, keys: NDArray[Any], ticks: NDArray[Any]) -> None:
        self.tiles["rng_key"], self.tiles["rng_count"] = keys.reshape(-1, LANES), 0
        self.tiles["practice"] = 1
        self.game.reset(self.tiles, np.ones((len(self.tiles), LANES), np.uint8))
        self.tiles["ticks"] = ticks.reshape(-1, LANES)

    def follow(self) -> None:
        """There are no streams."""

    def observe(self, out: Tensor) -> None:
        _put(out, self.game.observe(self.tiles))

    def terms(self, out: Tensor) -> None:
        _put(out, self.game.terms(self.tiles))

    def status(self, out: Tensor) -> None:
        terminated, winner = self.game.status(self.tiles)
        _put(out, np.stack([terminated, winner, self.tiles["ticks"]], axis=1))

    def mask(self, out: Tensor) -> None:
        _put(out, self.game.mask(self.tiles))

    def actions(self, who: str, begin: int, out: Tensor, mask: Tensor | None) -> None:
        _put(out, self.game.actions(self.tiles[begin // LANES : (begin + out.shape[1]) // LANES], who))

    def decide(self, actions: Tensor | None = None) -> None:
        actions = self.action if actions is None else actions
        self.tiles["action"] = actions.numpy().reshape(actions.shape[0], -1, LANES).swapaxes(0, 1)
        self.game.decide(self.tiles)
        self.game.tick(self.tiles, self._repeat)

    def reset(self, chosen: Tensor) -> None:
        self.game.reset(self.tiles, chosen.numpy().reshape(-1, LANES))

    def words(self) -> NDArray[Any]:
        return self.game.words(self.tiles)

    def restore(self, words: NDArray[Any]) -> None:
        self._words[:] = words.reshape(len(self.tiles), LANES, -1).transpose(0, 2, 1)

    def put(self, chosen: Tensor, drawn: Tensor, share: Tensor, scenes: Tensor) -> None:
        where = np.flatnonzero((chosen != 0) & (drawn < share))
        which = (drawn[where] / share * scenes.shape[1]).long().clamp(max=scenes.shape[1] - 1)
        given = scenes[:, which].numpy().view(np.uint32)
        self._words[where // LANES, KEPT_WORDS:, where % LANES] = given[KEPT_WORDS:].T


def _put(out: Tensor, tiles: NDArray[Any]) -> None:
    """`[tiles, ..., 16]` into `[..., n]`."""
    out.numpy()[...] = np.moveaxis(tiles, 0, -2).reshape(out.shape)
