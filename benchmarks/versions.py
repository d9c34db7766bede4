"""This checkout beside an earlier one of the same project, in turn: `python -m benchmarks.versions --old CHECKOUT`.

CHECKOUT needs its bundle (`node js/build.mjs`) and a `benchmarks.widget` of its own. Measured are training from the
command line (the Ball Drill, `--seconds`), and the widget in JupyterLab with warm caches: seconds until the match is
visible, frames/s while it plays, seconds until the first version. Both run with this interpreter. Writes
benchmarks/results/versions-*.json with the medians and their ratio, new over old.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, write

HERE = Path(__file__).parent.parent


def run(checkout: Path, *arguments: str) -> str:
    """What `python ARGUMENTS` prints in a checkout. Raises RuntimeError with its last words where it fails."""
    paths = os.pathsep.join((str(checkout), str(checkout / "kernels")))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{checkout}: {done.stderr[-2000:]}")
    return done.stdout


def training(checkout: Path, seconds: float) -> dict[str, float]:
    """Agent steps/s of a whole command."""
    train = ("-m", "dshq_widget.cli", "train", "ball", "--seconds", str(seconds), "--json")
    said = json.loads(run(checkout, *train).splitlines()[-1])
    return {"agent_steps_per_second": said["agent_steps"] / said["seconds"]}


def widget(checkout: Path, seconds: float) -> dict[str, float]:
    """The warm run of its `benchmarks.widget`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "widget.json"
        run(checkout, "-m", "benchmarks.widget", "--seconds", str(seconds), "--out", str(out))
        warm = json.loads(out.read_text())["warm"]
    return {
        "seconds_until_visible": warm["seconds_until_visible"],
        "frames_per_second": warm["idle"]["frames_per_second"],
        "seconds_from_train_to_first_version": warm["seconds_from_train_to_first_version"],
    }


def in_turn(measure: Callable[[Path, float], dict[str, float]], old: Path, seconds: float, rounds: int) -> Any:
    """Old and new in turn, by figure."""
    pairs = [(measure(old, seconds), measure(HERE, seconds)) for _ in range(rounds)]
    found = {}
    for key in pairs[0][0]:
        before, after = ([pair[k][key] for pair in pairs] for k in (0, 1))
        ratio = statistics.median(after) / statistics.median(before)
        found[key] = {"old": before, "new": after, "ratio_of_medians": ratio}
        print(f"{key:40} old {statistics.median(before):12,.2f}  new {statistics.median(after):12,.2f}  x{ratio:.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="an earlier checkout, with its bundle built")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    old = options.old.resolve()
    commits = [run(path, "-c", "import dshq_widget; print(dshq_widget.__file__)").strip() for path in (old, HERE)]
    assert commits[0] != commits[1], "both checkouts import the same package"
    machine = describe()
    rows = in_turn(training, old, options.seconds, options.rounds)
    rows |= in_turn(widget, old, options.seconds / 2, max(1, options.rounds - 1))
    head = ("git", "-C", str(old), "rev-parse", "--short", "HEAD")
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    write("versions", {"machine": machine, "old_commit": commit, "rows": rows})


if __name__ == "__main__":
    main()
