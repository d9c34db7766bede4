"""C functions of numba as WebAssembly object files, made by llvmlite alone. Run as a process of its own:

    python -m dshq_kernels.backends.wasm_numba < {"module", "names"} as JSON > object files in base 64 as JSON

The first may use 128-bit vectors, the second also relaxed SIMD. numba lowers every function once for both.

In this process numba lowers every function for wasm32 (bent_numba.py); LLVM optimises the whole for WebAssembly, once
for both: they differ only in what multiplies and adds. A process of its own, because what numba has compiled for the
processor cannot be compiled again, and because nobody else shall see a numba that is bent like this.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba

from dshq_kernels.backends.wasm_target import TRIPLE, Refused, features, machine_for
from dshq_kernels.simd import releases

NO_COUNTS = """
define linkonce_odr void @NRT_incref(ptr %0) alwaysinline { ret void }
define linkonce_odr void @NRT_decref(ptr %0) alwaysinline { ret void }
"""
"""Nothing here owns memory: arrays are views of addresses. Code that allocates still calls the allocator, and is
refused when the module is made."""


OWN = {"llvm.fma.v16f32": "fused", "llvm.minnum.v16f32": "least", "llvm.maxnum.v16f32": "most"}
"""LLVM writes these intrinsics as 16 calls of C's `fmaf`, `fminf` and `fmaxf`, which WebAssembly does not have."""
SHORT = ("dshq_kernels3run", "dshq_kernels4play5plans")
"""In numba's names of functions of the room `run` and of play/plans.py: they take next to no time, so their code is
kept short."""
WIDE, QUARTER = "<16 x float>", "<4 x float>"
MULTIPLY_ADD = "llvm.wasm.relaxed.madd.v4f32"
"""LLVM's intrinsic for relaxed SIMD's multiply-add, which rounds once where the machine can (WebAssembly relaxed SIMD,
`f32x4.relaxed_madd`)."""
TWO_STEPS = f"""
define {QUARTER} @two_steps({QUARTER} %a, {QUARTER} %b, {QUARTER} %c) alwaysinline {{
  %p = fmul {QUARTER} %a, %b
  %s = fadd {QUARTER} %p, %c
  ret {QUARTER} %s
}}"""
"""A product and a sum, each rounded: what stands for it where there is no relaxed SIMD."""
COLLECTING = (100_000, 50, 1000)
"""Thresholds of Python's garbage collector. numba makes millions of objects that stay, so the usual ones let it search
for a fifth of the time; with these the process takes 30 MB more (measured)."""


def changed(why: object) -> str:
    """What to do where a numba that is not known turned out to be another inside."""
    oldest, newest = map(releases.text, (releases.OLDEST, releases.NEWEST))
    return (
        f"training in a page needs numba {oldest} to {newest}, whose compilers are known here; with numba "
        f"{numba.__version__} it failed ({why}). Run `pip install 'numba=={newest}.*'`, or train in the kernel"
    )


def lowered(module: ModuleType, names: Sequence[str]) -> str:
    """LLVM code of the C functions `names` of `module` (numba's `cfunc`) under these names, and of all they call."""
    functions = [getattr(module, name) for name in names]
    whole = llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{NO_COUNTS}')
    whole.data_layout = functions[0]._library._codegen._data_layout
    for function in functions:
        whole.link_in(function._library._final_module, preserve=True)
    whole.link_in(llvm.parse_assembly("\n".join(_entry(*pair) for pair in zip(names, functions, strict=True))))
    text = str(whole)
    for intrinsic, name in OWN.items():
        text = text.replace(f"@{intrinsic}", f"@{name}")
    return text


def object_files(source: str, names: Sequence[str]) -> list[bytes]:
    """Object files of what `lowered` found, for WebAssembly without and with relaxed SIMD."""
    plain, relaxed = (machine_for(features(kind)) for kind in (False, True))
    whole = llvm.parse_assembly(source)
    if any(part.name in OWN.values() for part in whole.functions):
        whole.link_in(llvm.parse_assembly("\n".join((fused(), nearer("least", "olt"), nearer("most", "ogt")))))
    for part in (*whole.functions, *whole.global_variables):
        if not part.is_declaration and part.name not in names:
            part.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    _run(whole, relaxed, options)
    other = in_two_steps(str(whole), plain)  # before the next line, which writes relaxed SIMD beside every function
    return [plain.emit_object(other), relaxed.emit_object(whole)]


