"""What the network's kernels need of a Hopper GPU, found without one: registers, stack (spills), shared memory and
instructions of each, as Triton and NVIDIA's assembler compile them.

`python -m benchmarks.gpu_resources [DRILL ...]` prints one JSON object last; without names it takes every drill and
writes benchmarks/results/gpu_resources-*.json. Instructions a row are those of one pass of the code over its rows times
its warps: with those that a GPU issues in a second they bound the rate from above.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo.learners.learner import ADAM_EPSILON, KL_MARGIN
from dshq_widget.contract.settings import of_drill
from dshq_widget.drills import drills
from dshq_widget.env.batch import compiled
from dshq_widget.gpu.cuda import network, network_kernels
from dshq_widget.gpu.cuda.network import BETAS, PRODUCTS, Network
from dshq_widget.policy.network import PolicySpec

HOPPER = GPUTarget("cuda", 90, 32)
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
TYPES = {
    "act": {"allowed": "*u8", "rows": "*i64", "mask": "*u8", "action": "*i64", "chosen": "*i32"},
    "slopes": {"mask": "*u8", "action": "*i64", "index": "*i64"},
    "gather": {"parts": "*fp64"},
    "step": {"parts": "*fp64", "count": "*fp64", "report": "*fp64", "stopped": "*u8"},
}
"""Of the arguments that are not f32."""
NUMBERS = ("games", "count", "size", "programs")
"""Arguments that are no tensors, where the kernel has such."""


def resources(name: str, constants: dict[str, Any], warps: int) -> dict[str, int]:
    """Registers a thread, bytes of stack a thread, bytes of shared memory a block, instructions of the code."""
    kernel = getattr(network_kernels, name)
    signature = {
        argument: "constexpr"
        if argument in constants
        else TYPES[name].get(argument, "i32" if argument in NUMBERS else "*fp32")
        for argument in kernel.arg_names
    }
    places = {(kernel.arg_names.index(argument),): value for argument, value in constants.items()}
    source = ASTSource(fn=kernel, signature=signature, constexprs=places)
    options = {"num_warps": warps, "num_stages": 1, "enable_fp_fusion": True}
    code = triton.compile(source, target=HOPPER, options=options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code.asm["cubin"])
        file.flush()
        usage = _said("cuobjdump", "-res-usage", file.name)
        listing = _said("cuobjdump", "-sass", file.name)
    found = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    assert found is not None, usage
    instructions = len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+\S", listing, re.MULTILINE))
    return {
        "registers": int(found[1]),
        "stack": int(found[2]),
        "shared": int(code.metadata.shared),
        "instructions": instructions,
    }


def _said(tool: str, *arguments: str) -> str:
    return subprocess.run([TOOLS / tool, *arguments], capture_output=True, text=True, check=True).stdout


def of_network(drill: str) -> Iterator[dict[str, Any]]:
    """A row for each kernel and precision of the network that a drill is trained with; none where torch plays it."""
    game = compiled(drill)
    spec = PolicySpec.for_config(game.spec, of_drill(game.spec))
    masked = game.spec.masked
    for precision in PRODUCTS:
        if network.why_unsupported(spec, precision):
            continue
        here = Network(spec, torch.zeros(spec.floats), precision)
        for name, at, rest in (
            ("act", here.playing, {"kept": True}),
            ("slopes", here.learning, {"clip_value": False}),
        ):
            needs = resources(name, {**here.sizes, "masked": masked, "block": at.rows, **rest}, at.warps)
            row = {"drill": drill, "kernel": name, "precision": precision, "rows": at.rows, "warps": at.warps, **needs}
            yield row | {"instructions_a_row": round(needs["instructions"] * at.warps / at.rows, 1)}
    if network.why_unsupported(spec, "bf16"):
        return
    flat = {"floats": spec.floats}
    yield {"drill": drill, "kernel": "gather", **resources("gather", {**flat, "rows": 16, "columns": 64}, 4)}
    adam = {"margin": KL_MARGIN, "beta_1": BETAS[0], "beta_2": BETAS[1], "epsilon": ADAM_EPSILON, "block": 4096}
    yield {"drill": drill, "kernel": "step", **resources("step", {**flat, **adam}, 16)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("drills", nargs="*", metavar="DRILL", help="of these alone, and nothing is written")
    names = parser.parse_args().drills
    rows = []
    for drill in names or drills:
        for row in of_network(drill):
            print(json.dumps(row), flush=True)
            rows.append(row)
    result = {"triton": triton.__version__, "target": "sm_90", "kernels": rows}
    if not names:
        write("gpu_resources", result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
