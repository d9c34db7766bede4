"""VMAS's football, one against one, which has no learner: environment steps/s with observations and rewards."""

from __future__ import annotations

import time

import torch
import vmas

from benchmarks.peers.progress import say, since_start
from benchmarks.peers.settings import arguments

GAMES = 4096


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(options.threads)
    env = vmas.make_env(
        "football",
        num_envs=GAMES,
        device="cpu",
        seed=options.seed,
        continuous_actions=True,
        n_blue_agents=1,
        n_red_agents=1,
        ai_red_agents=False,
        ai_blue_agents=False,
        observe_teammates=False,
    )
    env.reset()
    actions = [env.get_random_action(agent) for agent in env.agents]
    env.step(actions)
    ready, begin, steps = since_start(), time.perf_counter(), 0
    while time.perf_counter() - begin < options.seconds:
        env.step(actions)
        steps += 1
    seconds = time.perf_counter() - begin
    say({"steps_per_second": steps * GAMES / seconds, "ready_seconds": ready, "games": GAMES})


if __name__ == "__main__":
    main()
