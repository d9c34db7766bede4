"""Games whose rules are CUDA kernels, on torch's current stream and on torch's own memory. Numba's simulator
(NUMBA_ENABLE_CUDASIM=1) runs them on tensors of the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play import gae_cuda, settle_cuda
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.games import Estimator
from dshq_widget.gpu.rollout import Rollout


class CudaGames:
    """See `DeviceGames`."""

    turns = "dshq_widget.gpu.cuda.turns:KernelTurns"
    painter = "dshq_widget.gpu.cuda.frames:Painter"

    def __init__(self, drill: CompiledDrill, n: int, device: torch.device):
        self.drill, self.n, self.device = drill, n, device
        if device.type == "cuda" and device.index is not None:
            from numba import cuda

            cuda.select_device(device.index)
        self.game = drill.device_game("cuda")
        self.state = torch.zeros((self.game.words_per_game, n), dtype=torch.int32, device=device)
        self._arrays: dict[tuple[Any, ...], Any] = {}
        self._streams: dict[int, Any] = {}
        self.numba_state = self.array(self.state, np.uint32)
        """The same memory as the rules' kernels take it."""
        self.action = self.state[self.game.rows["action"]]
        self.ticks = self.state[self.game.rows["ticks"].start]
        """Of the games' episodes: i32 `[n]`, in their own memory, as `action` is."""
        self.state_tensors: Sequence[Tensor] = (self.state,)
        self._repeat = drill.spec.action_repeat
        self.follow()

    def array(self, tensor: Tensor, dtype: type | None = None) -> Any:
        """A tensor as numba's kernels take it, over the same memory; `dtype` is what its words are taken for."""
        key = (tensor.data_ptr(), dtype or tensor.dtype, tuple(tensor.shape), tensor.stride())
        if key not in self._arrays:
            self._arrays[key] = shared(tensor, dtype)
        return self._arrays[key]

    def of_games(self, flags: Tensor) -> Tensor:
        return flags

    def follow(self) -> None:
        if self.device.type == "cuda":
            from numba import cuda

            stream = torch.cuda.current_stream(self.device).cuda_stream
            if stream and stream not in self._streams:
                self._streams[stream] = cuda.external_stream(stream)  # numba prepares launches for each stream object
            self.game.queue_on(self._streams[stream] if stream else 0)

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

    def estimate(self, rollout: Rollout, discounts: Tensor, estimator: Estimator) -> None:
        inputs = (rollout.reward, rollout.value, rollout.last_value, rollout.final_value)
        ends = (rollout.terminated.view(torch.uint8), rollout.truncated.view(torch.uint8))
        arrays = (*inputs, *ends, discounts, rollout.advantage, rollout.returns)
        gae_cuda.launch_gae(tuple(map(self.array, arrays)), self.game.stream)


def shared(tensor: Tensor, dtype: type | None = None) -> Any:
    """A tensor's memory as a device array of numba; of the processor, as one of numba's simulator."""
    if tensor.device.type == "cuda":
        from numba import cuda

        found = cuda.as_cuda_array(tensor)
        return found if dtype is None else found.view(dtype)
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    return FakeCUDAArray(tensor.numpy() if dtype is None else tensor.numpy().view(dtype))
