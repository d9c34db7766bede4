"""Gymnasium's environments (classic control, Atari, robots, your own): train, then act in a loop of your own.

python docs/examples/gymnasium_env.py CartPole-v1 --seconds 30 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer, load_policy
from dshq_widget.gyms.making import make


def learn(gym_id: str, out: str, settings: dict | None = None, **budget: float) -> None:
    """Train and save; what suits a family of environments is where training starts (docs/reference/gymnasium.md)."""
    with Trainer(f"gym:{gym_id}", **settings or {}) as trainer:
        trainer.train_for(**budget)
        trainer.save(out)


def play(gym_id: str, path: str, seed: int = 0) -> float:
    """One episode with the policy of a file, in an environment with the wrappers that it was trained with."""
    policy = load_policy(path)
    env = make(gym_id, **policy.environment["made"])
    obs, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action = policy.act(obs, greedy=True, mask=policy.allowed(info))
        obs, reward, terminated, truncated, info = env.step(action)
        total, over = total + float(reward), terminated or truncated
    env.close()
    return total


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("environment", nargs="?", default="CartPole-v1")
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    learn(given.environment, given.out, seconds=given.seconds)
    print(f"return of one episode: {play(given.environment, given.out):.1f}")