def in_two_steps(optimised: str, machine: Any) -> Any:
    """The module of LLVM code, with a product and a sum in place of every relaxed multiply-add."""
    whole = llvm.parse_assembly(optimised.replace(f"@{MULTIPLY_ADD}(", "@two_steps("))
    if any(part.name == "two_steps" for part in whole.functions):
        whole.link_in(llvm.parse_assembly(TWO_STEPS))
        whole.get_function("two_steps").linkage = "internal"
        _run(whole, machine, llvm.create_pipeline_tuning_options(speed_level=0))  # inlines it, and nothing else
    return whole


def fused() -> str:
    """LLVM code of `fused(a, b, c)`, a b + c of 16 floats, as four of relaxed SIMD's multiply-adds."""
    lines = [
        f"declare {QUARTER} @{MULTIPLY_ADD}({QUARTER}, {QUARTER}, {QUARTER})",
        f"define {WIDE} @fused({WIDE} %a, {WIDE} %b, {WIDE} %c) alwaysinline {{",
    ]

    def shuffle(name: str, kind: str, first: str, second: str, lanes: range) -> None:
        picks = ", ".join(f"i32 {lane}" for lane in lanes)
        lines.append(f"%{name} = shufflevector {kind} {first}, {kind} {second}, <{len(lanes)} x i32> <{picks}>")

    for k in range(4):
        for value in "abc":
            shuffle(f"{value}{k}", WIDE, f"%{value}", "undef", range(4 * k, 4 * k + 4))
        takes = ", ".join(f"{QUARTER} %{value}{k}" for value in "abc")
        lines.append(f"%r{k} = call {QUARTER} @{MULTIPLY_ADD}({takes})")
    shuffle("low", QUARTER, "%r0", "%r1", range(8))
    shuffle("high", QUARTER, "%r2", "%r3", range(8))
    shuffle("all", "<8 x float>", "%low", "%high", range(16))
    return "\n".join([*lines, f"ret {WIDE} %all", "}"])


def nearer(name: str, order: str) -> str:
    """LLVM code of `name(a, b)`, the smaller (`order` olt) or the larger (ogt) of 16 floats; the other one if one is
    NaN, and `a` of two zeros, as on x86-64.
    """
    return f"""
define {WIDE} @{name}({WIDE} %a, {WIDE} %b) alwaysinline {{
  %before = fcmp {order} {WIDE} %b, %a
  %first = select <16 x i1> %before, {WIDE} %b, {WIDE} %a
  %missing = fcmp uno {WIDE} %a, %a
  %result = select <16 x i1> %missing, {WIDE} %b, {WIDE} %first
  ret {WIDE} %result
}}"""


def _run(whole: Any, machine: Any, options: Any) -> None:
    """Run LLVM's passes over a module."""
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(whole, builder)


def _entry(name: str, function: Any) -> str:
    """LLVM code of the C function: calls what numba made of it. numba passes addresses for the result and for an
    exception first; compiled rules have neither.
    """
    kinds = [str(machine_type(kind)) for kind in function._sig.args]
    params = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(kinds))
    native = function.native_name.removeprefix("cfunc.")
    takes = ", ".join(("ptr", "ptr", *kinds))
    made = function._library._final_module.get_function(native)
    if (found := ", ".join(str(part.type) for part in made.arguments)) != takes:
        raise Refused(changed(f"a function has ({found}) in the place of ({takes})"))
    gives = ", ".join(("ptr %result", "ptr %raised", params)).removesuffix(", ")
    short = "optsize" if any(name in native for name in SHORT) else ""
    return f"""
declare i32 @"{native}"({takes})
define void @"{name}"({params}) {short} {{
  %result = alloca i64
  %raised = alloca i64
  %status = call i32 @"{native}"({gives})
  ret void
}}"""


def machine_type(kind: Any) -> str:
    """LLVM's name of a C function's parameter: an integer or a float."""
    return {"float32": "float", "float64": "double"}.get(kind.name) or f"i{kind.bitwidth}"


def main() -> int:
    """The process. Exit code 1 and one sentence on stderr where it cannot be done."""
    work = json.load(sys.stdin)
    gc.set_threshold(*COLLECTING)
    try:
        from dshq_kernels.backends.bent_numba import bend  # here, since another numba may lack what it imports

        bend()
        module = importlib.import_module(work["module"])  # not before: importing it makes numba's code generator
        made = object_files(lowered(module, work["names"]), work["names"])
        json.dump([base64.b64encode(code).decode() for code in made], sys.stdout)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        if releases.is_known():
            raise
        print(changed(f"{type(error).__name__}: {error}"), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
