"""PPO on environments written in Python, ours beside Stable-Baselines3's: the same environments of Gymnasium, the same
settings, one core, rounds in turn.

`python -m benchmarks.python_envs CartPole-v1 ...` writes benchmarks/results/python_envs-*.json. `--python` names an
interpreter with stable-baselines3, if it is not this one. Both have 16 environments in the learner's process, 128
decisions of each a rollout, 10 epochs of minibatches of 256, policy and value apart with 64 and 64 tanh units each, and
normalise neither observations nor rewards; both report each episode. Rates are agent steps/s by the clock, and per
second of the processor, of all processes of a run, which other work on the machine changes less. Target (stated before
measuring): at least the rate of Stable-Baselines3 on each.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import psutil

from benchmarks.machine import write
from benchmarks.peers.library import LIBRARIES, Peer
from benchmarks.peers.running import run
from benchmarks.running import parser_of, spread

GAMES, STEPS, EPOCHS, MINIBATCH, RATE, ENTROPY = 16, 128, 10, 256, 1e-3, 0.0
FOREVER = 10**9


def spent() -> float:
    """Processor seconds of this process and its living descendants."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def ours(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """Agent steps and seconds of a run, from the end of its first update to that of a later one."""
    from dshq_widget import Trainer

    given: dict[str, Any] = {"num_envs": GAMES, "rollout_length": STEPS, "epochs": EPOCHS, "minibatch_size": MINIBATCH}
    given |= {"learning_rate": RATE, "entropy_coef": ENTROPY, "hidden_sizes": (64, 64), "separate_value_net": True}
    given |= {"normalize_observations": False, "normalize_rewards": False, "activation": "tanh", "workers": 0}
    given |= {"total_agent_steps": FOREVER, "action_repeat": 1, "action_deviation": "free"}
    with Trainer(f"gym:{name}", seed=seed, **given) as trainer:
        trainer.start()
        first = _next(trainer, 0)
        begin, before = time.perf_counter(), spent()
        time.sleep(seconds)
        done = _next(trainer, trainer.latest_policy().step) - first
        return {"agent_steps": done, "seconds": time.perf_counter() - begin, "processor_seconds": spent() - before}


def _next(trainer: Any, step: int) -> int:
    """Wait for a policy of another step, and return that step."""
    while trainer.latest_policy().step == step:
        if trainer.error:
            raise RuntimeError(trainer.error)
        time.sleep(0.005)
    return int(trainer.latest_policy().step)


def theirs(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """The same of Stable-Baselines3's PPO."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    class Clock(BaseCallback):
        """Reads the time where an update has ended, and stops after `seconds`."""

        began: tuple[int, float, float] | None = None
        found: dict[str, Any]

        def _on_step(self) -> bool:
            return self.began is None or time.perf_counter() - self.began[1] < seconds or self.found["agent_steps"] == 0

        def _on_rollout_start(self) -> None:
            now = self.num_timesteps, time.perf_counter(), spent()
            if self.began is None and self.num_timesteps:
                self.began = now
            if self.began is not None:
                differences = [after - before for after, before in zip(now, self.began, strict=True)]
                self.found = dict(zip(("agent_steps", "seconds", "processor_seconds"), differences, strict=True))

    torch.set_num_threads(1)
    env = make_vec_env(name, n_envs=GAMES, seed=seed)
    given: dict[str, Any] = {"n_steps": STEPS, "batch_size": MINIBATCH, "n_epochs": EPOCHS, "ent_coef": ENTROPY}
    given |= {"learning_rate": RATE, "seed": seed, "device": "cpu"}
    clock = Clock()
    PPO("MlpPolicy", env, **given).learn(FOREVER, callback=clock)
    return clock.found


RUNS = {"ours": ours, "stable_baselines3": theirs}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", metavar="ID", default=["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
    parser.add_argument("--train", choices=RUNS, help="print what one run says of itself, and nothing else")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="of one run")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.train:
        print(json.dumps(RUNS[options.train](options.names[0], options.seconds, options.seed)))
        return
    sb3 = next(library for library in LIBRARIES if library.script == "stable_baselines3")
    rows = []
    for name in options.names:
        found: dict[str, list[dict[str, Any]]] = {who: [] for who in RUNS}
        for seed in range(options.rounds):
            for who in RUNS if seed % 2 else reversed(RUNS):
                python = sys.executable if who == "ours" else options.python
                words = ("-m", "benchmarks.python_envs", name, "--train", who, "--seed", str(seed))
                found[who].append(run(python, *words, "--seconds", str(options.seconds), one_core=True))
        row: dict[str, Any] = {"environment": name, "runs": found}
        for key in ("seconds", "processor_seconds"):
            rates = {who: [one["agent_steps"] / one[key] for one in runs] for who, runs in found.items()}
            row[f"agent_steps_per_{key[:-1]}"] = {who: spread(values) for who, values in rates.items()}
            pairs = [mine / other for mine, other in zip(rates["ours"], rates["stable_baselines3"], strict=True)]
            row[f"ratios_by_{key}"] = pairs
            middle, least, most = statistics.median(pairs), min(pairs), max(pairs)
            print(f"{name:16} by {key:18} {middle:.2f} times ({least:.2f} to {most:.2f})", flush=True)
        rows.append(row)
        result = {"peer": Peer(sb3, options.python, None).versions(), "rows": rows}
        path = write("python_envs", result)
    print(path)


if __name__ == "__main__":
    main()
