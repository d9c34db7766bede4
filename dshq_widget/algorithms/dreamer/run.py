"""Dreamer's run in the learner process: its parts, then the loop. Role `dshq_widget.algorithms.dreamer.run:run`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from dshq_widget.algorithms.dreamer.device_actor import make_actor, own_device
from dshq_widget.algorithms.dreamer.evaluator import DreamerEvaluator
from dshq_widget.algorithms.dreamer.learner import DreamerLearner, DreamerReport
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.algorithms.dreamer.source import DreamerGames
from dshq_widget.contract import sections
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import DEVICES
from dshq_widget.learning import seeds
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
    settings = sections.read(DreamerSettings, "dreamer", job.get("algorithm_settings"))
    threads = int(job["threads"])
    # "auto" is the processor: no GPU has run this yet
    device = own_device(config.device) if config.device in DEVICES and not config.deterministic else "cpu"
    torch.set_num_threads(threads)
    say = partial(warn, channel)
    announce(channel, f"compiling the rules of {drill.spec.title}")
    actor = make_actor(
        drill,
        settings.games,
        settings.rows,
        device,
        config.seed,
        settings.commit_stride,
        settings.margin,
        settings.memory,
        repeat=settings.repeat,
        reward_scale=settings.reward_scale,
        opponent=settings.opponent,
        weights={**settings.reward_weights, **config.reward_weights},
        gamma=settings.discount,
    )
    announce(channel, f"making a model of size {settings.size}")
    spec = PolicySpec.for_config(drill.spec, config)
    dreamer = Dreamer(settings, drill.spec.n_actions, config.seed, device)
    chance = torch.Generator(device).manual_seed(seeds.apart(config.seed, seeds.ACTIONS))
    player = Player(dreamer, settings.games, chance)
    source = DreamerGames(actor, player, settings, config.seed, say)
    learner = DreamerLearner(dreamer, spec.floats, say, actor.ring)
    acting = WeightSlots.attach(blocks["weights"], offset=job["acting"]) if job.get("acting") else None
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=learner,
        source=source,
        evaluator=DreamerEvaluator(drill, dreamer, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
        companions=(DreamerReport(dreamer, source, acting), new_settings(dreamer, source)),
    )
    if training.version and not learner.restored:
        training.warn("there is no file with the world model: it learns from scratch")
    where = "the GPU" if device in DEVICES else f"{threads} thread{'s' * (threads > 1)}"
    text = f"dreaming: {settings.games} games, size {settings.size}, {where}"
    training.train({"text": text, "device": device, "workers": 0, "threads": threads})


def new_settings(dreamer: Dreamer, games: DreamerGames) -> OwnSettings:
    """Hands changed settings of the section `dreamer` to the games and the model."""

    def take(changes: Mapping[str, Any]) -> None:
        settings = dataclasses.replace(games.settings, **changes)
        dreamer.change(settings)
        games.change(settings)

    return OwnSettings("dreamer", take)
