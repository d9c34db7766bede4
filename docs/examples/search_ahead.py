"""Rules that can be copied (Maze, Bin Pack, Snake): SPO learns from search, and its policy acts with and without it.

python docs/examples/search_ahead.py maze --seconds 120 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer, evaluate


def learn(drill: str, out: str, episodes: int = 200, settings: dict | None = None, **budget: float) -> dict[str, float]:
    """Train by SPO and save; returns the mean return by way of acting: K particles, DEPTH decisions ahead."""
    with Trainer(drill, algorithm="spo", **settings or {}) as trainer:
        trainer.train_for(**budget)
        trainer.save(out)
    return {
        way: evaluate(out, matches=episodes, search=None if way == "0,0" else way)["return_mean"]
        for way in ("0,0", "4,4", "16,4")
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("drill", nargs="?", default="maze")
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    for way, mean in learn(given.drill, given.out, seconds=given.seconds).items():
        print(f"search {way}: mean return {mean:.2f}")
