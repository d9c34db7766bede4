"""PPO on a drill, in the learner process: its parts, then the loop. Role `dshq_widget.algorithms.ppo.drill_run:run`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.ppo import compiling, tuning
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper, Learner
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.ring_games import RingGames
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import DEVICES, choose_device, named, why_no_rules
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.games import Games, OwnGames
from dshq_widget.learning.opponents.opposition import opposition
from dshq_widget.learning.opponents.slots import OpponentSlots, left_out, slot_count
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run, announce, warn
from dshq_widget.learning.scenes.evaluation import SceneEvaluation, ScenePractice
from dshq_widget.learning.targets import Targets
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.machine import Machine
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots

if TYPE_CHECKING:
    from dshq_widget.algorithms.ppo.resident_games import ResidentGames


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until stopped. `job` is made by processes.py; `blocks` are `weights` and, with rollout processes,
    `ring` and `pool`.
    """
    ppo = DrillPPO(channel, job)
    training = ppo.compose(blocks)
    ready = ppo.warm_up(training)
    if ready is None:
        channel.send({"type": "ANOTHER_ALLOCATION"})
    else:
        training.train(ready)


class DrillPPO:
    """Builds the parts of one run."""

    def __init__(self, channel: Channel, job: Mapping[str, Any]) -> None:
        self.channel, self.job = channel, job
        self.config = TrainConfig.from_values(job["hyper"])
        self.drill = CompiledDrill.from_json(job["drill"])
        self.threads = int(job.get("threads") or os.environ.get("OMP_NUM_THREADS") or 1)
        self.workers = int(job.get("workers", 0))
        self.device = choose_device("cpu" if self.config.deterministic else self.config.device)
        if self.config.memory and self.device in DEVICES:
            self.device = "cpu"
            if self.config.device in DEVICES:
                warn(channel, "a network with a memory learns on the processor: the GPU's learner has none")
        self.helper = compiling.Helper() if self.device == "cpu" else None
        self.drill.game()
        self.spec = PolicySpec.for_config(self.drill.spec, self.config)

    def _say_compiling(self, part: int, what: str) -> None:
        if compiling.is_compiled():
            announce(self.channel, f"loading {what} ({part} of 2)")
        else:
            announce(self.channel, f"compiling {what} ({part} of 2; slow only the first time on a machine)")

    def compose(self, blocks: Mapping[str, SharedBlock]) -> Run:
        """The run and its parts, resumed if there is something to resume from."""
        announce(self.channel, f"preparing the learner on the {named(self.device)}")
        drill, config, spec = self.drill, self.config, self.spec
        ppo = self.make_learner()
        if why := left_out(config, drill.spec):
            warn(self.channel, why)
        publisher = Publisher(WeightSlots.attach(blocks["weights"], spec.floats))
        source = self._make_source(ppo, blocks)
        training = Run(
            self.channel,
            self.job,
            drill=drill,
            config=config,
            spec=spec,
            learner=PPOUpdate(ppo, partial(warn, self.channel)),
            source=source,
            evaluator=Evaluator(drill, spec, config.seed),
            publisher=publisher,
            companions=(
                Exploration(),
                *opposition(drill, spec, source, config),
                Targets(drill, spec, config.seed),
                ScenePractice(SceneEvaluation(drill, spec, config.seed), source),
            ),
        )
        if self.workers and not training.version:
            training.publish()  # the workers wait for weights
        return training

    def warm_up(self, training: Run) -> dict[str, Any] | None:
        """Play and learn once at a learning rate of 0, so that everything is compiled. Returns the message sent when
        training begins; None if a measurement shows that another allocation is faster.
        """
        if self.device == "cpu":
            self._say_compiling(1, "how games are played")
            waits = partial(self._say_compiling, 1, "how games are played, in another process")
            compiling.play(self.drill, self.config, self.make_learner(), waits)
            self._say_compiling(2, "how it learns")
            compiling.learn(partial(self._say_compiling, 2, "how it learns, in another process"))
            if self.helper is not None:
                self.helper.close()
        games = OwnGames(self.drill, self.config.replace({"num_envs": 64, "rollout_length": 2}), 1)
        learner = self.make_learner()
        played = games.next(learner, self.config, 0)
        learner.update(played.samples, played.units, Hyper(learning_rate=0.0))
        tuned = self._tune(training)
        if tuned is None:
            return None
        assert isinstance(training.evaluator, Evaluator)
        training.evaluator.warm_up(training.learner.blob())
        where = "the GPU" if self.device in DEVICES else f"{self.threads} thread{'s' * (self.threads > 1)}"
        if self.workers:
            where += f" with {self.workers} rollout process{'es' * (self.workers > 1)}"
        text = f"training on {where}, {self.games:,} games in parallel ({tuned['why']})"
        return {
            "text": text,
            "device": self.device,
            "workers": self.workers,
            "threads": self.threads,
            "tuning": tuned,
        }

    @property
    def games(self) -> int:
        """Games that are played side by side."""
        return self.config.num_envs

    def make_learner(self, threads: int = 0) -> Learner:
        """A learner on `threads` threads, or on all of the run's threads."""
        normalizer = Normalizer(self.spec, self.config.normalize_observations, self.config.normalize_rewards)
        options: dict[str, Any] = {
            "seed": self.config.seed,
            "threads": threads or self.threads,
            "normalizer": normalizer,
        }
        if self.device == "cpu":
            return learners["fused"](self.spec, **options)
        return learners["resident"](self.spec, device=self.device, graph=self.device in DEVICES, **options)

    def _make_source(self, learner: Learner, blocks: Mapping[str, SharedBlock]) -> Games:
        if self.workers:
            slots = slot_count(self.config, self.drill.spec)
            pool = OpponentSlots.attach(blocks["pool"], self.spec.floats, slots) if slots else None
            games, offsets = self.job["games"], self.job["lane_offsets"]
            return RingGames(self.drill, self.config, blocks["ring"], games, offsets, pool)
        source, why = own_games(self.drill, self.config, learner, self.device, self.threads)
        if why:
            warn(self.channel, why)
        return source

    def _tune(self, training: Run) -> dict[str, Any] | None:
        """The allocation and the reason for it; measured now if there is a choice and no measurement yet. None if
        another allocation is faster.
        """
        machine, spec = Machine(**self.job["machine"]), self.drill.spec
        if getattr(training.source, "resident", False):
            alone = tuning.report(self.config, machine, None, tuning.Allocation(0, 1))
            return alone | {"why": "the GPU plays and learns"}
        open_choice = tuning.open_choice(self.config, machine)
        rates = tuning.recall(spec, self.config, machine) if open_choice else None
        allocation = tuning.Allocation(self.workers, self.threads)
        if rates is None and open_choice:
            announce(self.channel, "measuring the speed of this machine")
            rates = tuning.measure(
                lambda threads: OwnGames(self.drill, self.config, threads),
                self.make_learner,
                self.config,
                self.threads,
            )
            try:
                tuning.remember(rates, spec, self.config, machine)
            except OSError as error:
                warn(self.channel, f"could not save the measured speed: {error}")
                return tuning.report(self.config, machine, rates, allocation)
            wanted = tuning.choose(self.config, machine, rates)
            if (wanted.workers, wanted.threads) != (self.workers, self.threads):
                return None
        return tuning.report(self.config, machine, rates, allocation)


def own_games(
    drill: CompiledDrill, config: TrainConfig, learner: Learner, device: str, threads: int
) -> tuple[OwnGames | ResidentGames, str]:
    """Games played by the learner's process, and a warning or "". With a GPU learner the games run on the GPU, unless
    the rules cannot run there or the network has a grid or pairs (a grid in torch takes thousands of kernels; pairs are
    untested there).
    """
    if device == "cpu" or learner.spec.front is not None:
        return OwnGames(drill, config, threads), ""
    if why := why_no_rules(device):
        problem = f"games run on the CPU because numba cannot use the GPU ({why}): run `dshq doctor` for details"
        return OwnGames(drill, config, threads), problem
    from dshq_widget.algorithms.ppo.resident_games import ResidentGames  # imports torch

    return ResidentGames(drill, config, learner), ""  # type: ignore[arg-type]  # such a learner is ResidentPPO
