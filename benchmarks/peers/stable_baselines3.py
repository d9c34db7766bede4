"""Stable-Baselines3's PPO on CartPole-v1. `own`: the defaults of its class, one game. `tuned`: what RL Baselines3 Zoo
found for CartPole-v1 (its `hyperparams/ppo.yml`). Policy and value are apart in all of them, 64 and 64 tanh units.
"""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from benchmarks.peers.progress import Progress, say
from benchmarks.peers.settings import EQUAL, FOREVER, OWN, SAME, TUNED, arguments

SHOWN = ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "vf_coef", "max_grad_norm")


def settings(name: str) -> tuple[int, int, dict[str, Any]]:
    """Games at once, agent steps of the schedules, and PPO's keywords."""
    equal = {
        "n_steps": EQUAL["steps"],
        "batch_size": EQUAL["minibatch"],
        "n_epochs": EQUAL["epochs"],
        "learning_rate": lambda left: EQUAL["learning_rate"] * max(0.1, 1 - 0.9 * (1 - left)),
        "gamma": EQUAL["gamma"],
        "gae_lambda": EQUAL["gae_lambda"],
        "clip_range": EQUAL["clip"],
        "ent_coef": EQUAL["entropy"],
    }
    tuned = {
        "n_steps": 32,
        "batch_size": 256,
        "n_epochs": 20,
        "learning_rate": lambda left: 1e-3 * left,
        "gamma": 0.98,
        "gae_lambda": 0.8,
        "clip_range": lambda left: 0.2 * left,
        "ent_coef": 0.0,
    }
    return {
        OWN: (1, FOREVER, {}),
        SAME: (EQUAL["games"], EQUAL["agent_steps"], equal),
        TUNED: (8, 100_000, tuned),
    }[name]


class Watch(BaseCallback):
    """Tells the clock of episodes, and of updates: a rollout begins where an update has ended."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress

    def _on_step(self) -> bool:
        self.progress.episodes([info["episode"]["r"] for info in self.locals["infos"] if "episode" in info])
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self.progress.update(self.num_timesteps, self._policy)

    def _on_training_end(self) -> None:
        self._on_rollout_start()

    def _policy(self) -> list[Any]:
        policy = self.model.policy
        layers = [policy.mlp_extractor.policy_net[0], policy.mlp_extractor.policy_net[2], policy.action_net]
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(options.threads)
    games, total, keywords = settings(options.settings)
    env = make_vec_env("CartPole-v1", n_envs=games, seed=options.seed)
    model = PPO("MlpPolicy", env, device="cpu", seed=options.seed, verbose=0, **keywords)
    with Progress(options.seconds, options.what == "solve") as progress:
        model.learn(FOREVER if options.what == "rate" else total, callback=Watch(progress))
    shown: dict[str, Any] = {name: getattr(model, name) for name in SHOWN}
    shown |= {"learning_rate": model.lr_schedule(1.0), "clip_range": model.clip_range(1.0), "agent_steps": total}
    say(progress.result(games=games, network="64x64 tanh, apart", hyper=shown))


if __name__ == "__main__":
    main()
