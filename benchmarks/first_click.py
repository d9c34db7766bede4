"""How long the first click on a fresh machine takes: from Train to version 1 in the match, with nothing compiled.

    python -m benchmarks.first_click [--drill ball | large] [--looks 0 30] [--python PYTHON]

Each run has a process and empty caches of its own. `looks` are seconds between making the widget, which begins to
compile, and Train; `unprepared` is Train at once without that beginning; `warm` has everything compiled. With the
Python of an environment in which a wheel is installed, every case is run with the machine code that came with the wheel
and without it. `large` is a drill of one's own (large_drill.py); its vectorised environment is timed, too, with one
process and with several that compile. The load of the machine before each run is reported: on a busy one the figures
say little.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm

from benchmarks.machine import write
from benchmarks.running import parser_of, said

DRILL = """
import json, sys, time
drill, argument, large = sys.argv[1], float(sys.argv[2]), sys.argv[3]
if drill == "large":
    sys.path.append(large)
    from large_drill import Merge as drill
"""
RUN = """
from dshq_widget.training.trainer import Trainer
trainer = Trainer(drill, gentle=True)
if argument >= 0:
    trainer.prepare()
    time.sleep(argument)
begin = time.monotonic()
trainer.start()
texts, ready = [], None
while trainer.latest_policy().version < 1:
    if trainer.status == "training" and ready is None:
        ready = time.monotonic() - begin
    if trainer.status == "error":
        raise SystemExit(trainer.error)
    if not texts or texts[-1][1] != trainer.status_text:
        texts.append([round(time.monotonic() - begin, 2), trainer.status_text])
    time.sleep(0.01)
print(json.dumps({"seconds_to_version_1": time.monotonic() - begin, "seconds_to_training": ready, "texts": texts}))
trainer.close()
"""
STEP = """
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.env.batch import Batch
from dshq_widget.runtime import budget
budget.MOST_COMPILERS = int(argument)
begin = time.monotonic()
drill = compile_drill(drill)
translated = time.monotonic()
batch = Batch(drill, 64)
batch.step(batch.scripted("random"))
print(json.dumps({"seconds_to_translate": translated - begin, "seconds_to_first_step": time.monotonic() - begin}))
"""
WHO = "from dshq_kernels.simd import kept, shipped; print(*shipped.level(kept.SOURCES), sep='\\n')"


def run(
    python: str, script: str, drill: str, argument: float, caches: str, environment: Mapping[str, str]
) -> dict[str, object]:
    """One run of a script with these caches; for RUN a negative argument does not prepare."""
    load = os.getloadavg()[0]
    environment = {
        **os.environ,
        "DSHQ_CACHE_DIR": f"{caches}/dshq",
        "NUMBA_CACHE_DIR": f"{caches}/numba",
        **environment,
    }
    command = [python, "-c", DRILL + script, drill, str(argument), str(Path(__file__).parent)]
    return {"load_before": load, **said(command, env=environment, cwd=caches, timeout=3600)}


def clicks(python: str, drill: str, looks: list[float], environment: Mapping[str, str]) -> dict[str, object]:
    """All runs in one kind of environment."""
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as caches:
        result["unprepared"] = run(python, RUN, drill, -1.0, caches, environment)
        result["warm"] = run(python, RUN, drill, -1.0, caches, environment)
    for look in looks:
        with tempfile.TemporaryDirectory() as caches:
            result[f"looked {look:g} s"] = run(python, RUN, drill, look, caches, environment)
    if drill == "large":
        for processes in (1, 4):
            with tempfile.TemporaryDirectory() as caches:
                name = f"first step, {processes} compiling at most"
                result[name] = run(python, STEP, drill, processes, caches, environment)
    return result


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--looks", type=float, nargs="*", default=[0.0, 30.0])
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    result: dict[str, object] = {"drill": options.drill}
    known = subprocess.run(
        [options.python, "-c", WHO], capture_output=True, text=True, check=True, cwd=tempfile.gettempdir()
    )
    level, why = known.stdout.splitlines()
    result["machine code"] = f"{level} {why}".strip()
    if level:
        result["with the wheel's machine code"] = clicks(options.python, options.drill, options.looks, {})
    only_here = {"NUMBA_CPU_NAME": llvm.get_host_cpu_name()}  # asked for by name: what came along is left alone
    result["compiled here"] = clicks(options.python, options.drill, options.looks, only_here)
    print(write("first_click" + "_large" * (options.drill == "large"), result))


if __name__ == "__main__":
    main()
