"""SPO's run in the learner process: its parts, then the loop. Role `dshq_widget.algorithms.spo.run:run`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

from dshq_widget.algorithms.spo.evaluation import SearchReport
from dshq_widget.algorithms.spo.games import SearchedGames
from dshq_widget.algorithms.spo.learner import SpoLearner
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.contract import sections
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.opponents.opposition import opposition
from dshq_widget.learning.opponents.slots import left_out
from dshq_widget.learning.own_settings import OwnSettings
from dshq_widget.learning.parts import Progress
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Companion, Run, announce, warn
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped; `blocks` are the `weights`."""
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    settings = sections.read(SpoSettings, "spo", job.get("algorithm_settings"))
    threads = int(job.get("threads") or 1)
    announce(channel, "compiling the search (1 of 2; slow only the first time on a machine)")
    spec = PolicySpec.for_config(drill.spec, config)
    warm_up(drill, config, settings, spec)
    announce(channel, "preparing the replay (2 of 2)")
    games = SearchedGames(drill, config, settings, spec, threads, partial(warn, channel))
    if why := left_out(config, drill.spec):
        warn(channel, why)
    learner = SpoLearner(spec, settings, config.seed, threads)
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=learner,
        source=games,
        evaluator=Evaluator(drill, spec, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
        companions=(
            Exploration(),
            SearchReport(drill, games, config.seed),
            *opposition(drill, spec, games, config),
            new_settings(learner, games),
            Searching(learner),
        ),
    )
    training.evaluator.play(training.learner.blob())  # compiles what is left
    text = (
        f"training on {threads} thread{'s' * (threads > 1)}, {config.num_envs} games; each decision searches with "
        f"{settings.num_particles} particles, {settings.search_depth} decisions deep"
    )
    training.train({"text": text, "device": "cpu", "workers": 0, "threads": threads})


class Searching(Companion):
    """What the searches hear of the run."""

    def __init__(self, learner: SpoLearner) -> None:
        self.learner = learner

    def begin(self, run: Run) -> None:
        """A run that continues explores as much as it did; `Exploration` has begun before."""
        self.learner.explore(run.entropy_bonus)


def warm_up(drill: CompiledDrill, config: TrainConfig, settings: SpoSettings, spec: PolicySpec) -> None:
    """Play and learn a little, so that everything is compiled."""
    few = dataclasses.replace(
        settings, replay_buffer_size=64, sample_sequence_length=2, sample_batch_size=16, sample_period=1
    )
    config = config.replace({"num_envs": 16, "rollout_length": 2})
    learner = SpoLearner(spec, few, 0)
    learner.update(SearchedGames(drill, config, few, spec, 1).next(learner, config, 0), Progress(config, 0, 0))


def new_settings(learner: SpoLearner, games: SearchedGames) -> OwnSettings:
    """Hands changed settings of the section `spo` to the games and the learner."""

    def take(changes: Mapping[str, Any]) -> None:
        settings = dataclasses.replace(learner.settings, **changes)
        games.replay.check_period(settings.sample_period)
        learner.change(settings)
        games.change(settings)

    return OwnSettings("spo", take)
