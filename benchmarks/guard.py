"""How often the collapse guard undoes a run that is healthy, and how soon it finds one that is not.

`python -m benchmarks.guard --strength 0.42 --rounds 1000 --runs 400 --seed 0 --json` runs the league's own succession
and test (dshq_widget/learning/league) on points drawn by chance: every version wins against the first baseline with the
probability `--strength`, and against random play with 0.98, or more where the strength is more; against another version
it makes half the points. No games are played. `false_revert_share` is the share of runs with a revert, `reverts_mean`
the mean number of them.

`--fall 0.75 --after 100`: after that many rounds the chance against the baseline falls to this share of itself, for
good; against random play and other versions nothing changes, which is the hardest case. `found_within_rounds` says in
how many rounds the guard finds it. `--table` writes all strengths, healthy and fallen, to benchmarks/results.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.learning.league.fall_test import FALSE_ALARMS
from dshq_widget.learning.league.league import CHAMPION_MATCHES, PINNED_MATCHES
from dshq_widget.learning.league.succession import Champion, Succession

STRENGTHS = (0.3, 0.42, 0.62, 0.82, 0.9, 0.98, 0.995)
AGAINST_RANDOM = 0.98
NAMES = ("random", "script")
PATIENCE = 20
"""Rounds after a fall in which the guard may find it."""


class Chance:
    """Matches by chance alone. A policy's weights are its two strengths."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.matches = rng, 0

    def __call__(self, weights: np.ndarray, opponent: int, matches: int, series: int) -> float:
        self.matches += matches
        return float(self.rng.binomial(matches, weights[opponent]))


def one_run(strength: float, rounds: int, rng: np.random.Generator, fall: float, after: int) -> dict[str, Any]:
    """Reverts, tests, matches a round, versions that the champion is behind, of the rounds until a fall was found; when
    that was, and whether what it reverts to was not fallen.
    """
    play = Chance(rng)
    succession = Succession(NAMES, play)
    healthy = np.array([max(strength, AGAINST_RANDOM), strength])
    weights, reverts, behind = healthy, 0, 0.0
    found: int | None = None
    for k in range(rounds):
        if fall < 1 and k == after:
            weights = healthy * (1, fall)
        points = [play(weights, opponent, PINNED_MATCHES, opponent) for opponent in range(2)]
        even = rng.binomial(CHAMPION_MATCHES, 0.5) * 2 >= CHAMPION_MATCHES
        problem = succession.after_round(Champion(weights, k, k), points, PINNED_MATCHES, bool(even), True)
        champion = succession.champion
        assert champion is not None
        behind += k - champion.version
        if problem:
            reverts += weights is healthy
            succession.test.start_over()
            if weights is not healthy:
                found = k - after + 1
                break
    return {
        "reverts": reverts,
        "tests": succession.test.tests,
        "matches": play.matches / (k + 1),
        "behind": behind / (k + 1),
        "found": found,
        "sound": found is not None and succession.champion is not None and succession.champion.weights is healthy,
    }


def measure(strength: float, rounds: int, runs: int, seed: int, fall: float = 1.0, after: int = 100) -> dict[str, Any]:
    """Many runs of one strength."""
    if fall < 1:
        rounds = after + PATIENCE
    seeds = np.random.SeedSequence([seed, round(1e6 * strength)]).spawn(runs)
    found = [one_run(strength, rounds, np.random.default_rng(each), fall, after) for each in seeds]
    reverts = np.array([run["reverts"] for run in found])
    result: dict[str, Any] = {"strength": strength, "rounds": rounds, "runs": runs, "seed": seed}
    result |= {"false_revert_share": float((reverts > 0).mean()), "reverts_mean": float(reverts.mean())}
    result |= {f"{key}_mean": float(np.mean([run[key] for run in found])) for key in ("tests", "matches", "behind")}
    if fall < 1:
        waited = [PATIENCE + 1 if run["found"] is None else run["found"] for run in found]
        result |= {"fall": fall, "after": after}
        result["found_within_rounds"] = {
            **{f"{q:g}": float(np.quantile(waited, q, method="higher")) for q in (0.5, 0.95, 0.99)},
            **{f"share_in_{n}": float(np.mean(np.array(waited) <= n)) for n in (1, 2, 3, 5)},
        }
        result["reverts_to_a_sound_version"] = float(np.mean([run["sound"] for run in found if run["found"]] or [0.0]))
    return result


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--strength", type=float, default=0.42, help="chance to win against the first baseline")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fall", type=float, default=1.0, help="share of the strength that is left after a fall")
    parser.add_argument("--after", type=int, default=100, help="rounds before the fall")
    parser.add_argument("--json", action="store_true", help="print nothing but one line of JSON")
    parser.add_argument("--table", action="store_true", help="all strengths, into benchmarks/results")
    options = parser.parse_args()
    counts = (options.rounds, options.runs, options.seed)
    if options.table:
        result: dict[str, Any] = {"false_alarms_allowed": FALSE_ALARMS}
        result["healthy"] = [measure(strength, *counts) for strength in STRENGTHS]
        result["fallen"] = [measure(strength, *counts, 0.75, options.after) for strength in STRENGTHS]
        print(write("guard", result))
        return
    result = measure(options.strength, *counts, options.fall, options.after)
    print(json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
