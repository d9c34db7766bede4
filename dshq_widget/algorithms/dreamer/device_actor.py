"""The actor on a device: rows on a stream of its own, frames drawn straight into the ring, events between it and the
learner, and not one wait of the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_widget.algorithms.dreamer.actor import Actor, Choose, Memory, check_fit
from dshq_widget.algorithms.dreamer.device_games import DeviceFrameGames
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.model.sizes import STRIDE
from dshq_widget.algorithms.dreamer.model.tensors import continue_chance
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import choose_device, why_no_rules
from dshq_widget.learning import seeds
from dshq_widget.pixels.commits import CommitManager
from dshq_widget.pixels.hot_path import hot_path
from dshq_widget.pixels.ring import ReplayRing, ReplayRingCUDA

CHANCE = "train.dreamer.device_draws"


class DeviceActor(Actor):
    """See `Actor`; `stream` is the actor's own, None where there are none.

    Inside of `turn()` rows run beside what the learner has on its stream, the one that is current. What is sampled
    there waits for a commit. Player and learner share the weights, so that a turn begins after the learner's last work
    and the learner's next work begins after the turn.
    """

    games: Any

    def __init__(
        self,
        games: DeviceFrameGames,
        ring: ReplayRing,
        seed: int,
        commits: CommitManager | None = None,
        stream: Any = None,
    ) -> None:
        """Raises ValueError where games and ring do not belong together."""
        check_fit(games.n, ring)
        self.games, self.ring, self.stream = games, ring, stream
        self.commits = commits or CommitManager(STRIDE, STRIDE, ring.device)
        self.chance = torch.Generator(ring.device).manual_seed(seeds.apart(seed, seeds.RANDOM))

    @contextmanager
    def turn(self) -> Iterator[None]:
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())
        with hot_path():
            yield
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    def random(self, frames: Tensor, is_first: Tensor) -> Tensor:
        n_actions, n = self.games.n_actions, self.games.n
        return torch.randint(n_actions, (n,), generator=self.chance, device=frames.device)

    def step(self, choose: Choose, memory: Memory | None = None) -> Tensor:
        """One row, put on the actor's stream. Returns the games' stats f64, on the device."""
        games, ring = self.games, self.ring
        with nullcontext() if self.stream is None else torch.cuda.stream(self.stream):
            slot, arrival = ring.obs_slot(), games.arrival
            games.draw(slot)
            action = choose(slot, arrival.is_first)
            ring.remember(memory() if memory and ring.remembered else None)
            t = ring.push_step(
                action.to(torch.int32), arrival.reward, arrival.is_first, arrival.continues, arrival.episode_id
            )
            self.commits.mark_written(t, self.stream)
            return games.step(action)

    def on_host(self, stats: list[Any]) -> list[NDArray[Any]]:
        """Waits for the device."""
        return list(torch.stack(stats).cpu().numpy())

    def state(self) -> dict[str, NDArray[Any]]:
        return self.games.state() | {CHANCE: self.chance.get_state().numpy().copy()}

    def restore(self, state: Mapping[str, Any]) -> bool:
        if not self.games.restore(state):
            return False
        if CHANCE in state:
            continue_chance(self.chance, torch.from_numpy(state[CHANCE].copy()))
        self.commits.continue_after(self.ring.total)
        return True


def make_actor(
    drill: CompiledDrill,
    n: int,
    rows: int,
    device: str,
    seed: int,
    stride: int = STRIDE,
    margin: int = STRIDE,
    memory: tuple[int, int] | None = None,
    **how: Any,
) -> Actor:
    """An actor of `n` games with an empty ring of `rows` steps on "cpu" or "cuda"; `memory` is that of the ring, `how`
    are keywords of `FrameGames`. Raises ValueError and RuntimeError as the games and the ring do.
    """
    commits = CommitManager(stride, margin, device)
    if device == "cpu":
        return Actor(FrameGames(drill, n, seed, **how), ReplayRing(rows, n, memory=memory), seed, commits)
    games = DeviceFrameGames(drill, n, torch.device(device), seed, **how)
    ring = ReplayRingCUDA(rows, n, device, memory)
    ring.assert_alignment()
    return DeviceActor(games, ring, seed, commits, torch.cuda.Stream())


def own_device(wanted: str) -> str:
    """ "cpu" or "cuda" for the setting `device`; "auto" takes a GPU that can play. Raises RuntimeError for one that was
    asked for and cannot be used.
    """
    device = choose_device(wanted)
    why = why_no_rules(device)
    if why and wanted == device:
        raise RuntimeError(f"device={device} is set, but games cannot run there ({why}): leave out --device {device}")
    return "cpu" if why else device
