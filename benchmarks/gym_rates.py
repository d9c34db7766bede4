"""Where the time of training on a Gymnasium environment goes, and how far its observations lie from their mean.

`python -m benchmarks.gym_rates Hopper-v4 HalfCheetah-v4 ...` writes benchmarks/results/gym_rates-*.json: steps/s of the
environments alone (random actions), of a rollout and of an update, with the settings that each starts from; and the
share of normalised numbers beyond 10 deviations, which the reference implementations clip (docs/explain/ppo.md,
detail 29).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.contract.settings import of_drill
from dshq_widget.gyms.making import described
from dshq_widget.policy.network import PolicySpec

LIMIT = 10.0


def measure(name: str, steps: int, threads: int) -> dict[str, Any]:
    """Rates of one environment over so many agent steps, and the shares."""
    environment = described(f"gym:{name}")
    config = of_drill(environment.spec)
    spec = PolicySpec.for_config(environment.spec, config)
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    how: dict[str, Any] = {"seed": 0, "threads": threads, "normalizer": normalizer}
    learner = GymPPO(spec, environment.actions, config.action_distribution, config.action_deviation, **how)
    games = GymGames(environment, config)
    alone = _alone(games, 200)
    playing = learning = 0.0
    beyond = []
    batch = config.num_envs * config.rollout_length
    for update in range(max(2, steps // batch)):
        begin = time.perf_counter()
        played = games.next(learner, config, update)
        middle = time.perf_counter()
        if normalizer.observations is not None and not normalizer.fresh:
            normal = normalizer.inputs[None, :, :, None]
            distance = np.abs((played.samples.obs - normal[:, :, 0]) * normal[:, :, 1])
            beyond.append(float((distance > LIMIT).mean()))
        middle_again = time.perf_counter()
        learner.update(played.samples, played.units, Hyper.at(config, update * batch))
        if update:
            playing += middle - begin
            learning += time.perf_counter() - middle_again
    games.close()
    count = batch * (max(2, steps // batch) - 1)
    return {
        "environment": name,
        "threads": threads,
        "environments_alone_steps_per_second": alone,
        "rollout_steps_per_second": count / playing,
        "update_steps_per_second": count / learning,
        "steps_per_second": count / (playing + learning),
        "share_beyond_ten": float(np.mean(beyond)) if beyond else None,
        "largest_share_of_a_rollout": max(beyond) if beyond else None,
    }


def _alone(games: GymGames, decisions: int) -> float:
    """Steps/s of the vector of environments at random actions."""
    games.vector.action_space.seed(0)
    actions = [games.vector.action_space.sample() for _ in range(decisions)]
    begin = time.perf_counter()
    for action in actions:
        games.vector.step(action)
    return decisions * games.count / (time.perf_counter() - begin)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="+", metavar="ID")
    parser.add_argument("--steps", type=int, default=40_960)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names:
        rows.append(measure(name, arguments.steps, arguments.threads))
        print({key: round(value, 6) if isinstance(value, float) else value for key, value in rows[-1].items()})
    write("gym_rates", {"rows": rows})


if __name__ == "__main__":
    main()
