"""PPO with a person's own network on a drill, in the learner process. Role `dshq_widget.algorithms.ppo.own.run:run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.own import own_network
from dshq_widget.algorithms.ppo.own.games import DrillGames, actions_of
from dshq_widget.algorithms.ppo.own.learner import OwnNormalizer, OwnPPO
from dshq_widget.algorithms.ppo.own.matches import OwnEvaluator
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.opponents.slots import left_out
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run, announce, warn
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped. `job` is made by processes.py; `blocks` are the `weights`."""
    config, drill = TrainConfig.from_values(job["hyper"]), CompiledDrill.from_json(job["drill"])
    threads = int(job.get("threads") or 1)
    spec = own_network(drill.spec, job)
    normal = config.normalize_observations, config.normalize_rewards

    def make_learner() -> OwnPPO:
        options: dict[str, Any] = {"seed": config.seed, "threads": threads, "normalizer": OwnNormalizer(spec, *normal)}
        return OwnPPO(spec, actions_of(drill), "", **options)

    announce(channel, f"compiling the rules of {drill.spec.title}")
    drill.game()
    announce(channel, f"making {spec.name}")
    if why := left_out(config, drill.spec):
        warn(channel, why)
    publisher = Publisher(WeightSlots.attach(blocks["weights"], spec.floats))
    evaluator = OwnEvaluator(drill, spec, config.seed)
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=PPOUpdate(make_learner(), lambda _: None, validate=False),  # torch is the reference
        source=DrillGames(drill, config, publisher.version),
        evaluator=evaluator,
        publisher=publisher,
        companions=(Exploration(),),
    )
    first = make_learner()
    few = DrillGames(drill, config.replace({"num_envs": 64, "rollout_length": 2}))
    played = few.next(first, config.replace({"rollout_length": 2}), 0)
    first.update(played.samples, played.units, Hyper(learning_rate=0.0))  # torch's first calls are slow
    evaluator.warm_up(training.learner.blob())
    where = f"{threads} thread{'s' * (threads > 1)}"
    why = f"{config.num_envs:,} games, decided by {spec.name}"
    tuned = {"workers": 0, "threads": threads, "num_envs": config.num_envs, "why": why}
    text = f"training on {where}, {why}"
    training.train({"text": text, "device": "cpu", "workers": 0, "threads": threads, "tuning": tuned})
