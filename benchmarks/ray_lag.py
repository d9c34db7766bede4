"""Which correction old rollouts need: PPO's clip alone, or V-trace, measured by agent steps until a drill is solved.

`python -m benchmarks.ray_lag` writes benchmarks/results/ray_lag-*.json. One process plays with the weights of `lag`
versions ago and learns with the newest ones, as a learner with many nodes does. With `clip` the learner gets what a
node sends: advantages by GAE and probabilities of the policy that played. With `vtrace` it values all samples anew and
corrects returns and advantages by importance ratios cut off at 1 (L. Espeholt et al., "IMPALA", ICML 2018, section 4.1,
with lambda in the traces); the probabilities that the clip compares with are then those before the update (J. Hilton et
al., "Batch size-invariance for policy optimization", 2021). Prediction, stated before measuring: up to a lag of 8 both
are alike; at 64 V-trace needs fewer steps.
"""

from __future__ import annotations

import statistics
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_kernels.network import mlp
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.worker import make_rollouts
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy

LAGS = (0, 8, 32, 64)
DRILLS = ("cartpole", "approach")
EVALUATE_EVERY = 4  # updates


class Steps(NamedTuple):
    """One rollout of a drill of one side, each `[length, units, 16]`; `obs` has n_obs numbers before the 16."""

    obs: np.ndarray
    action: np.ndarray
    log_prob: np.ndarray
    value: np.ndarray
    target: np.ndarray
    """Reward plus what the policy that played expects of the next state."""
    over: np.ndarray


def play(rollouts: Rollouts, drill: CompiledDrill, blob: np.ndarray, config: TrainConfig, length: int) -> Steps:
    """A rollout decision by decision, because the loop of whole rollouts does not say where episodes end."""
    params = mlp.pack(rollouts.plan, blob)
    samples, stats = Samples.new(rollouts.units, *Samples.sizes(drill.spec)), rollouts.new_stats()
    keep, tiles = rollouts.trainable, rollouts.groups[:, [0, 2]].ravel()
    rows = []
    for _ in range(length):
        rollouts.play(params, samples, stats, gamma=config.gamma, gae_lambda=0.0)
        rollouts.advance()
        target, over = samples.advantage + samples.value, rollouts.tiles["ticks"][tiles] == 0
        step = (samples.obs, samples.action, samples.log_prob, samples.value, target, over)
        rows.append([array[keep].copy() for array in step])
    return Steps(*map(np.stack, zip(*rows, strict=True)))


def corrected(steps: Steps, config: TrainConfig, policy: Policy | None) -> tuple[np.ndarray, np.ndarray, Steps]:
    """Advantages and returns, and the steps with what the learner compares with: by GAE, or with the newest `policy` by
    V-trace.
    """
    value, ratio, log_prob = steps.value, np.ones_like(steps.value), steps.log_prob
    if policy is not None:
        flat = np.moveaxis(steps.obs, 2, 3).reshape(-1, steps.obs.shape[2])
        logits, values = policy.forward(flat)
        logits = logits - logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        log_prob = logits[np.arange(len(flat)), steps.action.ravel()].reshape(value.shape).astype(np.float32)
        value = values.reshape(value.shape).astype(np.float32)
        ratio = np.minimum(1.0, np.exp(log_prob - steps.log_prob))
    target, gamma = steps.target.copy(), config.gamma
    inside = ~steps.over[:-1]
    target[:-1] += np.where(inside, gamma * (value[1:] - steps.value[1:]), 0.0)
    advantage, returns, carry = np.empty_like(value), np.empty_like(value), np.zeros_like(value[0])
    for t in reversed(range(len(value))):
        carry = np.where(steps.over[t], 0.0, carry)
        following, delta = carry, target[t] - value[t]
        carry = ratio[t] * (delta + gamma * config.gae_lambda * following)
        returns[t] = value[t] + carry
        weight = gamma * (config.gae_lambda if policy is None else 1.0)
        advantage[t] = ratio[t] * (delta + weight * following)
    return advantage, returns, steps._replace(value=value, log_prob=log_prob)


def learn(name: str, lag: int, vtrace: bool, seed: int, most: int) -> dict[str, Any]:
    """Train until the drill is solved, or for `most` agent steps."""
    drill = compiled(name)
    config = of_drill(drill.spec).replace({"seed": seed})
    spec = PolicySpec.for_config(drill.spec, config)
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    learner = learners["fused"](spec, seed=seed, threads=1, normalizer=normalizer)
    length = config.rollout_length
    rollouts = make_rollouts(drill, config.replace({"rollout_length": 1}), config.num_envs, seed, 1)
    evaluator, late = Evaluator(drill, spec, seed), deque([learner.blob()], maxlen=lag + 1)
    done = updates = 0
    while done < most and not evaluator.solved:
        steps = play(rollouts, drill, late[0], config, length)
        policy = Policy(spec.layers, spec.activation, learner.blob()) if vtrace else None
        advantage, returns, steps = corrected(steps, config, policy)
        rows = steps.action.shape[0] * steps.action.shape[1]
        samples = Samples.new(rows, *Samples.sizes(drill.spec))
        found = (steps.obs, steps.action, steps.log_prob, steps.value, advantage, returns)
        names = ("obs", "action", "log_prob", "value", "advantage", "returns")
        for field, array in zip(names, found, strict=True):
            getattr(samples, field)[:] = array.reshape(rows, *array.shape[2:])
        learner.update(samples, np.arange(rows), Hyper.at(config, done))
        late.append(learner.blob())
        done, updates = done + rows * 16, updates + 1
        if updates % EVALUATE_EVERY == 0:
            evaluator.play(learner.blob())
    returned = evaluator.metrics.get("evaluated_return")
    return {"solved": evaluator.solved, "agent_steps": done, "updates": updates, "last_return": returned}


def main() -> None:
    """Measure and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--drills", nargs="+", default=DRILLS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--agent-steps", type=int, default=3_000_000)
    options = parser.parse_args()
    rows = []
    for name in options.drills:
        for lag in LAGS:
            for correction in ("clip", "vtrace"):
                runs = [
                    learn(name, lag, correction == "vtrace", seed, options.agent_steps) for seed in range(options.seeds)
                ]
                median = statistics.median(run["agent_steps"] for run in runs)
                rows.append({"drill": name, "lag": lag, "correction": correction, "agent_steps": median, "runs": runs})
                solved = sum(run["solved"] for run in runs)
                print(
                    f"{name:10} lag {lag:2} {correction:6} {solved}/{len(runs)} solved, median {median:>10,.0f} steps"
                )
    print(write("ray_lag", {"most_agent_steps": options.agent_steps, "rows": rows}))


if __name__ == "__main__":
    main()
