"""How level matches of the Ball Drill end: goals or time, and whether the last second is played to win.

`python -m benchmarks.draws` plays the ladder's policies against themselves and one another and writes
benchmarks/results/draws-*.json; `--files NAME=FILE.dshq ...` takes others, `--label` is a part of the result's name. A
goal counts as an own goal if the side that it counts against touched the ball last. Next to the matches stands what
each critic says at the kick-off formation, as the match begins and with one decision left.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.drills.ball_physics import BALL_RADIUS, HALF_SIDE
from dshq_widget.env.batch import Batch
from dshq_widget.policy import ladder
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.policy import Policy

MATCHES = 2000
NEAR = 0.03  # u: a ball that close to a player's box is touched
LAST_TICKS = 120  # of the last second


def touched(tiles: NDArray[np.void]) -> NDArray[np.bool_]:
    """Whether each side's box touches the ball, bool (n_tiles, 2, 16)."""
    dx, dy = (tiles[f"ball_p{axis}"][:, None] - tiles[f"p_p{axis}"] for axis in "xy")
    hx, hy = tiles["p_cos"], tiles["p_sin"]
    ahead, left = hx * dx + hy * dy, hx * dy - hy * dx
    out = [np.maximum(abs(way) - HALF_SIDE, 0) for way in (ahead, left)]
    return np.hypot(*out) < BALL_RADIUS + NEAR


def play(one: Policy, other: Policy, matches: int, seed: int) -> dict[str, Any]:
    """Matches from proper starts, `one` on side 0 in half of them; the seed's games and actions every time."""
    batch = Batch("ball", matches, practice=False)
    batch.seed(seed * 1_000_003 + np.arange(matches))
    rng = np.random.default_rng(seed)
    swapped = np.arange(matches) % 2 == 1
    repeat, limit = batch.spec.action_repeat, batch.spec.time_limit
    last, ended, result = np.full(matches, -1), np.full(matches, limit), np.zeros(matches, int)
    own, going = np.zeros(matches, bool), np.ones(matches, bool)
    for decision in range(limit // repeat):
        seen = batch.observe()
        rows = np.where(swapped, 1, 0)
        games = np.arange(matches)
        actions = np.empty((matches, 2), int)
        actions[games, rows] = one.act(seen[games, rows], rng)
        actions[games, 1 - rows] = other.act(seen[games, 1 - rows], rng)
        lanes = np.zeros((len(batch.tiles) * 16, 2), np.int32)
        lanes[:matches] = actions
        batch.tiles["action"] = lanes.reshape(-1, 16, 2).swapaxes(1, 2)
        batch.game.decide(batch.tiles)
        for tick in range(repeat):
            batch.game.tick(batch.tiles, 1)
            near = touched(batch.tiles).swapaxes(1, 2).reshape(-1, 2)[:matches]
            last = np.where(near[:, 0] & ~near[:, 1], 0, np.where(near[:, 1] & ~near[:, 0], 1, last))
            goal = batch.tiles["goal"].reshape(-1)[:matches]
            now = going & (goal != 0)
            ended[now], result[now] = decision * repeat + tick + 1, goal[now]
            own |= now & (last == np.where(goal > 0, 1, 0))
            going &= ~now
    result = np.where(swapped, -result, result)
    decided, late = result != 0, (result != 0) & (ended > limit - LAST_TICKS)
    return {
        "matches": matches,
        "wins": int((result > 0).sum()),
        "draws": int((~decided).sum()),
        "losses": int((result < 0).sum()),
        "decided_share": float(decided.mean()),
        "own_goals": int(own.sum()),
        "goals_in_last_second": int(late.sum()),
        "own_goals_in_last_second": int((own & late).sum()),
        "reached_last_second": int((ended > limit - LAST_TICKS).sum()),
        "length_mean_s": float(ended.mean() / 120),
    }


def critic(policy: Policy, matches: int = 512) -> dict[str, float]:
    """The mean value at kick-off, as the match begins and with one decision left."""
    batch = Batch("ball", matches, practice=False)
    repeat, limit = batch.spec.action_repeat, batch.spec.time_limit
    begin = policy.forward(batch.observe())[1]
    batch.tiles["ticks"] = limit - repeat
    return {
        "value_at_kick_off": float(begin.mean()),
        "value_one_decision_left": float(policy.forward(batch.observe())[1].mean()),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--files", nargs="*", metavar="NAME=FILE.dshq", help="policies (default: the ladder's)")
    parser.add_argument("--label", default="", help="what the policies are, for the result")
    parser.add_argument("--matches", type=int, default=MATCHES)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    paths = dict(pair.split("=", 1) for pair in arguments.files or ())
    paths = paths or {rung: str(ladder.path("ball", rung)) for rung in ladder.RUNGS}
    policies = {name: load_policy(path) for name, path in paths.items()}
    values = {name: critic(policy) for name, policy in policies.items()}
    print("\n".join(f"{name}: {found}" for name, found in values.items()), flush=True)
    rows = []
    for below, above in itertools.combinations_with_replacement(policies, 2):
        found = play(policies[above], policies[below], arguments.matches, arguments.seed)
        rows.append({"one": above, "other": below, **found})
        print(
            f"{above} against {below}: decided {found['decided_share']:.3f}, won {found['wins']} lost {found['losses']}"
            f", own goals {found['own_goals']}; in the last second {found['goals_in_last_second']} goals, "
            f"{found['own_goals_in_last_second']} own, in {found['reached_last_second']} matches that reached it",
            flush=True,
        )
    result = {"label": arguments.label, "critics": values, "rows": rows}
    write("draws" + (f"_{arguments.label}" if arguments.label else ""), result)


if __name__ == "__main__":
    main()
