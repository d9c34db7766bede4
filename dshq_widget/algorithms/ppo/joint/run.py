"""PPO on a drill by several processes: the run of rank 0. Role `dshq_widget.algorithms.ppo.joint.run:run`.

It is composed like any run on a drill. Its source and its learner tell the other processes what they are about to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from dshq_widget.algorithms.ppo.joint.follow import digest, parts
from dshq_widget.algorithms.ppo.joint.orders import Orders
from dshq_widget.algorithms.ppo.learners.joint import JointPPO, LearnerLost, leave
from dshq_widget.algorithms.ppo.resident_games import ResidentGames
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.opponents.opposition import opposition
from dshq_widget.learning.parts import Experience, Progress, SimpleSource
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Companion, Run, announce, warn
from dshq_widget.learning.scenes.evaluation import SceneEvaluation, ScenePractice
from dshq_widget.learning.telemetry.report import merge
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, ElsewhereError, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped; `blocks` are the `weights`. If another process ends, it fails with a sentence."""
    try:
        lead(channel, job, blocks)
    except LearnerLost as error:
        raise ElsewhereError(str(error)) from error


def lead(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """The run. Raises LearnerLost."""
    place = Place.of()
    announce(channel, f"waiting for the other {place.size - 1} of {place.size} processes")
    orders = Orders(place)
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    slots = WeightSlots.attach(blocks["weights"])
    orders.give("BEGIN", drill=job["drill"], hyper=job["hyper"], version=slots.latest)
    announce(channel, "compiling the learner (slow only the first time on a machine)")
    ppo, own = parts(place, drill, config, slots.latest)
    source = LeadingGames(own, orders)
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=ppo.spec,
        learner=LeadingUpdate(ppo, partial(warn, channel), orders),
        source=source,
        evaluator=Evaluator(drill, ppo.spec, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], ppo.spec.floats)),
        companions=(
            Exploration(),
            *opposition(drill, ppo.spec, source, config),
            ScenePractice(SceneEvaluation(drill, ppo.spec, config.seed), source),
            Rests(orders),
        ),
    )
    where = f"{place.size} {'processes' if ppo.device.type == 'cpu' else 'GPUs'}"
    text = f"training one network on {where}, {config.num_envs:,} games on each"
    training.train({"text": text, "device": ppo.device.type, "workers": 0, "threads": 1})
    orders.give("END")
    if len(set(orders.gather(digest(ppo.blob())))) > 1:
        raise RuntimeError("the joint learners ended with different weights: please report this as a defect")
    leave()


class LeadingGames(SimpleSource):
    """The games of rank 0, and those of the others as far as counts and steps go; see `ResidentGames`."""

    parts, resident = 1, True

    def __init__(self, own: ResidentGames, orders: Orders) -> None:
        self.own, self.orders = own, orders

    def next(self, learner: JointPPO, config: TrainConfig, version: int) -> Experience:
        """Play one rollout everywhere; `units` and `stats` are those of all processes."""
        self.orders.give("PLAY", hyper=config.to_json())
        played = self.own.next(learner, config, version)
        stats = merge(self.orders.gather(played.stats))
        return Experience(played.samples, np.arange(len(played.units) * self.orders.place.size), stats)

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """See `ResidentGames.set_opponents`."""
        self.orders.give("OPPONENTS", policies=list(policies))
        self.own.set_opponents(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """See `ResidentGames.practise`."""
        self.orders.give("SCENES", scenes=scenes)
        self.own.practise(scenes)

    def mend(self, samples: object) -> None:
        """See `ResidentGames.mend`."""
        self.orders.give("MEND")
        self.own.mend(samples)

    def state(self) -> dict[str, np.ndarray]:
        """Of rank 0's games; those of the others start over in a continuation."""
        return self.own.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned."""
        self.own.restore(state)


class Rests(Companion):
    """Lets the others rest as long as rank 0 does."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders

    def resting(self, run: Run) -> None:
        self.orders.rest()


class LeadingUpdate(PPOUpdate):
    """The learner of rank 0, whose every change the others make, too."""

    def __init__(self, ppo: JointPPO, warn: Any, orders: Orders) -> None:
        super().__init__(ppo, warn, validate=False)
        self.orders = orders

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        self.orders.give("LEARN", hyper=asdict(self.hyper(progress)))
        return super().update(experience, progress)

    def load(self, blob: np.ndarray) -> None:
        self.orders.give("LOAD", blob=blob)
        super().load(blob)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if "adam_m" in state:  # as in PPOUpdate: a file may hold the weights alone
            own = {name: state[name] for name in state if name.startswith(("adam", "generator", "normalizer"))}
            self.orders.give("RESTORE", state=own)
        super().restore(state)
