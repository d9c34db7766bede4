"""PureJaxRL's PPO on CartPole-v1: `purejaxrl/ppo.py` of a checkout, unchanged. `own`: the configuration at its end.
Policy and value are apart, 64 and 64 tanh units.

A training is one compiled program, from the first step to the last: it cannot end early and shows no policies on its
way. When 100 episodes were good enough is read from the returns that it hands out, and the seconds are the training's
share. JAX takes the threads it finds. The games are those of gymnax 0.0.9.
"""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.peers.judge import good_after
from benchmarks.peers.progress import Progress, moment, say
from benchmarks.peers.settings import EQUAL, OWN, SAME, arguments

DEFAULTS: dict[str, Any] = {
    "LR": 2.5e-4,
    "NUM_ENVS": 4,
    "NUM_STEPS": 128,
    "TOTAL_TIMESTEPS": 5e5,
    "UPDATE_EPOCHS": 4,
    "NUM_MINIBATCHES": 4,
    "GAMMA": 0.99,
    "GAE_LAMBDA": 0.95,
    "CLIP_EPS": 0.2,
    "ENT_COEF": 0.01,
    "VF_COEF": 0.5,
    "MAX_GRAD_NORM": 0.5,
    "ACTIVATION": "tanh",
    "ENV_NAME": "CartPole-v1",
    "ANNEAL_LR": True,
    "DEBUG": False,
}
"""As the file has them, without the printing."""
OTHERS = ("brax", "brax.envs", "brax.envs.wrappers", "brax.envs.wrappers.training", "navix")
"""What its wrappers import for other games."""


def configuration(settings: str) -> dict[str, Any]:
    if settings == OWN:
        return dict(DEFAULTS)
    if settings != SAME:
        raise SystemExit(f"PureJaxRL says nothing of CartPole beside its defaults: use own or equal, not {settings}")
    return DEFAULTS | {
        "LR": EQUAL["learning_rate"],
        "NUM_ENVS": EQUAL["games"],
        "NUM_STEPS": EQUAL["steps"],
        "TOTAL_TIMESTEPS": float(EQUAL["agent_steps"]),
        "UPDATE_EPOCHS": EQUAL["epochs"],
        "NUM_MINIBATCHES": EQUAL["games"] * EQUAL["steps"] // EQUAL["minibatch"],
        "GAMMA": EQUAL["gamma"],
        "GAE_LAMBDA": EQUAL["gae_lambda"],
        "ENT_COEF": EQUAL["entropy"],
    }


def load(checkout: str) -> Any:
    """`make_train` of the file."""
    for name in OTHERS:
        sys.modules[name] = types.ModuleType(name)
    sys.modules["brax"].envs = sys.modules["brax.envs"]  # type: ignore[attr-defined]
    training: Any = sys.modules["brax.envs.wrappers.training"]
    training.EpisodeWrapper = training.AutoResetWrapper = object
    sys.path.insert(0, str(Path(checkout) / "purejaxrl"))
    from ppo import make_train

    return make_train


def main() -> None:
    options = arguments(__doc__)
    if options.checkout is None:
        raise SystemExit("PureJaxRL is in no package index: name a clone of it with --checkout")
    make_train, config = load(options.checkout), configuration(options.settings)
    key = jax.random.PRNGKey(options.seed)
    begin = time.perf_counter()
    train = jax.jit(make_train(config)).lower(key).compile()
    compiled = time.perf_counter() - begin
    with Progress(options.seconds, options.what == "solve") as progress:
        out = jax.block_until_ready(train(key))
    progress.spent = time.perf_counter() - progress.began
    games, decisions = config["NUM_ENVS"], int(config["NUM_UPDATES"]) * config["NUM_STEPS"]
    progress.agent_steps = games * decisions
    if options.what == "solve":
        info = {name: np.asarray(array).reshape(decisions, games) for name, array in out["metrics"].items()}
        good = good_after(info["returned_episode"].astype(bool), info["returned_episode_returns"])
        progress.reached = None if good is None else (progress.spent * good / decisions, good * games)
    shown = {key: value for key, value in config.items() if key in DEFAULTS}
    said = progress.result(compile_seconds=compiled, games=games, network="64x64 tanh, apart", hyper=shown)
    say({**said, "ready_seconds": said["ready_seconds"] - compiled, "last_episodes": moment(progress.reached)})


if __name__ == "__main__":
    main()
