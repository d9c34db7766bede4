"""The gate: a trainer that never stops, and a simulation whose judgement of each proposal is the cost function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, one_process
from dshq_widget.algorithms.gate.metrics import METRICS
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import ACTIVATION, CHUNKS, FIELDS, LAYERS, NETWORKS, PROTECTORS, WORKERS
from dshq_widget.contract.curves import Curve
from dshq_widget.contract.game_spec import DrillSpec, GameSpec
from dshq_widget.contract.json_fields import Entry
from dshq_widget.learning.saved import saved_state

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.policy.checkpoint import Checkpoint


def suits(spec: GameSpec) -> None:
    """Raises ValueError for a drill whose state the gate cannot read."""
    fields = {field.name: field.length for field in spec.fields} if isinstance(spec, DrillSpec) else {}
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise ValueError(
            f"the algorithm gate judges spawns of the drill territory; {spec.name!r} has no state {missing[0]!r}: "
            "choose the drill territory, or the algorithm ppo"
        )
    for name, most in (("worker_chunk", WORKERS), ("protector_chunk", PROTECTORS)):
        if fields[name] > most:
            raise ValueError(
                f"the algorithm gate stores {most} numbers of {name!r} with a decision; {spec.name!r} has "
                f"{fields[name]}: choose the drill territory, or the algorithm ppo"
            )


def network(settings: GateSettings) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """See `Algorithm.network`."""
    return NETWORKS[settings.network]


def of_layers(layers: Sequence[int]) -> dict[str, Any]:
    """See `Algorithm.of_layers`."""
    return {"network": "source" if tuple(layers) == LAYERS["source"] else "places"}


def summary(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, and pairs of the first and the last tenth of the run; gate signals are without the exploration bonus."""
    pairs = {"send_share": "send_share", "gate_signal_mean": "gate_signal"}
    return {
        "decisions": metrics.get("agent_steps", 0),
        "training_steps": metrics.get("updates", 0),
        **{key: [metrics.get(f"{name}_first"), metrics.get(f"{name}_last")] for key, name in pairs.items()},
        **{key: metrics.get(key) for key in ("gate_signal_untrained", "send_share_untrained")},
    }


def evaluate(
    drill: CompiledDrill, saved: Checkpoint, episodes: int, seed: int, greedy: bool, against: str
) -> dict[str, Any]:
    """See `Algorithm.evaluate`: the policy's proposals, of which the gate lets some pass."""
    import numpy as np

    from dshq_widget.algorithms.gate.evaluator import play_gated
    from dshq_widget.algorithms.gate.gate import SimulationGate
    from dshq_widget.algorithms.gate.network import GateNetwork
    from dshq_widget.contract import sections
    from dshq_widget.policy.evaluate import summary

    gate = SimulationGate(sections.read(GateSettings, "gate", saved.algorithm_settings))
    policy = GateNetwork.from_blob(saved.weights)
    played = play_gated(drill, policy, gate, episodes, seed=seed, greedy=greedy)
    lengths = np.full(episodes, drill.spec.time_limit // drill.spec.action_repeat)
    return summary(played.returns, lengths, drill.spec.target) | {"gate_signal_mean": float(played.signals.mean())}


TWO_SIDES = "gate judges spawns of the drill territory, which has one side: choose it, or the algorithm ppo"

CURVES = (
    Curve(
        "Proposals sent",
        "Share of the latest proposals that the gate sent. Should rise.",
        {"send_share": "sent"},
        format="percent",
        zero=True,
    ),
    Curve(
        "Gate signal",
        "Mean gate signal of the latest proposals, sent or not: expected reward less the threshold. Should rise.",
        {"gate_signal_mean": "mean"},
        format="signed",
        colour=4,
    ),
    Curve(
        "Predicted reward",
        "Mean prediction for the states of the latest decisions: what it is paid to wait, and to send a parasite.",
        {"predicted_wait": "wait", "predicted_energy": "energy", "predicted_combat": "combat"},
        format="signed",
    ),
)


def memory(spec: GameSpec, config: TrainConfig, settings: GateSettings) -> float:
    """See `Algorithm.memory`: a decision in the buffer (experience.py) takes 257 bytes."""
    return 257.0 * settings.buffer_capacity


ALGORITHM = Algorithm(
    "gate",
    one_process("dshq_widget.algorithms.gate.run:run"),
    settings=GateSettings,
    fixed={"activation": ACTIVATION, "separate_value_net": False},
    network=network,
    of_layers=of_layers,
    reads=("reward_weights",),
    at_start=frozenset({"reward_weights"}),
    metrics=METRICS,
    curves=CURVES,
    summary=summary,
    answers={
        "decisions": Entry("0 or more", "Proposals that the gate judged."),
        "training_steps": Entry("0 or more", "Updates of the gate."),
        "send_share": Entry("[first tenth, last tenth]", "Share of the proposals that it sent."),
        "gate_signal_mean": Entry("[first tenth, last tenth]", "Mean of its reward, without the bonus for exploring."),
    },
    memory=memory,
    evaluate=evaluate,
    suits=suits,
    tensors={
        "train.gate.adam": saved_state.numbers(2, -1, high=saved_state.LARGEST),
        "train.gate.numbers": saved_state.numbers(4, low=0),
        "train.gate.predictor": saved_state.numbers(3, -1, high=saved_state.LARGEST),
        "train.gate.predictor_steps": saved_state.number(0),
        "train.gate.baseline": saved_state.number(-saved_state.MOST),
        "train.gate.rng": saved_state.generator,
        "train.gate.draws": saved_state.generator,
        "train.gate.clock": saved_state.numbers(3),
        "train.gate.rewards": saved_state.numbers(-1),
        "train.gate.pending": saved_state.numbers(-1, 2),
        "train.gate.spawn_chunk": saved_state.numbers(-1, low=0, high=CHUNKS - 1),
        "train.gate.spawn_type": saved_state.numbers(-1, low=0, high=1),
        "train.gate.workers": saved_state.numbers(-1, WORKERS, low=-1, high=CHUNKS - 1),
        "train.gate.protectors": saved_state.numbers(-1, PROTECTORS, low=-1, high=CHUNKS - 1),
        "train.gate.queen_energy": saved_state.numbers(-1, low=-1),
        "train.gate.added": saved_state.number(0),
        "train.gate.capacity": saved_state.number(1),
        "train.gate.history": saved_state.numbers(-1, 3),
        "train.gate.bin": saved_state.number(1),
    },
    refuses={
        "two sides": TWO_SIDES,
        "gym": "gate judges spawns of the drill territory, not environments: choose it, or the algorithm ppo",
        "recurrent": "gate has no networks with memory: leave out --memory",
        "cuda": "gate learns on the CPU, where its small network is fastest: leave out --device cuda",
        "page": "gate does not train in the page: leave out --engine page",
        "joint": "gate learns in one process: leave out --joint",
        "league": TWO_SIDES,
    },
)
