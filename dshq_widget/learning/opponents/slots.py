"""Policies as opponents, earlier ones or fixed ones: how many play at once, and how other processes get them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import opponent_kind, share_tiles
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import aligned
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import POOL, TrainConfig
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import LINE, WeightSlots

MOST_SLOTS = 8
"""Different earlier policies that play at once; each has at least two tiles, so that it takes both sides (assumed)."""


def pool_slots(config: TrainConfig) -> int:
    """Different earlier policies of the pool that play at once; 0 without a pool."""
    tiles = config.opponents.get(POOL, 0.0) * config.num_envs / LANES
    return int(np.clip(tiles // 2, 1, MOST_SLOTS)) if tiles else 0


def fixed_opponents(config: TrainConfig, spec: GameSpec) -> tuple[str, ...]:
    """The opponents that are one policy each: of the ladder, or a version of the league."""
    others = (POOL, "self", "idle", "random", *spec.baselines)
    return tuple(name for name in config.opponents if name not in others)


def slot_count(config: TrainConfig, spec: GameSpec) -> int:
    """Policies that play at once as opponents: those of the pool, then the fixed ones."""
    return pool_slots(config) + len(fixed_opponents(config, spec))


def opponent_shares(config: TrainConfig, spec: GameSpec) -> dict[int, float]:
    """Shares of the games by the codes of dshq_kernels.play.players; the pool's is split evenly over its slots."""
    slots, fixed = pool_slots(config), fixed_opponents(config, spec)
    scripts = {name: share for name, share in config.opponents.items() if name not in (POOL, *fixed)}
    shares = {opponent_kind(name, spec): share for name, share in scripts.items()}
    shares |= {POLICY - slot: config.opponents[POOL] / slots for slot in range(slots)}
    return shares | {POLICY - slots - k: config.opponents[name] for k, name in enumerate(fixed)}


def left_out(config: TrainConfig, spec: GameSpec) -> str:
    """A sentence on the opponents whose share is too small for a tile of their own, or "" if all play."""
    if spec.sides == 1:
        return ""
    tiles, asked = config.num_envs // LANES, opponent_shares(config, spec)
    kinds = set(share_tiles(tiles, asked).tolist())
    names = {opponent_kind(name, spec): name for name in ("self", "random", "idle", *spec.baselines)}
    pool, fixed = pool_slots(config), fixed_opponents(config, spec)
    names |= {POLICY - slot: POOL for slot in range(pool)} | {POLICY - pool - k: name for k, name in enumerate(fixed)}
    missing = {names[kind]: share for kind, share in asked.items() if share > 0 and kind not in kinds}
    if not missing:
        return ""
    least = LANES * math.ceil(sum(asked.values()) / min(missing.values()))
    return (
        f"{' and '.join(sorted(missing))} will not play: {config.num_envs} games are {tiles} tiles of {LANES}, "
        f"each against one opponent, and so small a share gets none; set num_envs to {least:,} or more"
    )


class TakesOpponents(Protocol):
    """A source that can play some games against other policies."""

    @property
    def parts(self) -> int:
        """Experiences in which all games are played on by one rollout: 1, or one of each process."""
        ...

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """The flat f32 weights of one policy for each slot."""
        ...


class OpponentSlots:
    """One `WeightSlots` for each such policy in a block of shared memory. Make it with `create` or `attach`."""

    def __init__(self, slots: Sequence[WeightSlots]):
        self.slots = list(slots)

    @classmethod
    def create(cls, n_floats: int, count: int) -> tuple[SharedBlock, OpponentSlots]:
        """A new block with empty slots for `count` policies of `n_floats` weights. Raises MemoryError."""
        each = _stride(n_floats)
        block = SharedBlock.create(each * count)
        return block, cls([WeightSlots.create(block, n_floats, k * each) for k in range(count)])

    @classmethod
    def attach(cls, block: SharedBlock, n_floats: int, count: int) -> OpponentSlots:
        """Slots that another process laid out; raises ValueError when they are of another size."""
        return cls([WeightSlots.attach(block, n_floats, k * _stride(n_floats)) for k in range(count)])

    def publish(self, blobs: Sequence[np.ndarray]) -> None:
        """One policy's f32 weights for each slot."""
        for slot, blob in zip(self.slots, blobs, strict=True):
            slot.publish(slot.latest + 1, 0, blob)


class Opponents:
    """The policies that this process's games are played against, in the form used by rollouts."""

    def __init__(self, plan: np.ndarray, count: int):
        self.plan, self.versions = plan, [0] * count
        self.params = aligned((count, mlp.plan_floats(plan))) if count else None  # f32, a padded block per slot

    def set_opponents(self, blobs: Sequence[np.ndarray]) -> None:
        """One policy's f32 weights for each slot."""
        for slot, blob in enumerate(blobs):
            self._take(slot, blob)

    def read(self, source: OpponentSlots, newest: np.ndarray) -> None:
        """Load new policies from shared memory; an empty slot plays the `newest` padded parameters."""
        for slot, reader in enumerate(source.slots):
            found = reader.read(self.versions[slot])
            if found is not None:
                self.versions[slot] = found[0]
                self._take(slot, found[2])
            elif not self.versions[slot] and self.params is not None:
                self.params[slot] = newest

    def _take(self, slot: int, blob: np.ndarray) -> None:
        assert self.params is not None
        mlp.pack(self.plan, blob, self.params[slot])


def _stride(n_floats: int) -> int:
    return -(-WeightSlots.nbytes_for(n_floats) // LINE) * LINE
