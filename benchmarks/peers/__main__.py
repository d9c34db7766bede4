"""Ours beside other people's libraries, in one run: training rate, seconds to a mean return of 475, memory, and games
alone.

`python -m benchmarks.peers --python PATH` writes benchmarks/results/peers-*.json. PATH is the interpreter of an
environment with stable-baselines3, envpool and vmas; they are not dependencies of this project. What is in no package
index comes from a checkout: `--purejaxrl CHECKOUT` (its environment needs jax, flax, optax, distrax and gymnax 0.0.9),
`--cleanrl CHECKOUT` (tyro, tensorboard, gymnasium 0.29.1) and `--pufferlib CHECKOUT` (prepared as peers/pufferlib.py
says). `--python-of NAME=PATH` gives one library an interpreter of its own. What cannot be run is left out by name, with
a sentence in the output and in the result.

**Rate**: agent steps/s of PPO on CartPole-v1, play and update together, `--seconds` long. `own` are a library's own
defaults, `equal` the network, games and minibatches of ours for everybody (peers/settings.py), `tuned` what its authors
found best for CartPole. **Solve**: seconds from the first step of training to 475, for each seed, by two readings:
`last_episodes`, the mean return of the last 100 training episodes, and `fresh_episodes`, the first of the policies kept
every quarter of a second that makes 475 in 100 episodes of its own, which are not part of the seconds. PureJaxRL shows
no policies on its way, and a network that is not of tanh layers is not judged. **Steps**: games alone, on one core.

Starting and compiling are reported apart (`ready_seconds`, `compile_seconds`). Libraries on torch run with one thread
and with two for a moment, and then with the faster. `megabytes` is the peak of the resident size of all processes
together. Rounds and seeds are run in turn, ours and theirs, and the ratio is of medians. An agent step is one decision
of one learning side; CartPole has one side. Targets (stated before measuring): 400 times Stable-Baselines3; 10 times
PureJaxRL with networks of the same size.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.machine import write
from benchmarks.peers.library import LIBRARIES, OURS, Peer, find, rate_of
from benchmarks.peers.running import ScriptError
from benchmarks.running import parser_of, spread


def training_rates(peers: Sequence[Peer], rounds: int, seconds: float) -> list[dict[str, Any]]:
    """A row for each library and setting, ours first in each round."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for peer in peers:
            for settings in peer.library.settings:
                runs = found.setdefault((peer.library.title, settings), [])
                runs.append(peer.train("rate", settings, len(runs), seconds))
    ours = statistics.median(rate_of(one) for one in found["ours", "own"])
    rows = []
    for (title, settings), runs in found.items():
        rates = spread([rate_of(one) for one in runs])
        row = {"what": "training rate", "peer": title, "settings": settings, "agent_steps_per_second": rates}
        rows.append(row | costs(runs) | {"ratio_of_medians": ours / rates["median"]})
        show(rows[-1], f"{rates['median']:>12,.0f} agent steps/s")
    return rows


def times_to_skill(peers: Sequence[Peer], seeds: Sequence[int], limit: float) -> list[dict[str, Any]]:
    """A row for each library and setting; None among the seconds where a seed did not get there."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in seeds:
        for peer in peers:
            for settings in peer.library.settings:
                runs = found.setdefault((peer.library.title, settings), [])
                runs.append(peer.train("solve", settings, seed, limit))
                print(f"{peer.library.title}, {settings}, seed {seed}: {runs[-1]['seconds']:.1f} s", flush=True)
    rows: list[dict[str, Any]] = []
    for (title, settings), runs in found.items():
        row = {"what": "time to 475", "peer": title, "settings": settings, "seeds": list(seeds), **costs(runs)}
        row["agent_steps_in_all"] = [one["agent_steps"] for one in runs]
        row["seconds_in_all"] = [one["seconds"] for one in runs]
        for reading in ("last_episodes", "fresh_episodes"):
            row[reading] = reached([one[reading] for one in runs])
        rows.append(row)
    for row in rows:
        row["ratio_of_medians"] = {
            reading: ratio(row[reading], rows[0][reading]) for reading in ("last_episodes", "fresh_episodes")
        }
        show(row, f"{told(row['last_episodes'])} by the last episodes, {told(row['fresh_episodes'])} by fresh ones")
    return rows


def reached(moments: Sequence[dict[str, float] | None]) -> dict[str, Any] | None:
    """Of one reading over the seeds: seconds and agent steps, how many got there, and the median where more than half
    did. None where the library cannot be read so.
    """
    if any(moment is None for moment in moments):
        return None
    row: dict[str, Any] = {"reached": sum(bool(moment) for moment in moments)}
    for key in ("seconds", "agent_steps"):
        values = [(moment or {}).get(key) for moment in moments]
        row[key] = values
        middle = statistics.median(float("inf") if value is None else value for value in values)
        row[f"median_{key}"] = None if middle == float("inf") else middle
    return row


def ratio(theirs: dict[str, Any] | None, ours: dict[str, Any] | None) -> float | None:
    """How many times as long theirs takes."""
    if not theirs or not ours or theirs["median_seconds"] is None or ours["median_seconds"] is None:
        return None
    return float(theirs["median_seconds"] / ours["median_seconds"])


def told(reading: dict[str, Any] | None) -> str:
    if reading is None:
        return "not read"
    middle = reading["median_seconds"]
    return f"{'not reached' if middle is None else f'{middle:.2f} s'} ({reading['reached']} seeds)"


def costs(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What goes beside a figure: memory, start and compilation of each run, and what the library ran with."""
    same = ("threads", "thread_trials", "games", "network", "hyper")
    return {
        **{key: runs[0].get(key) for key in same},
        "megabytes": spread([one["megabytes"] for one in runs]),
        **{key: [one[key] for one in runs] for key in ("ready_seconds", "compile_seconds", "wall_seconds")},
    }


