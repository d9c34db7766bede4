"""Is what was learned kept? Results against random play and the chaser over a long run, for several mixes of opponents.

`python -m benchmarks.hold --minutes 30 --seeds 0 1 2 --settings defaults` looks at the newest policy every few seconds
and says how it did against its own best: the *score* is the share of points in matches with the pinned opponents (a win
one, a draw half), a *window* the mean of a minute. Target: never below 95 % of its own best for longer than a minute.
`--steps 1e8` counts in agent steps instead, over which the schedules run, too, so that a busy machine changes nothing
but the waiting. Target of the mixes without a chaser: 80 % of decided matches against it within what 45 s of training
are on two cores (90 million agent steps), and until the end.

Every look is a JSON line, written at once (`--lines`); the summary goes to benchmarks/results/hold-*.json after each
run. It may run in the background: `chrt -i 0 python -m benchmarks.hold ...` takes only what nobody else wants. Several
runs at once write lines only (`--no-result`, each its own `--lines`); `--collect FILE ...` makes the result of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.policy.evaluate import evaluate, network, opponent
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.trainer import Trainer

SETTINGS: dict[str, dict[str, Any]] = {
    "self": {"opponents": "self=1", "collapse_guard": False},
    "self and random": {"opponents": "self=.75,random=.25", "collapse_guard": False},
    "self and pool": {"opponents": "self=.8,pool=.2", "collapse_guard": False},
    "self, pool and random": {"opponents": "self=.6,pool=.25,random=.15", "collapse_guard": False},
    "self, pool and random, guarded": {"opponents": "self=.6,pool=.25,random=.15"},
    "defaults": {},
    "defaults with a pool": {"opponents": "self=.6,pool=.15,chaser=.125,random=.125"},
}
PINNED = ("chaser", "random")
MATCHES = 1024
KEEP, WINDOW = 0.95, 60.0
"""The share of its best that a policy has to keep, and the seconds over which it is looked at."""


def look(trainer: Trainer, began: float) -> dict[str, Any]:
    """The newest policy against the pinned opponents, now."""
    policy = trainer.latest_policy()
    seconds = time.monotonic() - began
    player = network(policy.layers, policy.activation, policy.weights)
    row: dict[str, Any] = {"seconds": seconds, "agent_steps": policy.step, "elo": trainer.metrics.get("elo")}
    drill = with_rules(trainer.drill)
    for who in PINNED:
        row[who] = evaluate(drill, player, opponent(who, drill), MATCHES, seed=7, name=who)
    row["score"] = sum(row[who]["wins"] + row[who]["draws"] / 2 for who in PINNED) / (MATCHES * len(PINNED))
    return row


def follow(trainer: Trainer, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Looks at even distances until the run is over. Raises RuntimeError when training fails."""
    began, looks = time.monotonic(), 0
    while True:
        time.sleep(0.1)
        if trainer.status == "error":
            raise RuntimeError(trainer.error)
        if arguments.minutes:
            reached, end = (time.monotonic() - began) / arguments.pause, 60 * arguments.minutes / arguments.pause
        else:
            reached, end = trainer.latest_policy().step * arguments.marks / arguments.steps, arguments.marks
        if reached >= looks + 1:
            looks = int(reached)  # a machine that is busy with something else leaves looks out
            yield look(trainer, began)
        if looks >= end:
            return


def windows(rows: Sequence[dict[str, Any]], who: str = "") -> list[tuple[float, float]]:
    """(end, mean score) of the minute before each look; of points against `who` alone where one is named."""
    found = []
    for last in rows:
        if last["seconds"] < rows[0]["seconds"] + WINDOW:
            continue
        inside = [row for row in rows if last["seconds"] - WINDOW < row["seconds"] <= last["seconds"]]
        scores = [(row[who]["wins"] + row[who]["draws"] / 2) / MATCHES if who else row["score"] for row in inside]
        found.append((last["seconds"], sum(scores) / len(scores)))
    return found


