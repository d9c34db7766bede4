"""A world model (Bandit, Paddle Ball): Dreamer sees frames of 72 x 80 pixels in four shades, and nothing else.

python docs/examples/from_pixels.py bandit --seconds 300 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer, evaluate


def learn(drill: str, out: str, episodes: int = 100, own: dict | None = None, **budget: float) -> float:
    """Train Dreamer and save. `own`: settings of section `dreamer`. Returns the mean return."""
    with Trainer(drill, algorithm="dreamer", algorithm_settings={"dreamer": own or {}}) as trainer:
        trainer.train_for(**budget)
        trainer.save(out)
    return evaluate(out, matches=episodes)["return_mean"]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("drill", nargs="?", default="bandit")
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    print(f"mean return {learn(given.drill, given.out, seconds=given.seconds):.2f}")
