"""PPO on a Gymnasium environment, in the learner process. Role `dshq_widget.algorithms.ppo.gym_run:run`.

There are no rules, no league and no scenes; training episodes are the evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dshq_widget.algorithms.ppo.gym_games import GymGames, processes
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.own import own_network
from dshq_widget.algorithms.ppo.own.learner import OwnNormalizer, OwnPPO
from dshq_widget.algorithms.ppo.recurrent.gym import RecurrentGymGames, RecurrentGymPPO
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gpu.device import DEVICES, choose_device, named
from dshq_widget.gyms.environment import Environment
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run, announce, warn
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped. `job` is made by processes.py; `blocks` are the `weights`."""
    config = TrainConfig.from_values(job["hyper"])
    environment = Environment.from_json(job["drill"])
    own = own_network(environment.spec, job) if job.get("network") else None
    spec = own or PolicySpec.for_config(environment.spec, config)
    threads = int(job.get("threads") or os.environ.get("OMP_NUM_THREADS") or 1)
    device = choose_device("cpu" if config.deterministic or own else config.device)

    def make_learner() -> GymPPO:
        options: dict[str, Any] = {"seed": config.seed, "threads": threads, "device": device}
        drawn, normal = config.action_distribution, (config.normalize_observations, config.normalize_rewards)
        if own:
            return OwnPPO(own, environment.actions, drawn, normalizer=OwnNormalizer(own, *normal), **options)
        made = RecurrentGymPPO if config.memory else GymPPO
        normalizer = Normalizer(spec, *normal)
        return made(spec, environment.actions, drawn, config.action_deviation, normalizer=normalizer, **options)

    announce(channel, f"preparing the learner on the {named(device)}")
    learner = make_learner()
    publisher = Publisher(WeightSlots.attach(blocks["weights"], spec.floats))
    announce(channel, f"creating {config.num_envs} environments {environment.spec.title}")
    if said := environment.spec.environment.said:
        warn(channel, said)
    workers = processes(environment, config, int(job["processors"]))
    source = RecurrentGymGames if config.memory else GymGames
    games = source(environment, config, workers > 0, publisher.version, device)
    try:
        training = Run(
            channel,
            job,
            drill=environment,
            config=config,
            spec=spec,
            learner=PPOUpdate(learner, lambda _: None, validate=False),  # it is the torch reference
            source=games,
            evaluator=games.episodes,
            publisher=publisher,
            # the entropy of a continuous distribution may be negative, so an entropy floor does not apply
            companions=() if environment.actions.kind == "box" else (Exploration(),),
        )
        played = games.next(learner, config.replace({"rollout_length": 1}), 0)
        make_learner().update(played.samples, played.units, Hyper(learning_rate=0.0))  # torch's first calls are slow
        where = "the GPU" if device in DEVICES else f"{threads} thread{'s' * (threads > 1)}"
        why = f"{config.num_envs} environments {'each in its own process' if workers else 'in one process'}"
        tuned = {"workers": workers, "threads": threads, "num_envs": config.num_envs, "why": why}
        text = f"training on {where}, {why}"
        training.train({"text": text, "device": device, "workers": workers, "threads": threads, "tuning": tuned})
    finally:
        games.close()
