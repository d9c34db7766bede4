"""Games of a drill on one device, sharing memory with torch. All kinds have the same interface: tensors with the game
as the last axis, results written to the caller's tensors, no waiting for the device.

`CpuGames` are the compiled rules on the processor; a device of its own brings its games (device.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play import raster
from dshq_kernels.play.loops import KEPT_WORDS
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.places import found_at
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import DEVICES
from dshq_widget.gpu.rollout import Rollout

Estimator = Callable[..., tuple[Tensor, Tensor]]
"""Advantages and returns, as `losses.gae`: what there is where no kernel can run."""


class DeviceGames(Protocol):
    """`n` games of one drill. Tensors that it is given live as long as the games: their addresses may be remembered."""

    drill: CompiledDrill
    n: int
    device: torch.device
    action: Tensor
    """Actions of the next decision: i32 `[sides, n]`, written by the players; new episodes may overwrite it."""
    state: Tensor
    """Every game's words: i32, the games where `of_games` puts them."""
    state_tensors: Sequence[Tensor]
    """What of the games' state lies in tensors: a recording puts it back."""
    turns: str
    """The class of what happens between two decisions, "module:name"; see `turns.Turns`."""
    painter: str
    """The class that draws their frames, "module:name": `Painter(games).draw(out)`, u8 `[n, 1, 72, 20]`."""

    def of_games(self, flags: Tensor) -> Tensor:
        """`[n]`, one of each game, in a shape that broadcasts over `state`."""
        ...

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

    def estimate(self, rollout: Rollout, discounts: Tensor, estimator: Estimator) -> None:
        """Fill in the rollout's advantages and returns; `discounts` are gamma and lambda, f32 `[2]`."""
        ...


def make_games(drill: CompiledDrill, n: int, device: torch.device) -> DeviceGames:
    """Games on a device. Raises ValueError for a number that does not divide by 16, RuntimeError without a GPU."""
    if n % LANES or n < LANES:
        raise ValueError(f"games come in tiles of {LANES}: expected a positive multiple of it, got {n}")
    found = DEVICES.get(device.type)
    made: DeviceGames = CpuGames(drill, n) if found is None else found_at(found.games)(drill, n, device)
    return made


class CpuGames:
    """See `DeviceGames`."""

    device = torch.device("cpu")
    state_tensors: Sequence[Tensor] = ()
    turns = "dshq_widget.gpu.turns:Turns"
    painter = "dshq_widget.gpu.games:CpuPainter"

    def __init__(self, drill: CompiledDrill, n: int):
        self.drill, self.n = drill, n
        self.game = drill.game()
        self.tiles = self.game.new(n // LANES)
        self._words = self.tiles.view(np.uint32).reshape(len(self.tiles), -1, LANES)  # a view, as [tiles, words, 16]
        self.state = torch.from_numpy(self._words.view(np.int32))
        self._repeat = drill.spec.action_repeat
        self.action = torch.zeros((drill.spec.sides, n), dtype=torch.int32)

    def begin(self, keys: NDArray[Any], ticks: NDArray[Any]) -> None:
        self.tiles["rng_key"], self.tiles["rng_count"] = keys.reshape(-1, LANES), 0
        self.tiles["practice"] = 1
        self.game.reset(self.tiles, np.ones((len(self.tiles), LANES), np.uint8))
        self.tiles["ticks"] = ticks.reshape(-1, LANES)

    def of_games(self, flags: Tensor) -> Tensor:
        return flags.view(-1, 1, LANES)

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

    def estimate(self, rollout: Rollout, discounts: Tensor, estimator: Estimator) -> None:
        inputs = (rollout.reward, rollout.value, rollout.last_value, rollout.final_value)
        found = estimator(*inputs, rollout.terminated, rollout.truncated, *discounts.unbind())
        rollout.advantage.copy_(found[0])
        rollout.returns.copy_(found[1])


class CpuPainter:
    """Draws `games` as side 0 sees them."""

    def __init__(self, games: CpuGames):
        self.games, spec = games, games.drill.spec
        self._tones, self._view = raster.shades(spec), raster.view(spec.world)

    def draw(self, out: Tensor) -> None:
        """u8 `[n, 1, 72, 20]`, four pixels to a byte."""
        raster.draw_into(out.numpy(), self.games.game, self.games.tiles, self._tones, self._view)


def _put(out: Tensor, tiles: NDArray[Any]) -> None:
    """`[tiles, ..., 16]` into `[..., n]`."""
    out.numpy()[...] = np.moveaxis(tiles, 0, -2).reshape(out.shape)
