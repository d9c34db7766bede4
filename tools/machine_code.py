"""Writes the machine code that a wheel carries, so that numba compiles nothing at the first click on a fresh machine.

    python -m tools.machine_code FOLDER [--drills ball sumo ...]

For each level of x86-64 that this machine can run, a process of its own trains the drills for a moment, with empty
caches and numba set to compile for that level; what numba kept is packed (dshq_kernels/simd/shipped.py reads it).
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_V3 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf", "avx", "avx2", "bmi", "bmi2", "f16c", "fma")
V3 = (*_V3, "lzcnt", "movbe", "xsave")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS = {"x86-64-v4": V4, "x86-64-v3": V3}
"""Levels of x86-64, the best first, and LLVM's names of their features (System V ABI, AMD64 supplement, 3.1.1)."""
TUNING = {"x86-64-v4": ["-prefer-256-bit"]}
"""Vectors of 512 bits whole: measured faster (docs/LOG.md)."""
KINDS = ("ball", "binpack")
"""Kernels are the same for every drill, but those of pairs, which only a network that judges pairs has."""
OTHERS = {
    "gate": "territory",
    "spo": "maze",
}
"""Algorithm -> the drill that compiles what it has of its own."""
SHORT: dict[str, Any] = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 128}


def levels() -> list[str]:
    """Those that this machine can run, and so can be made here."""
    import llvmlite.binding as llvm

    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return []
    here = llvm.get_host_cpu_features()
    return [name for name, features in LEVELS.items() if all(here.get(feature) for feature in features)]


def fill(drills: Sequence[str]) -> None:
    """Do with one drill of each kind what a person does first, so that numba keeps what that takes."""
    from dshq_widget.algorithms import algorithms
    from dshq_widget.env.batch import Batch
    from dshq_widget.env.gym_envs import DrillVectorEnv
    from dshq_widget.training.trainer import Trainer

    first, *others = [name for name in KINDS if name in drills] or drills[:1]
    batch = Batch(first, 32)
    batch.step(batch.scripted("random"))
    env = DrillVectorEnv(first, 32, autoreset="same_step")
    env.reset(seed=0)
    env.step(env.batch.scripted("random")[:, 0])
    for name, workers in ((first, 0), (first, 1), *((name, 0) for name in others)):
        with Trainer(name, workers=workers, **SHORT) as trainer:
            trainer.train_for(updates=3, progress=False)
    for algorithm, name in OTHERS.items():
        if name in drills and algorithm in algorithms:
            with Trainer(name, algorithm=algorithm) as trainer:
                trainer.train_for(updates=2, progress=False)


def collect(numba_cache: Path) -> dict[str, dict[str, bytes]]:
    """Archive -> the files in it, from a cache that was filled: the kernels', and each module of rules."""
    from dshq_kernels.simd import kept
    from dshq_kernels.simd.shipped import KERNELS

    archives: dict[str, dict[str, bytes]] = {KERNELS: {}}
    for place in sorted((numba_cache / "code").iterdir()):
        module = place.name.rpartition("-")[0]
        files = {path.name: path.read_bytes() for path in sorted(place.glob("*.nb[ic]"))}
        if module.startswith(kept.RULES):
            archives[module] = files
        else:
            package = module.rpartition(".")[0].replace(".", "/")
            archives[KERNELS] |= {f"{package}/{name}": content for name, content in files.items()}
    return archives


def archive(files: dict[str, bytes]) -> bytes:
    """A tar of them, compressed; the same bytes for the same files."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return lzma.compress(whole.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def make(level: str, drills: Iterable[str], folder: Path) -> None:
    """The archives of one level. Raises RuntimeError with what went wrong."""
    with tempfile.TemporaryDirectory() as caches:
        features = [*(f"+{feature}" for feature in LEVELS[level]), *TUNING.get(level, ())]
        environment = os.environ | {
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": ",".join(features),
            "NUMBA_CACHE_DIR": f"{caches}/numba",
            "DSHQ_CACHE_DIR": f"{caches}/dshq",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")]),
        }
        command = [sys.executable, "-c", "import sys; from tools.machine_code import fill; fill(sys.argv[1:])", *drills]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            raise RuntimeError(f"the machine code for {level} cannot be made:\n{done.stdout[-4000:]}")
        (folder / level).mkdir(parents=True)
        for name, files in collect(Path(caches, "numba")).items():
            (folder / level / f"{name}.tar.xz").write_bytes(archive(files))


def write(folder: Path, drills: Sequence[str] = ()) -> list[str]:
    """Everything, for these drills or for all; returns the levels. Nothing is written where there is none."""
    from dshq_kernels.simd import shipped
    from dshq_kernels.simd.kept import SOURCES
    from dshq_widget.drills import drills as known

    made = levels()
    if made:
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(lambda level: make(level, drills or list(known), folder), made))
        manifest = shipped.conditions(SOURCES) | {"levels": {level: LEVELS[level] for level in made}}
        (folder / shipped.MANIFEST).write_text(json.dumps(manifest, indent=1))
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--drills", nargs="*", default=())
    options = parser.parse_args()
    print(" and ".join(write(options.folder, options.drills)) or "this machine can make none")
