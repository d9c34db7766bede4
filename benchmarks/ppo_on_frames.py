"""PPO beside Dreamer: on the same frames (benchmarks/frames_env.py), and on the drill's own observations.

`python -m benchmarks.ppo_on_frames --drill paddleball --seconds 900` writes benchmarks/results/ppo_on_frames-*.json
with the curves. An agent step on frames is as many decisions as Dreamer keeps an action for; `share` is the episode's
return over `reward_scale`, which the potentials change by 2 % at most in Paddle Ball.
"""

from __future__ import annotations

from typing import Any

from benchmarks.frames_env import DRILLS, FramesEnv
from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.training.trainer import Trainer


def curve(drill: str, seconds: float, key: str, scale: float, seed: int) -> list[dict[str, float]]:
    """Seconds, agent steps and the mean return, each time it changes."""
    rows: list[dict[str, float]] = []
    with Trainer(drill, seed=seed) as run:

        def hear() -> None:
            found = run.metrics
            if key in found and (not rows or rows[-1]["agent_steps"] < found["agent_steps"]):
                step = {name: found[name] for name in ("seconds", "agent_steps")}
                rows.append({**step, "share": found[key] / scale})

        run.on_change(hear)
        run.train_for(seconds=seconds, progress=False)
    return rows[:: max(1, len(rows) // 200)] + rows[-1:]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drill", choices=DRILLS, default="paddleball")
    parser.add_argument("--seconds", type=float, default=900.0, help="on frames (default 900)")
    parser.add_argument("--on-state", type=float, default=30.0, help="seconds on the observations (default 30)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    env = FramesEnv(options.drill)
    scale, repeat = (float(env.how.get(key, 1)) for key in ("reward_scale", "repeat"))
    result: dict[str, Any] = {"drill": options.drill, "decisions_per_step": repeat}
    result["on_state"] = curve(options.drill, options.on_state, "evaluated_return", 1.0, options.seed)
    name = f"gym:benchmarks.frames_env:{options.drill.capitalize()}-v0"
    result["on_frames"] = curve(name, options.seconds, "return_mean", scale, options.seed)
    for what in ("on_state", "on_frames"):
        print(what, result[what][-1])
    write("ppo_on_frames", result)


if __name__ == "__main__":
    main()
