"""Ours beside other people's libraries, in one run: simulation of small games, and PPO on CartPole.

`python -m benchmarks.peers --python PATH` where PATH is the interpreter of an environment that has stable-baselines3,
envpool and vmas (they are not dependencies of this project); it writes benchmarks/results/peers-*.json. With
`--purejaxrl CHECKOUT`, a clone of luchris429/purejaxrl, its PPO is measured, too; that environment then needs jax,
flax, optax, distrax and gymnax 0.0.9. Rounds are interleaved, ours and theirs in turn; reported are min, median, max,
and the ratio of medians. An agent step is one decision of one learning side; CartPole has one side. Targets (stated
before measuring): 400 times Stable-Baselines3; 10 times PureJaxRL with networks of the same size. PufferLib is not
among the peers: its source build fetches files from elsewhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.machine import describe, write

PEERS = ("stable-baselines3", "envpool", "vmas", "torch", "jax", "gymnax", "flax")
SB3 = """
import json, time, torch, gymnasium as gym
from stable_baselines3 import PPO
torch.set_num_threads(2)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, batch_size=256, device="cpu", seed=0, verbose=0)
begin = time.perf_counter()
model.learn(20_000)
print(json.dumps(20_000 / (time.perf_counter() - begin)))
"""
ENVPOOL = """
import json, time, numpy as np, envpool
n = 1024
env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=n, num_threads=1)
env.reset()
actions = np.random.default_rng(0).integers(0, 2, (64, n))
for k in range(64): env.step(actions[k])
begin, steps = time.perf_counter(), 0
while time.perf_counter() - begin < 3:
    env.step(actions[steps % 64]); steps += 1
print(json.dumps(steps * n / (time.perf_counter() - begin)))
"""
VMAS = """
import json, time, torch, vmas
torch.set_num_threads(1)
n = 4096
env = vmas.make_env("football", num_envs=n, device="cpu", continuous_actions=True, n_blue_agents=1, n_red_agents=1,
                    ai_red_agents=False, ai_blue_agents=False, observe_teammates=False)
env.reset()
actions = [env.get_random_action(agent) for agent in env.agents]
env.step(actions)
begin, steps = time.perf_counter(), 0
while time.perf_counter() - begin < 5:
    env.step(actions); steps += 1
print(json.dumps(steps * n / (time.perf_counter() - begin)))
"""
PUREJAXRL = """
import json, sys, time, types
for name in ("brax", "brax.envs", "brax.envs.wrappers", "brax.envs.wrappers.training", "navix"):
    sys.modules[name] = types.ModuleType(name)  # its wrappers import them for other games
sys.modules["brax"].envs = sys.modules["brax.envs"]
sys.modules["brax.envs.wrappers.training"].EpisodeWrapper = object
sys.modules["brax.envs.wrappers.training"].AutoResetWrapper = object
sys.path.insert(0, {checkout!r} + "/purejaxrl")
import jax
from ppo import make_train
config = dict(LR=2.5e-4, NUM_ENVS=4, NUM_STEPS=128, TOTAL_TIMESTEPS=5e5, UPDATE_EPOCHS=4, NUM_MINIBATCHES=4, GAMMA=0.99,
              GAE_LAMBDA=0.95, CLIP_EPS=0.2, ENT_COEF=0.01, VF_COEF=0.5, MAX_GRAD_NORM=0.5, ACTIVATION="tanh",
              ENV_NAME="CartPole-v1", ANNEAL_LR=True, DEBUG=False)
key = jax.random.PRNGKey(30)
train = jax.jit(make_train(config)).lower(key).compile()
begin = time.perf_counter()
jax.block_until_ready(train(key))
print(json.dumps(5e5 / (time.perf_counter() - begin)))
"""
OURS_SIMULATION = """
import json
from dshq_widget.cli.bench import simulation
from dshq_widget.env.batch import compiled
drill = compiled({drill!r})
print(json.dumps(simulation(drill, 3) / drill.spec["action_repeat"]))
"""
OURS_TRAINING = """
import json, subprocess, sys
train = [sys.executable, "-m", "dshq_widget.cli", "train", {drill!r}, "--seconds", "5", "--json"]
run = subprocess.run(train, capture_output=True, text=True, check=True)
said = json.loads(run.stdout.splitlines()[-1])
print(json.dumps(said["agent_steps"] / said["seconds"]))
"""


def measure(python: str, code: str) -> float:
    """The number that a script prints last."""
    run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    return float(json.loads(run.stdout.splitlines()[-1]))


def compare(name: str, ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Ours and theirs in turn."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    row: dict[str, Any] = {"what": name}
    for who, values in zip(("ours", "theirs"), zip(*pairs, strict=True), strict=True):
        row[who] = {"min": min(values), "median": statistics.median(values), "max": max(values), "rounds": values}
    ratio = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)
    print(
        f"{name:62} ours {row['ours']['median']:>14,.0f}  theirs {row['theirs']['median']:>12,.0f}  x{ratio:,.0f}",
        flush=True,
    )
    return row | {"ratio_of_medians": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with stable-baselines3, envpool and vmas")
    parser.add_argument("--purejaxrl", help="a checkout of it")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    here, there = sys.executable, arguments.python
    rows = [
        compare(
            "CartPole simulation, one core, against EnvPool (steps/s)",
            lambda: measure(here, OURS_SIMULATION.format(drill="cartpole")),
            lambda: measure(there, ENVPOOL),
            arguments.rounds,
        ),
        compare(
            "two-player soccer simulation, one core, against VMAS football 1v1 (steps/s)",
            lambda: measure(here, OURS_SIMULATION.format(drill="ball")),
            lambda: measure(there, VMAS),
            arguments.rounds,
        ),
        compare(
            "PPO on CartPole, two cores, against Stable-Baselines3 (agent steps/s)",
            lambda: measure(here, OURS_TRAINING.format(drill="cartpole")),
            lambda: measure(there, SB3),
            arguments.rounds,
        ),
    ]
    if arguments.purejaxrl:
        rows.append(
            compare(
                "PPO on CartPole, two cores, networks as PureJaxRL's (agent steps/s)",
                lambda: measure(here, OURS_TRAINING.format(drill="cartpole")),
                lambda: measure(there, PUREJAXRL.format(checkout=arguments.purejaxrl)),
                arguments.rounds,
            )
        )
    versions = (
        "import json, importlib.metadata as m; found = {d.name: d.version for d in m.distributions()}; "
        f"print(json.dumps({{p: found.get(p) for p in {PEERS!r}}}))"
    )
    peers = json.loads(subprocess.run([there, "-c", versions], capture_output=True, text=True, check=True).stdout)
    write("peers", {"machine": describe(), "peers": peers, "rows": rows})


if __name__ == "__main__":
    main()
