"""Ours: PPO on the drill `cartpole` with its own settings, of which `equal` is made, as `Trainer` runs it; and games
alone, `cartpole` or the Ball Drill, whose two players are one against one.

`last_episodes` is the metric `return_mean`, the mean of all episodes that ended in half a second. Evaluations during
training, at most a tenth of the time, are part of the seconds.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers.progress import PAUSE, moment, say, since_start
from benchmarks.peers.settings import EPISODES, OWN, TARGET, arguments
from dshq_widget.cli.bench import simulation
from dshq_widget.env.batch import compiled
from dshq_widget.env.making import make_vec
from dshq_widget.policy.evaluate import evaluate_alone, network
from dshq_widget.runtime.rates import rate
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.trainer import Trainer

DRILLS = {"cartpole": "cartpole", "football": "ball"}
GAMES = 1024


def steps(drill_name: str, seconds: float) -> dict[str, Any]:
    """Environment steps/s of one core: through the vector environment, and of the rules alone."""
    drill = compiled(drill_name)
    env = make_vec(drill, GAMES, opponent="self", autoreset="same_step")
    env.reset(seed=0)
    batch = env.batch
    ready = since_start()
    return {
        "steps_per_second": rate(lambda: env.step(batch.scripted("random").ravel()), GAMES, seconds / 2),
        "rules_per_second": simulation(drill, seconds / 2) / drill.spec.action_repeat,
        "ready_seconds": ready,
        "games": GAMES,
    }


def train(seed: int, seconds: float, solving: bool) -> dict[str, Any]:
    """One training, for `seconds` or until the last episodes were good enough."""
    kept: list[tuple[float, PolicyVersion]] = []
    reached: tuple[float, int] | None = None
    with Trainer("cartpole", seed=seed) as trainer:
        trainer.start()
        while trainer.status != "training":
            check(trainer)
            time.sleep(0.002)
        began, ready = time.perf_counter(), since_start()
        spent, metrics = 0.0, trainer.metrics
        while spent < seconds and reached is None:
            time.sleep(0.01)
            check(trainer)
            policy, metrics = trainer.latest_policy(), trainer.metrics
            spent = time.perf_counter() - began
            if solving and policy.version and (not kept or spent >= kept[-1][0] + PAUSE):
                kept.append((spent, policy))
            if solving and metrics.get("return_mean", 0.0) >= TARGET:
                reached = spent, int(metrics["agent_steps"])
        done = trainer.latest_policy().step
        spent = time.perf_counter() - began
        drill, tuning, config = trainer.drill, trainer.tuning, trainer.config
    found = {
        "agent_steps": done,
        "seconds": spent,
        "ready_seconds": ready,
        "compile_seconds": 0.0,
        "games": config.num_envs,
        "network": "64x64 tanh, apart",
        "hyper": config.to_json(),
        "threads": (tuning or {}).get("threads"),
    }
    if solving:
        found["last_episodes"] = moment(reached)
        found["fresh_episodes"] = moment(first_good(drill, kept))
    return found


def check(trainer: Trainer) -> None:
    if trainer.status == "error":
        raise RuntimeError(trainer.error)


def first_good(drill: Any, kept: list[tuple[float, PolicyVersion]]) -> tuple[float, int] | None:
    """Seconds and agent steps of the first policy that is good enough over 100 fresh episodes."""
    for seed, (spent, policy) in enumerate(kept):
        player = network(policy.layers, policy.activation, policy.weights)
        if evaluate_alone(drill, player, EPISODES, seed=seed)["return_mean"] >= TARGET:
            return spent, policy.step
    return None


def main() -> None:
    options = arguments(__doc__)
    if options.settings != OWN:
        raise SystemExit(
            f"ours has one setting for CartPole, which is everybody's `equal`: use own, not {options.settings}"
        )
    if options.what == "steps":
        say(steps(DRILLS[options.game], options.seconds))
    else:
        say(train(options.seed, options.seconds, options.what == "solve"))


if __name__ == "__main__":
    main()
