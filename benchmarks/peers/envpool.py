"""EnvPool's CartPole-v1 or Breakout-v5, which have no learner: environment steps/s with observations, rewards and
resets. A step of Breakout is four frames of the game, and the last four that are seen are 84 by 84 pixels.
"""

from __future__ import annotations

import time

import envpool
import numpy as np

from benchmarks.peers.progress import say, since_start
from benchmarks.peers.settings import arguments

GAMES = {"cartpole": ("CartPole-v1", 1024, 2), "breakout": ("Breakout-v5", 16, 4)}
"""Its name for each, how many at once, and their actions."""


def main() -> None:
    options = arguments(__doc__)
    name, games, choices = GAMES[options.game]
    env = envpool.make(name, env_type="gymnasium", num_envs=games, num_threads=options.threads)
    env.reset()
    actions = np.random.default_rng(options.seed).integers(0, choices, (64, games))
    for row in actions:
        env.step(row)
    ready, begin, before, steps = since_start(), time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begin < options.seconds:
        env.step(actions[steps % 64])
        steps += 1
    seconds = time.perf_counter() - begin
    spent = time.process_time() - before
    rates = {"steps_per_second": steps * games / seconds, "steps_per_processor_second": steps * games / spent}
    say({**rates, "ready_seconds": ready, "games": games})


if __name__ == "__main__":
    main()
