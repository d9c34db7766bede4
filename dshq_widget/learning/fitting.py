"""Fits the number of games, and what depends on it, to the processors and the memory of a machine.

Settings chosen by the user or the drill are kept. Of the settings that change what is learned, only the number of games
scales with the processors, and the minibatch with it.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from dshq_kernels.network import mlp
from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.game_spec import DrillSpec, GameSpec
from dshq_widget.contract.settings import DEVICES, TrainConfig, of_drill
from dshq_widget.policy import convolutions
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.budget import MOST_THREADS, most_workers
from dshq_widget.runtime.machine import Machine

FREE = ("num_envs", "rollout_length", "minibatch_size")
"""Settings fitted to the machine unless the user or the drill set them."""
REFERENCE_CPU = 2.0
"""Number of processors on which the defaults were tuned (docs/LOG.md)."""
LEAST_GAMES, MOST_GAMES = 256, 4096
"""Games grow with the square root of the processors, in powers of two: 512 for half a processor, 1,024 for one to
seven, 2,048 for eight. Twice the games took about twice the agent steps to 80 % against the chaser, half of them about
as many (three seeds each, docs/LOG.md): more processors are better spent on more updates than on larger ones.
"""
COPY_BYTES = 16e6
"""Memory of a copy of an environment (assumed; one of Atari takes about as much)."""
SAMPLE_SHARE = 1 / 16
"""Largest share of memory for samples (assumed: the rest is code, network and other processes)."""


def fitted(config: TrainConfig, spec: GameSpec, keep: Collection[str], machine: Machine) -> TrainConfig:
    """`config` with games, minibatch and rollouts for this machine; `keep` are the settings that the user chose. The
    drill's own `training` settings are kept, too: they were tuned together.
    """
    if config.deterministic:
        return config
    base, keep = of_drill(spec), {*keep, *spec.training}
    games, length = config.num_envs, config.rollout_length
    if "num_envs" not in keep:
        doublings = int(math.log2(max(machine.cpu, 0.01) / REFERENCE_CPU) / 2)
        games = int(min(max(base.num_envs * 2.0**doublings, LEAST_GAMES), MOST_GAMES))
        games = _games_within(spec, games, config.memory, machine.memory * SAMPLE_SHARE)
    if "rollout_length" not in keep:
        length = _length_within(spec, games, base.rollout_length, config.memory, machine.memory * SAMPLE_SHARE)
    chosen = {"num_envs": games, "rollout_length": length}
    if not {"num_envs", "minibatch_size"} & keep:
        size = base.minibatch_size * games / base.num_envs
        chosen["minibatch_size"] = max(LANES, int(min(size, games * length * spec.sides)))
    return config.replace(chosen)


def affordable(
    config: TrainConfig, spec: GameSpec, keep: Collection[str], machine: Machine, copies: bool
) -> tuple[TrainConfig, str]:
    """A file's settings without what would fill this machine's memory, and a sentence of what was lowered, or "". It
    may come from a larger machine, or from anybody. `keep` are the settings that the user chose; `copies`: its games
    are copies of an environment.
    """
    changes: dict[str, int] = {}
    most = most_workers(machine.memory)
    if config.workers > most:
        changes["workers"] = most
    games, length = config.num_envs, config.rollout_length
    if copies:
        games = min(games, max(LANES, int(machine.memory / 2 / COPY_BYTES) // LANES * LANES))
    else:
        games = _games_within(spec, games, config.memory, machine.memory / 2)
        length = _length_within(spec, games, length, config.memory, machine.memory / 2)
    changes |= {"num_envs": games, "rollout_length": length}
    lowered = {key: value for key, value in changes.items() if key not in keep and value != getattr(config, key)}
    asked = ", ".join(f"{key}={getattr(config, key)}" for key in lowered)
    given = ", ".join(f"{key}={value}" for key, value in lowered.items())
    said = f"the file asks for {asked}, more than this machine's memory holds: {given} instead" if lowered else ""
    return config.replace(lowered), said


def _games_within(spec: GameSpec, games: int, memory: int, room: float) -> int:
    """`games`, halved until one decision of each fits into `room` bytes; a multiple of 16."""
    while games > LANES and sample_bytes(spec, games, 1, memory) > room:
        games //= 2
    return max(LANES, games // LANES * LANES)


def _length_within(spec: GameSpec, games: int, length: int, memory: int, room: float) -> int:
    """`length`, halved until a rollout of that length fits into `room` bytes."""
    while length > 1 and sample_bytes(spec, games, length, memory) > room:
        length //= 2
    return length


def sample_bytes(spec: GameSpec, games: int, length: int, memory: int = 0) -> int:
    """Upper limit of the memory of one rollout, in bytes: every side of every game learns."""
    units = games // LANES * length * spec.sides
    return 4 * Samples.floats(units, *Samples.sizes(spec, memory, length))


def rollout_bytes(spec: GameSpec, config: TrainConfig, section: object = None) -> float:
    """Memory of one rollout, of the games' states, of the network with its gradient and Adam's moments, and of a
    learning step, in bytes: `Algorithm.memory` of what learns from rollouts.
    """
    states = 4 * spec.words * config.num_envs if isinstance(spec, DrillSpec) else 0
    network = PolicySpec.for_config(spec, config)
    samples = sample_bytes(spec, config.num_envs, config.rollout_length, config.memory)
    return samples + states + 4 * 4 * network.floats + learning_bytes(spec, config, network)


def learning_bytes(spec: GameSpec, config: TrainConfig, network: PolicySpec) -> float:
    """What a learning step takes beside samples and network, in bytes. Where torch learns, or is the reference, it is
    what a minibatch keeps for its gradient: pictures as floats, what each layer gives and its slope, 16 numbers for
    each unit of a memory. Else it is the threads' scratch memory.
    """
    on_device = config.device in DEVICES and not config.memory
    if isinstance(spec, DrillSpec) and not (config.joint or config.validate_every or on_device):
        plan = mlp.make_plan(network.layers, network.separate)
        return 4 * MOST_THREADS * learn_scratch(plan, config.rollout_length if config.memory else 1)
    rows = min(config.minibatch_size, config.num_envs * config.rollout_length * spec.sides)
    pictures = sum(math.prod(one) + convolutions.outputs(one) for one in network.pictures)
    return 4 * rows * (pictures + 2 * sum(n for n in network.layers if n > 0) + 16 * network.memory)