def game_rates(ours: Peer, peers: Sequence[Peer], rounds: int, seconds: float) -> list[dict[str, Any]]:
    """A row for each library of games, with ours of the same kind."""
    rows = []
    for peer in peers:
        given = ("--seconds", seconds, "--game", peer.library.game)
        pairs = [
            (ours.run("steps", *given, one_core=True), peer.run("steps", *given, one_core=True)) for _ in range(rounds)
        ]
        mine, theirs = ([pair[k] for pair in pairs] for k in (0, 1))
        row: dict[str, Any] = {"what": f"{peer.library.game}, one core", "peer": peer.library.title}
        row["ours"] = spread([one["steps_per_second"] for one in mine])
        row["ours_rules_alone"] = spread([one["rules_per_second"] for one in mine])
        row["theirs"] = spread([one["steps_per_second"] for one in theirs])
        for key, one in (("ours_megabytes", mine), ("theirs_megabytes", theirs)):
            row[key] = spread([each["megabytes"] for each in one])
        middle = row["theirs"]["median"]
        row["ratio_of_medians"] = row["ours"]["median"] / middle
        row["ratio_of_medians_rules_alone"] = row["ours_rules_alone"]["median"] / middle
        rows.append(row)
        print(
            f"{row['what']:20} {peer.library.title:18} {middle:>14,.0f} steps/s, ours {row['ours']['median']:,.0f}, "
            f"rules alone {row['ours_rules_alone']['median']:,.0f}",
            flush=True,
        )
    return rows


def show(row: dict[str, Any], figure: str) -> None:
    print(
        f"{row['what']:14} {row['peer']:18} {row['settings']:6} {figure}, {row['megabytes']['median']:,.0f} MB, "
        f"ready after {statistics.median(row['ready_seconds']):.1f} s, compiled for "
        f"{statistics.median(row['compile_seconds']):.1f} s",
        flush=True,
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--python", help="an interpreter with the libraries")
    parser.add_argument("--python-of", action="append", default=[], metavar="NAME=PATH", help="of one of them")
    for library in LIBRARIES:
        if library.checkout:
            parser.add_argument(f"--{library.script}", metavar="CHECKOUT", help=f"of {library.title}")
    parser.add_argument("--only", nargs="*", choices=[library.script for library in LIBRARIES], metavar="NAME")
    parser.add_argument("--what", nargs="*", choices=("rate", "solve", "steps"), default=("rate", "solve", "steps"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement of a rate")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which 475 is given up")
    options = parser.parse_args()
    ours = Peer(OURS, sys.executable, None)
    candidates, left_out = find(options)
    peers, versions = [], {}
    for peer in candidates:
        try:
            what = "rate" if peer.library.settings else "steps"
            peer.run(what, "--seconds", 0.5)
            versions[peer.library.title] = peer.versions()
            peers.append(peer)
        except ScriptError as error:
            left_out[peer.library.title] = f"It could not be run: {str(error).splitlines()[-1]}"
    for title, why in left_out.items():
        print(f"{title} is left out. {why}", flush=True)
    ours.run("rate", "--seconds", 1)  # compiles what is not cached yet
    learners = [ours, *(peer for peer in peers if peer.library.settings)]
    games = [peer for peer in peers if not peer.library.settings]
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "steps": lambda: game_rates(ours, games, options.rounds, options.seconds),
        "rate": lambda: training_rates(learners, options.rounds, options.seconds),
        "solve": lambda: times_to_skill(learners, options.seeds, options.limit),
    }
    versions = {"ours": ours.versions(), **versions}
    result: dict[str, Any] = {"peers": versions, "left_out": left_out, "rows": []}
    for what, part in parts.items():
        if what in options.what:
            result["rows"] += part()
            print(write("peers", result), flush=True)  # after each part: the next one takes long


if __name__ == "__main__":
    main()
