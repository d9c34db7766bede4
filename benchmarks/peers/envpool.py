"""EnvPool's CartPole-v1, which has no learner: environment steps/s with observations, rewards and resets."""

from __future__ import annotations

import time

import envpool
import numpy as np

from benchmarks.peers.progress import say, since_start
from benchmarks.peers.settings import arguments

GAMES = 1024


def main() -> None:
    options = arguments(__doc__)
    env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=GAMES, num_threads=options.threads)
    env.reset()
    actions = np.random.default_rng(options.seed).integers(0, 2, (64, GAMES))
    for row in actions:
        env.step(row)
    ready, begin, steps = since_start(), time.perf_counter(), 0
    while time.perf_counter() - begin < options.seconds:
        env.step(actions[steps % 64])
        steps += 1
    seconds = time.perf_counter() - begin
    say({"steps_per_second": steps * GAMES / seconds, "ready_seconds": ready, "games": GAMES})


if __name__ == "__main__":
    main()
