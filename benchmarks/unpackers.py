"""How fast packed frames become pixels: `python -m benchmarks.unpackers` writes benchmarks/results/unpackers-*.json.

Each way to unpack (dshq_widget/pixels/unpackers.py) beside the ceiling, which is copying as many bytes as it has to
move: a byte read and four written. Least and median of rounds, because the machine may be shared. On a GPU where there
is one, `--device cpu` measures the processor there, too; Triton needs a GPU (its interpreter has no speed).
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.pixels import packing, unpackers

FRAMES = {"cpu": 1024, "cuda": 65_536}
"""A batch of 16 sequences of 64 steps, and 64 of them: 1.5 and 94 MB of packed frames."""
ROUNDS = 20


def measure(device: str, frames: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Bytes per second that each way moves, and its share of what a copy moves."""
    chance = torch.Generator(device).manual_seed(0)
    packed = torch.randint(256, (frames, *packing.PACKED), generator=chance, dtype=torch.uint8, device=device)
    moved = packed.numel() * (1 + packing.PER_BYTE)
    source = torch.zeros(moved // 2, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copied = rates(lambda: target.copy_(source), source.numel() * 2, device, rounds)
    ways = [name for name in unpackers.UNPACKERS if name != "triton" or has_triton(device)]
    wanted = packing.unpack(packed)
    found: dict[str, dict[str, float]] = {}
    for name in ways:
        assert torch.equal(unpackers.unpack(packed, name), wanted), name
        found[name] = rates(lambda: unpackers.unpack(packed, name), moved, device, rounds)  # noqa: B023
    best = {name: rate["best"] for name, rate in found.items()}
    return {
        "device": device if device == "cpu" else torch.cuda.get_device_name(),
        "frames": frames,
        "moved_bytes": moved,
        "copy_bytes_per_second": copied["best"],
        "bytes_per_second": best,
        "median_bytes_per_second": {name: rate["median"] for name, rate in found.items()},
        "share_of_copy": {name: rate / copied["best"] for name, rate in best.items()},
    }


def has_triton(device: str) -> bool:
    return device == "cuda" and importlib.util.find_spec("triton") is not None


def rates(act: Callable[[], Any], nbytes: int, device: str, rounds: int) -> dict[str, float]:
    """Bytes per second of the best round and of the median one."""
    seconds = []
    for _ in range(rounds + 1):  # the first compiles
        begin = time.perf_counter()
        act()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return {"best": nbytes / min(seconds[1:]), "median": nbytes / statistics.median(seconds[1:])}


def main() -> None:
    parser = parser_of(__doc__)
    here = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cpu", "cuda"), default=here)
    parser.add_argument("--frames", type=int, help="packed frames at once")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(options.device, options.frames or FRAMES[options.device])
    print(write("unpackers", found))


if __name__ == "__main__":
    main()
