"""PufferLib 3.0's PPO on its own CartPole in C. `own`: its configuration `puffer_cartpole` (2 processes of 4,096 games,
rollouts of 64, Muon, an LSTM of 128 units behind a layer of 128). `equal` has policy and value apart, 64 and 64 tanh
units, Adam, no priorities, and its games in the learner's process; its schedule is a cosine to 0. Its defaults are made
for a GPU; here a processor learns.

Its package builds from source only, and the source as it is fetches libraries of other games. So a checkout, or the
unpacked source package, is prepared by hand, with torch for processors, setuptools and numpy < 2 installed:

    mkdir raylib-5.5_webassembly box2d-web box2d-linux-amd64    # their fetching is skipped where they exist
    find pufferlib/ocean -name binding.c ! -path "*/cartpole/*" -delete
    sed -i "s/MAX_STEPS 200/MAX_STEPS 500/; s/0.08f - 0.04f/0.1f - 0.05f/" pufferlib/ocean/cartpole/cartpole.h
    python setup.py build_ext --inplace                         # without nvcc among the programs
    pip install gymnasium==0.29.1 pettingzoo==1.24.1 "shimmy[gym-v21]" pynvml rich rich_argparse imageio pyro-ppl \
        "heavyball<2" psutil

The third line makes its game CartPole-v1: 500 steps, starts within 0.05. Its reward is 0 at an episode's last step, so
lengths of episodes are read, not returns.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.progress import Progress, say
from benchmarks.peers.settings import EQUAL, FOREVER, OWN, SAME, arguments

WIDTH = 64


class Apart(torch.nn.Module):
    """Policy and value with two hidden layers each, as PufferLib calls a policy."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.hidden_size = WIDTH
        self.actor, self.critic = self.tower(inputs, actions, 0.01), self.tower(inputs, 1, 1.0)

    @staticmethod
    def tower(inputs: int, outputs: int, gain: float) -> torch.nn.Sequential:
        parts: list[torch.nn.Module] = []
        for width, size, scale in ((inputs, WIDTH, 2**0.5), (WIDTH, WIDTH, 2**0.5), (WIDTH, outputs, gain)):
            layer = torch.nn.Linear(width, size)
            torch.nn.init.orthogonal_(layer.weight, scale)
            torch.nn.init.zeros_(layer.bias)
            parts += [layer, torch.nn.Tanh()]
        return torch.nn.Sequential(*parts[:-1])

    def forward(self, observations: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(observations), self.critic(observations)

    forward_eval = forward


def configuration(pufferl: Any, settings: str, seed: int, forever: bool) -> dict[str, Any]:
    """Its own arguments by section."""
    sys.argv = sys.argv[:1]
    found = pufferl.load_config("puffer_cartpole")
    found["train"] |= {"device": "cpu", "seed": seed}
    found["vec"]["seed"] = seed
    if settings == SAME:
        found["vec"] |= {"backend": "Serial", "num_envs": 1, "num_workers": 1, "zero_copy": False}
        found["env"]["num_envs"] = EQUAL["games"]
        found["train"] |= {
            "use_rnn": False,
            "optimizer": "adam",
            "adam_beta1": 0.9,
            "adam_eps": 1e-5,
            "prio_alpha": 0.0,
            "prio_beta0": 1.0,
            "bptt_horizon": EQUAL["steps"],
            "minibatch_size": EQUAL["minibatch"],
            "update_epochs": EQUAL["epochs"],
            "learning_rate": EQUAL["learning_rate"],
            "gamma": EQUAL["gamma"],
            "gae_lambda": EQUAL["gae_lambda"],
            "clip_coef": EQUAL["clip"],
            "ent_coef": EQUAL["entropy"],
            "vf_coef": EQUAL["value"],
            "max_grad_norm": EQUAL["gradient_norm"],
            "total_timesteps": EQUAL["agent_steps"],
        }
    elif settings != OWN:
        raise SystemExit(f"PufferLib says nothing of CartPole beside its defaults: use own or equal, not {settings}")
    if forever:
        found["train"]["total_timesteps"] = FOREVER
    return found


def lengths(stats: dict[str, list[float]]) -> list[float]:
    """Lengths of the episodes that ended, oldest first, from means of several each; empties what it reads."""
    means, counts = stats.pop("episode_length", []), stats.pop("n", [])
    return [mean for mean, count in zip(means, counts, strict=True) for _ in range(int(count))]


def main() -> None:
    options = arguments(__doc__)
    if options.checkout is None:
        raise SystemExit("PufferLib builds from source only: name a built checkout with --checkout")
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    sys.path.insert(0, str(Path(options.checkout).resolve()))
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        from pufferlib import pufferl

        found = configuration(pufferl, options.settings, options.seed, options.what == "rate")
        env = pufferl.load_env("puffer_cartpole", found)
        policy = Apart(4, 2) if options.settings == SAME else pufferl.load_policy(found, env)
        run = pufferl.PuffeRL({**found["train"], "env": "puffer_cartpole"}, env, policy)
        shown = (lambda: layers(policy)) if options.settings == SAME else None
        try:
            with Progress(options.seconds, options.what == "solve") as progress:
                while run.global_step < found["train"]["total_timesteps"]:
                    progress.episodes(lengths(run.evaluate()))
                    run.train()
                    progress.update(run.global_step, shown)
        finally:
            env.close()
            run.utilization.stop()
    network = "64x64 tanh, apart" if options.settings == SAME else "128 GELU and an LSTM of 128"
    hyper = {section: dict(found[section]) for section in ("vec", "env", "train")}
    say(progress.result(games=run.total_agents, network=network, hyper=hyper))


def layers(policy: Apart) -> list[Any]:
    """The policy for the judge."""
    towers = [layer for layer in policy.actor if isinstance(layer, torch.nn.Linear)]
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in towers]


if __name__ == "__main__":
    main()
