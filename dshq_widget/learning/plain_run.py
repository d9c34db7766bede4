"""A run in one process that plays its own games: all that an algorithm brings is a learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.opponents.opposition import opposition
from dshq_widget.learning.parts import Learner
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Companion, Run, announce
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel
from dshq_widget.runtime.slots import WeightSlots

MakeLearner = Callable[[PolicySpec, TrainConfig, Mapping[str, Any]], Learner]
"""`make(spec, config, own)`: a learner of this network; `own` are the algorithm's own settings by key."""


def train(
    channel: Channel,
    job: Mapping[str, Any],
    blocks: Mapping[str, SharedBlock],
    make: MakeLearner,
    companions: Callable[[Learner], tuple[Companion, ...]] = lambda learner: (),
) -> None:
    """Train until the kernel says stop. `channel`, `job` and `blocks` are those of the role (runtime/process.py)."""
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    announce(channel, f"compiling the rules of {drill.spec.title}")
    threads = 1 if config.deterministic else int(job.get("threads") or 1)
    spec = PolicySpec.for_config(drill.spec, config)
    learner, games = make(spec, config, job.get("algorithm_settings") or {}), OwnGames(drill, config, threads)
    Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=learner,
        source=games,
        evaluator=Evaluator(drill, spec, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
        companions=(*opposition(drill, spec, games, config), *companions(learner)),
    ).train({"text": f"training on {threads} thread{'s' * (threads > 1)}", "device": "cpu", "workers": 0})
