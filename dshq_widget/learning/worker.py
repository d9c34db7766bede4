"""A rollout process: plays its share of the games with the newest published policy and writes the samples where the
learner reads them.

Role `dshq_widget.learning.worker:run`. Blocks: `weights` (WeightSlots), `ring` (one Lane per worker, `lane_offset`
apart) and, where earlier policies play, `pool` (OpponentSlots). No torch here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_kernels.network.mlp import ACTIVATIONS, pack
from dshq_kernels.play.loops import STATS
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import seeds
from dshq_widget.learning.opponents.slots import Opponents, OpponentSlots, opponent_shares, slot_count
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.budget import peak_memory_mb
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.priority import Priority
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.ring import Fields, Lane
from dshq_widget.runtime.slots import WeightSlots

CAPACITY = 2
"""Chunks per lane: one being learned from, one being played; more would only make the samples older."""
IDLE_SECONDS = (0.0005, 0.01)
"""Sleep while the lane is full or there is no policy: short, then long (4 % and 0.3 % of a processor, measured)."""


def chunk_fields(units: int, spec: GameSpec, config: TrainConfig) -> Fields:
    """One chunk of the ring: a whole rollout of one worker on a compiled drill."""
    floats = Samples.floats(units, *Samples.sizes(spec, config.memory, config.rollout_length))
    stats = len(STATS) + len(spec.terms)
    return {
        "samples": ("f4", (floats,)),
        "trainable": ("u1", (units,)),  # 1: a unit to learn from; the games' seed decides which ones are not
        "stats": ("f8", (stats,)),
        "memory_mb": ("f8", (1,)),
    }


def make_rollouts(
    drill: CompiledDrill,
    config: TrainConfig,
    games: int,
    seed: int,
    parts: int,
    among: tuple[int, int] | None = None,
) -> Rollouts:
    """The games of one process, started; `among` as in `Rollouts`."""
    spec = drill.spec
    return Rollouts(
        drill.game(),
        spec,
        PolicySpec.for_config(spec, config).layers,
        ACTIVATIONS[config.activation],
        games=games,
        length=config.rollout_length,
        shares=opponent_shares(config, spec),
        seed=seed,
        parts=parts,
        separate=config.separate_value_net,
        among=among,
    )


def tiles_among(games: Sequence[int]) -> list[tuple[int, int]]:
    """For each process, by its number of games, `among` of `Rollouts`: where its tiles begin, and how many all have."""
    ends = np.cumsum(games) // LANES
    return [(int(end) - count // LANES, int(ends[-1])) for end, count in zip(ends, games, strict=True)]


def unpack(packed: Sequence[str], words: int) -> np.ndarray:
    """u32 `[n, words]` of scenes as messages carry them: each a game's state, little-endian, in hex."""
    rows = [np.frombuffer(bytes.fromhex(text), "<u4") for text in packed]
    return np.array(rows, np.uint32).reshape(-1, words)


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Play until stopped."""
    if job.get("gentle"):
        Priority(gentle=True).start()
    drill = CompiledDrill.from_json(job["drill"])
    config = TrainConfig.from_values(job["hyper"])
    games, index = int(job["games"]), int(job["index"])
    seed = seeds.apart(config.seed, index, int(job.get("generation", 0)), int(job["version"]))
    rollouts = make_rollouts(drill, config, games, seed, 1, (job["first_tile"], job["all_tiles"]))
    lane = Lane.attach(
        blocks["ring"],
        chunk_fields(rollouts.units, drill.spec, config),
        int(job["lane_offset"]),
    )
    slots = WeightSlots.attach(blocks["weights"])
    policies = slot_count(config, drill.spec)
    opponents = Opponents(rollouts.plan, policies)
    pool = OpponentSlots.attach(blocks["pool"], slots.n_floats, policies) if "pool" in blocks else None
    rollouts.practise(unpack(job.get("scenes", []), rollouts.scenes.shape[1]))
    version, params = -1, None
    idle = 0
    while not channel.closed:
        for command in channel.poll():
            if command["type"] == "SET_HYPER":
                config = config.replace({command["key"]: command["value"]})
            elif command["type"] == "SCENES":
                rollouts.practise(unpack(command["scenes"], rollouts.scenes.shape[1]))
        found = slots.read(version)
        if found is not None:
            version, params = found[0], pack(rollouts.plan, found[2], params)
        if params is None or not lane.has_room:
            time.sleep(IDLE_SECONDS[idle > 100])
            idle += 1
            continue
        idle = 0
        chunk = lane.reserve()
        if chunk is None:
            continue
        stats = rollouts.new_stats()
        rollouts.weights[:] = drill.term_weights(config.reward_weights)
        rollouts.scene_share = config.scene_share
        samples = Samples.over(chunk.arrays["samples"], rollouts.units, *rollouts.sizes)
        if pool is not None:
            opponents.read(pool, params)
        rollouts.play(
            params,
            samples,
            stats,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            policies=opponents.params,
        )
        rollouts.advance()
        rollouts.mend(samples)
        chunk.arrays["trainable"][:] = 0
        chunk.arrays["trainable"][rollouts.trainable] = 1
        chunk.arrays["stats"][:] = stats
        chunk.arrays["memory_mb"][:] = peak_memory_mb()
        lane.commit(version)