def kept(found: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The best window, the worst one after it reached its own best so far, and the longest time below `KEEP` of that.

    A window already is a minute: time below in the windows is time beyond the minute that is allowed.
    """
    best, worst, longest, since = 0.0, 1.0, 0.0, None
    for seconds, score in found:
        best = max(best, score)
        worst = min(worst, score / best if best else 1.0)
        if score < KEEP * best:
            since = seconds if since is None else since
            longest = max(longest, seconds - since)
        else:
            since = None
    return {"best": best, "least_share_of_best": worst, "seconds_below": longest}


def against_its_best(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """`kept` of the score and of the points against each pinned opponent."""
    return {"score": kept(windows(rows)), **{who: kept(windows(rows, who)) for who in PINNED}}


def run(hyper: dict[str, Any], seed: int, arguments: argparse.Namespace, note: dict[str, Any]) -> dict[str, Any]:
    """One training run with all its looks."""
    rows: list[dict[str, Any]] = []
    warnings: list[str] = []
    schedule = {} if arguments.minutes else {"total_agent_steps": arguments.steps}
    with Trainer("ball", seed=seed, **schedule, **hyper) as trainer:
        trainer.on_warning(warnings.append)
        trainer.start()
        trainer.wait(seconds=0, progress=False)
        for row in follow(trainer, arguments):
            rows.append(row)
            with open(arguments.lines, "a", encoding="utf-8") as lines:
                lines.write(json.dumps({**note, **row, "warnings": len(warnings)}) + "\n")
            chaser, random = (
                "{win_rate:.3f} (W {wins} D {draws} L {losses})".format(**row[who]) for who in ("chaser", "random")
            )
            print(
                f"  {row['seconds']:6.0f} s {row['agent_steps'] / 1e6:7.1f} M  score {row['score']:.4f}  "
                f"chaser {chaser}  random {random}  elo {row['elo'] or 0:.0f}",
                flush=True,
            )
        champion = next((player["name"] for player in trainer.league if player.get("champion")), None)
        rate = trainer.metrics["agent_steps"] / trainer.metrics["seconds"]
    summary = against_its_best(rows)
    print(f"  against its own best, windows of {WINDOW:g} s: {json.dumps(summary)}\n  {warnings}", flush=True)
    return {
        "agent_steps_per_second": rate,
        "champion": champion,
        "kept": summary,
        "marks": rows,
        "warnings": warnings,
        "returns_to_the_champion": [text for text in warnings if "reverted to champion" in text],
    }


def collected(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The runs whose looks are in these files of JSON lines."""
    looks: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            looks.setdefault((row.pop("setting"), row.pop("seed")), []).append(row)
    runs = []
    for (name, seed), rows in sorted(looks.items()):
        summary = against_its_best(rows)
        print(f"{name}, seed {seed}, {rows[-1]['agent_steps'] / 1e6:.0f} M agent steps: {json.dumps(summary)}")
        runs.append({"setting": name, "hyper": SETTINGS[name], "seed": seed, "kept": summary, "marks": rows})
    return runs


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=0, help="length of each run by the clock, instead of --steps")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two looks of such a run")
    parser.add_argument("--steps", type=float, default=1e8, help="agent steps of each run")
    parser.add_argument("--marks", type=int, default=20, help="looks at each run that is counted in steps")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--settings", nargs="*", choices=tuple(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument(
        "--lines", type=Path, default=Path("hold.jsonl"), help="where each look is added as a JSON line"
    )
    parser.add_argument("--no-result", action="store_true", help="write the lines only, nothing in benchmarks/results")
    parser.add_argument("--collect", nargs="*", type=Path, metavar="FILE", help="measure nothing, read these lines")
    arguments = parser.parse_args()
    if arguments.collect:
        runs = collected(arguments.collect)
        print(write("hold", {"matches": MATCHES, "minutes": arguments.minutes, "runs": runs}))
        return
    results: list[dict[str, Any]] = []
    for name in arguments.settings:
        for seed in arguments.seeds:
            print(f"{name}, seed {seed}", flush=True)
            found = run(SETTINGS[name], seed, arguments, {"setting": name, "seed": seed})
            results.append({"setting": name, "hyper": SETTINGS[name], "seed": seed, **found})
            if not arguments.no_result:
                limit = {"minutes": arguments.minutes} if arguments.minutes else {"steps": arguments.steps}
                write("hold", {"matches": MATCHES, **limit, "runs": results})


if __name__ == "__main__":
    main()
