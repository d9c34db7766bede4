"""What `dshq train ball` has learned after a fixed time: win rates against random play and the chaser, three seeds,
with and without a chaser in training.

`python -m benchmarks.learning` writes benchmarks/results/learning-*.json. Targets (stated before measuring): after 30 s
with the defaults 95 % of decided matches against random and 80 % against the chaser; with no chaser among the opponents
60 % after 60 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import describe, write

SETTINGS = {
    "defaults, 30 s": ["--seconds", "30"],
    "no chaser in training, 60 s": ["--seconds", "60", "--opponents", "self=.75,random=.25"],
}
MATCHES = 2000


def dshq(*arguments: str) -> dict:
    """One command, its JSON answer."""
    run = subprocess.run(
        [sys.executable, "-m", "dshq_widget.cli", *arguments, "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for setting, flags in SETTINGS.items():
            for seed in arguments.seeds:
                out = str(Path(folder) / "bot.dshq")
                trained = dshq("train", "ball", "--seed", str(seed), "--out", out, *flags)
                row = {"setting": setting, "seed": seed, "agent_steps": trained["agent_steps"]}
                row["agent_steps_per_second"] = trained["agent_steps"] / trained["seconds"]
                for who in ("random", "scripted"):
                    row[who] = dshq("evaluate", out, "--against", who, "--matches", str(MATCHES), "--seed", "1000")
                rows.append(row)
                shown = " ".join(
                    "{who} {win_rate:.3f} (W {wins} D {draws} L {losses})".format(who=who, **row[who])
                    for who in ("random", "scripted")
                )
                print(f"{setting:28} seed {seed}: {row['agent_steps_per_second'] / 1e6:.2f} M/s  {shown}", flush=True)
    write("learning", {"machine": describe(), "matches": MATCHES, "rows": rows})


if __name__ == "__main__":
    main()
