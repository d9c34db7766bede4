"""The gate's run in the learner process: its parts, then the loop. Role `dshq_widget.algorithms.gate.run:run`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.evaluator import GateEvaluator, proposed
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.learner import GateLearner, GateReport
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import ACTIVATION, LAYERS
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.contract import sections
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.own_settings import OwnSettings
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run, announce, warn
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped; `blocks` are the `weights`."""
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    settings = sections.read(GateSettings, "gate", job.get("algorithm_settings"))
    announce(channel, f"compiling the rules of {drill.spec.title}")
    territories = Territories(drill, settings.territories, config.seed, config.reward_weights)
    spec = PolicySpec(LAYERS[settings.network], ACTIVATION)
    gate, buffer = SimulationGate(settings), ExperienceBuffer(settings.buffer_capacity)
    report = GateReport(proposed(drill, GateNetwork.initial(config.seed, settings.network), gate, seed=config.seed))
    trainer = ContinuousTrainer(buffer, settings, seed=config.seed)
    say = partial(warn, channel)
    games = GateGames(territories, gate, buffer, config.seed, report.heard, say)
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=GateLearner(trainer, config.seed, spec.untrained(config.seed), say),
        source=games,
        evaluator=GateEvaluator(drill, gate, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
        companions=(report, new_settings(trainer, games)),
    )
    training.evaluator.play(training.learner.blob())  # compiles what is left
    clock = "as fast as this machine goes" if settings.clock == "virtual" else "in real time"
    text = f"training continuously, {clock}: a step each {settings.training_interval:g} s, a decision each 15 s"
    training.train({"text": text, "device": "cpu", "workers": 0, "threads": 1})


def new_settings(trainer: ContinuousTrainer, games: GateGames) -> OwnSettings:
    """Hands changed settings of the section `gate` to the trainer and the games, which judge again what is stored."""

    def take(changes: Mapping[str, Any]) -> None:
        settings = dataclasses.replace(trainer.settings, **changes)
        trainer.change(settings)
        games.change(settings)

    return OwnSettings("gate", take)
