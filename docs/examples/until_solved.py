"""One side (Approach, Paddle Ball, CartPole, Snake, Bandit, Lamp): train until the drill counts as solved.

python docs/examples/until_solved.py cartpole --seconds 120 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer, drills, evaluate


def solve(drill: str, out: str, episodes: int = 500, settings: dict | None = None, **budget: float) -> dict:
    """Train until the drill's target, or for the whole budget, and save; returns the evaluation."""
    with Trainer(drill, **settings or {}) as trainer:
        trainer.train_for(until_solved=True, **budget)
        trainer.save(out)
        trained = trainer.metrics
    return {"agent_steps": trained.get("agent_steps", 0), **evaluate(out, matches=episodes)}


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("drill", nargs="?", default="cartpole")
    options.add_argument("--seconds", type=float, default=120, help="at most")
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    found = solve(given.drill, given.out, seconds=given.seconds)
    target = drills.drills[given.drill].target
    print(f"mean return {found['return_mean']:.2f} after {found['agent_steps']:,.0f} agent steps (target {target:g})")
