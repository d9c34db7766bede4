"""PPO with a memory on a drill of one side. Role `dshq_widget.algorithms.ppo.recurrent.run:run`.

There is no league. One process plays and learns in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.recurrent.games import RecurrentGames
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import choose_device
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.exploration import Exploration
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.run import Run, announce, warn
from dshq_widget.learning.scene_evaluation import SceneEvaluation, ScenePractice
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel, role
from dshq_widget.runtime.slots import WeightSlots


@role
def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until told to stop; `blocks` are the `weights`."""
    drill, config = CompiledDrill.from_json(job["drill"]), TrainConfig.from_values(job["hyper"])
    threads = int(job.get("threads") or 1)
    announce(channel, f"compiling the rules of {drill.spec['title']} (slow only the first time on a machine)")
    drill.game()
    spec = PolicySpec.for_config(drill.spec, config)
    device = choose_device(
        "cpu" if config.deterministic or config.device != "cuda" else "cuda"
    )  # small: the CPU is fast
    learner, games = make_learner(spec, config, threads, device), RecurrentGames(drill, config, spec)
    training = Run(
        channel,
        job,
        drill=drill,
        config=config,
        spec=spec,
        learner=PPOUpdate(learner, partial(warn, channel), validate=False),  # it is autograd's own
        source=games,
        evaluator=Evaluator(drill, spec, config.seed),
        publisher=Publisher(WeightSlots.attach(blocks["weights"], spec.floats)),
        companions=(Exploration(), ScenePractice(SceneEvaluation(drill, spec, config.seed), games)),
    )
    warm_up(drill, config, spec, device)
    where = "the GPU" if device == "cuda" else f"{threads} thread{'s' * (threads > 1)}"
    text = f"training on {where}, {config.num_envs:,} games in parallel, a memory of {spec.memory} units"
    training.train({"text": text, "device": device, "workers": 0, "threads": threads})


def make_learner(spec: PolicySpec, config: TrainConfig, threads: int = 1, device: str = "cpu") -> RecurrentPPO:
    """The learner of a run with these settings."""
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    return RecurrentPPO(spec, seed=config.seed, threads=threads, device=device, normalizer=normalizer)


def warm_up(drill: CompiledDrill, config: TrainConfig, spec: PolicySpec, device: str) -> None:
    """Play and learn a little, because torch's first calls are slow."""
    config = config.replace({"num_envs": LANES, "rollout_length": 2})
    learner = make_learner(spec, config, device=device)
    played = RecurrentGames(drill, config, spec).next(learner, config, 0)
    learner.update(played.samples, played.units, Hyper(learning_rate=0.0))
