"""How long the first click on a fresh machine takes: from Train to version 1 in the match, with nothing compiled.

    python -m benchmarks.first_click [--drill ball] [--looks 0 30] [--out FILE]

Each run has a process and empty caches of its own. `looks` are seconds between making the widget, which begins to
compile, and Train; `unprepared` is Train at once without that beginning; `warm` has everything compiled. The load of
the machine before each run is reported: on a busy one the figures say little.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import describe

RUN = """
import json, sys, time
from dshq_widget.training.trainer import Trainer
drill, look = sys.argv[1], float(sys.argv[2])
trainer = Trainer(drill, gentle=True)
if look >= 0:
    trainer.prepare()
    time.sleep(look)
begin = time.monotonic()
trainer.start()
texts, ready = [], None
while trainer.latest_policy().version < 1:
    if trainer.status == "training" and ready is None:
        ready = time.monotonic() - begin
    if trainer.status == "failed":
        raise SystemExit(trainer.status_text)
    if not texts or texts[-1][1] != trainer.status_text:
        texts.append([round(time.monotonic() - begin, 2), trainer.status_text])
    time.sleep(0.01)
print(json.dumps({"seconds_to_version_1": time.monotonic() - begin, "seconds_to_training": ready, "texts": texts}))
trainer.close()
"""


def run(drill: str, look: float, caches: str) -> dict[str, object]:
    """One first click; a negative `look` does not prepare."""
    load = os.getloadavg()[0]
    environment = {**os.environ, "DSHQ_CACHE_DIR": f"{caches}/dshq", "NUMBA_CACHE_DIR": f"{caches}/numba"}
    command = [sys.executable, "-c", RUN, drill, str(look)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=3600)
    return {"load_before": load, **json.loads(said.stdout.splitlines()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--looks", type=float, nargs="*", default=[0.0, 30.0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result: dict[str, object] = {"machine": describe(), "drill": options.drill}
    with tempfile.TemporaryDirectory() as caches:
        result["unprepared"] = run(options.drill, -1.0, caches)
        result["warm"] = run(options.drill, -1.0, caches)
    for look in options.looks:
        with tempfile.TemporaryDirectory() as caches:
            result[f"looked {look:g} s"] = run(options.drill, look, caches)
    text = json.dumps(result, indent=1)
    if options.out:
        options.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
