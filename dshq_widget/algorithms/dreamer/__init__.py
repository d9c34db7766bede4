"""DreamerV3 on two-bit frames: a world model learned from replay, and a policy learned in its imagination."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.algorithm import Algorithm, PlayedByProcess, Processes, one_process
from dshq_widget.algorithms.dreamer.metrics import METRICS
from dshq_widget.algorithms.dreamer.model.sizes import FRAME_BYTES, SIZES, acting_floats, suits, update_floats
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract import sections
from dshq_widget.contract.curves import Curve
from dshq_widget.contract.game_spec import Game, GameSpec
from dshq_widget.contract.settings import DEVICES
from dshq_widget.gpu.device import check_device
from dshq_widget.learning.saved import saved_state

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.policy.checkpoint import Checkpoint
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Exit


def threads(config: TrainConfig, job: Mapping[str, Any]) -> int:
    """Half of the processors."""
    from dshq_widget.runtime.machine import Machine

    half = Machine.this(bool(job.get("gentle"))).size // 2
    return 1 if config.deterministic else max(1, min(half, MOST_THREADS))


def needs() -> None:
    """Raises RuntimeError without torch."""
    from dshq_widget.contract.torch_needed import need_torch

    need_torch("the algorithm dreamer")


_alone = one_process("dshq_widget.algorithms.dreamer.run:run", threads, needs)


def start(
    drill: Game,
    config: TrainConfig,
    weights: SharedBlock,
    job: Mapping[str, Any],
    on_message: Callable[[Any, Mapping[str, Any]], None],
    on_exit: Callable[[Any, Exit], None],
) -> Processes:
    """See `algorithm.Start`. Raises RuntimeError with one sentence for a device that is not here."""
    if config.device in DEVICES and not config.deterministic:
        check_device(config.device)
        games = sections.read(DreamerSettings, "dreamer", job.get("algorithm_settings")).games
        if games % LANES:
            raise RuntimeError(
                f"games on a GPU come in tiles of {LANES}: expected a multiple of it, got {games}: choose another "
                "--dreamer-games, or leave out --device"
            )
    return _alone(drill, config, weights, job, on_message, on_exit)


def floats(spec: GameSpec, settings: DreamerSettings) -> int:
    """See `PlayedByProcess`."""
    return acting_floats(SIZES[settings.size], spec.n_actions)


def memory(spec: GameSpec, config: TrainConfig, settings: DreamerSettings) -> float:
    """See `Algorithm.memory`."""
    update = update_floats(SIZES[settings.size], settings.batch * settings.sequence, settings.starts, settings.horizon)
    deter, stoch = settings.memory or (0, 0)
    return (FRAME_BYTES + 2 * deter + stoch) * settings.ring + 4 * 4 * floats(spec, settings) + 4 * update


def evaluate(
    drill: CompiledDrill, saved: Checkpoint, episodes: int, seed: int, greedy: bool, against: str
) -> dict[str, Any]:
    """See `Algorithm.evaluate`."""
    from dshq_widget.contract.torch_needed import need_torch

    need_torch("a policy of the algorithm dreamer")
    from dshq_widget.algorithms.dreamer.saved import evaluate_saved

    return evaluate_saved(drill, saved, episodes, seed, greedy, against)


def ingests(drill: CompiledDrill, seconds: float, guard: bool, device: str) -> dict[str, Any]:
    """See `Algorithm.ingests`."""
    from dshq_widget.contract.torch_needed import need_torch

    need_torch("dshq ingest")
    from dshq_widget.algorithms.dreamer import ingest
    from dshq_widget.algorithms.dreamer.device_actor import own_device

    return ingest.ingest(drill, seconds, guard, device=own_device(device))


def summary(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of replay, and random play beside the policy."""
    return {key: metrics.get(key) for key in ("buffer_size", "replay_ratio", "evaluated_return_random")}


MOST_THREADS = 8
"""Of torch, on half of the processors: threads that wait for one another beside a busy process are many times slower
than one (measured: docs/LOG.md).
"""
LATENTS = "dreamer acts on what its world model makes of frames, not on a drill's observation"

CURVES = (
    Curve(
        "Surprise",
        "How far a frame moves the world model's prediction. Should fall.",
        {"surprise": "nats"},
        colour=4,
        zero=True,
    ),
    Curve(
        "Reconstruction",
        "Squared error of the frames that the world model draws. Should fall.",
        {"loss_image": "error"},
        colour=2,
        log=True,
    ),
)

LEARNED = ("model", "actor", "critic")
"""What has an optimiser of its own."""

ALGORITHM = Algorithm(
    "dreamer",
    start,
    settings=DreamerSettings,
    fixed={"hidden_sizes": (1,), "activation": "tanh", "separate_value_net": False},
    reads=("reward_weights", "deterministic", "device"),
    at_start=frozenset({"reward_weights"}),
    metrics=METRICS,
    curves=CURVES,
    summary=summary,
    memory=memory,
    suits=suits,
    evaluate=evaluate,
    ingests=ingests,
    tensors={
        "train.arrival": saved_state.numbers(5, -1),
        "train.running": saved_state.numbers(-1, -1),
        "train.dreamer.counts": saved_state.numbers(4),
        "train.dreamer.draws": saved_state.generator,
        "train.dreamer.ring.shape": saved_state.numbers(3, low=0),
        **{f"train.dreamer.player.{name}": saved_state.numbers(-1, -1) for name in ("h", "z", "action")},
        **{f"train.dreamer.agent.{part}.steps": saved_state.number(0) for part in LEARNED},
        **{f"train.dreamer.agent.{part}.m": saved_state.numbers(-1) for part in LEARNED},
        **{f"train.dreamer.agent.{part}.v": saved_state.numbers(-1, low=0.0) for part in LEARNED},
        "train.dreamer.agent.slow": saved_state.numbers(-1),
        "train.dreamer.agent.spread": saved_state.numbers(low=0.0),
    },
    played=PlayedByProcess("dshq_widget.algorithms.dreamer.show.process:run", floats, needs),
    refuses={
        "gym": "dreamer draws frames of drills, not of environments: choose a drill, or the algorithm ppo",
        "recurrent": "dreamer always has a memory, its world model: leave out --memory",
        "page": "dreamer does not train in the page: leave out --engine page",
        "joint": "dreamer learns in one process: leave out --joint",
        "onnx": f"{LATENTS}: leave out --onnx",
        "html": f"{LATENTS}: leave out --html",
        "league": "dreamer has no league: its opponent is --dreamer-opponent, a baseline, random or idle",
    },
)
