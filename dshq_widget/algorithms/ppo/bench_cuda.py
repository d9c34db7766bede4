"""What `dshq bench --device cuda` measures of PPO: self-play alone, and self-play and one epoch in turn."""

from __future__ import annotations

from dshq_widget.algorithms.measured import Measured
from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.cuda.bench import Bench
from dshq_widget.gpu.cuda.costs import Costs, products_of
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.gpu.play import Play
from dshq_widget.policy.network import PolicySpec


def bench(drill: CompiledDrill, on: Bench, precision: str, kernels: bool | None) -> Measured:
    """Agent steps per second; `precision` and `kernels` as in `ResidentPPO`."""
    config = of_drill(drill.spec).replace({"memory": 0})
    graph = on.device.type == "cuda"
    learner = ResidentPPO(
        PolicySpec.for_config(drill.spec, config),
        device=str(on.device),
        precision=precision,
        graph=graph,
        kernels=kernels,
    )
    play = Play(
        CudaGames(drill, on.sizes["games"], on.device),
        learner,
        losses.gae,
        length=on.sizes["length"],
        shares={"self": 1.0},
        graph=graph,
    )
    play.settings(config.gamma, config.gae_lambda)
    hyper, steps = Hyper(minibatch_size=on.sizes["minibatch"]), float(play.rollout.samples)
    rates = {
        "rollout_steps_per_second": on.rate(play.next, steps),
        "ppo_steps_per_second": on.rate(lambda: learner.learn(play.next(), hyper), steps),
    }
    costs = Costs(drill)
    moved, operations, multiplied = costs.step(learner.spec)
    work = {
        "rollout_steps_per_second": (moved, operations, multiplied),
        "ppo_steps_per_second": (moved + costs.sample, operations, 8.0 * products_of(learner.spec)),
    }
    return Measured(rates, work, {"kernels": learner.network is not None})
