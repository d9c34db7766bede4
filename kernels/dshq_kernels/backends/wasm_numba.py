"""C functions of numba as WebAssembly object files, made by llvmlite alone. Run as a process of its own:

    python -m dshq_kernels.backends.wasm_numba < {"module", "names"} as JSON > object files in base 64 as JSON

The first may use 128-bit vectors, the second also relaxed SIMD. numba lowers every function once for both.

In this process numba lowers every function for wasm32 (bent_numba.py); the whole is optimised once, by LLVM, for
WebAssembly. A process of its own, because what numba has compiled for the processor cannot be compiled again, and
because nobody else shall see a numba that is bent like this.
"""

from __future__ import annotations

import base64
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
SHORT = "dshq_kernels3run"
"""In numba's names of functions of the room `run`: they take next to no time, so their code is kept short."""
WIDE, QUARTER = "<16 x float>", "<4 x float>"


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


def object_file(source: str, names: Sequence[str], relaxed: bool) -> bytes:
    """An object file of what `lowered` found, optimised for WebAssembly with or without relaxed SIMD."""
    machine = machine_for(features(relaxed))
    whole = llvm.parse_assembly(source)
    if any(part.name in OWN.values() for part in whole.functions):
        whole.link_in(llvm.parse_assembly("\n".join((fused(relaxed), nearer("least", "olt"), nearer("most", "ogt")))))
    for part in (*whole.functions, *whole.global_variables):
        if not part.is_declaration and part.name not in names:
            part.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(whole, builder)
    return machine.emit_object(whole)


def fused(relaxed: bool) -> str:
    """LLVM code of `fused(a, b, c)`, a b + c of 16 floats: a product and a sum, each rounded, or four of relaxed SIMD's
    multiply-adds, which round once where the machine can (WebAssembly relaxed SIMD, `f32x4.relaxed_madd`).
    """
    head = f"define {WIDE} @fused({WIDE} %a, {WIDE} %b, {WIDE} %c) alwaysinline {{"
    if not relaxed:
        return f"{head} %p = fmul {WIDE} %a, %b\n %s = fadd {WIDE} %p, %c\n ret {WIDE} %s }}"
    lines = [f"declare {QUARTER} @llvm.wasm.relaxed.madd.v4f32({QUARTER}, {QUARTER}, {QUARTER})", head]

    def shuffle(name: str, kind: str, first: str, second: str, lanes: range) -> None:
        picks = ", ".join(f"i32 {lane}" for lane in lanes)
        lines.append(f"%{name} = shufflevector {kind} {first}, {kind} {second}, <{len(lanes)} x i32> <{picks}>")

    for k in range(4):
        for value in "abc":
            shuffle(f"{value}{k}", WIDE, f"%{value}", "undef", range(4 * k, 4 * k + 4))
        takes = ", ".join(f"{QUARTER} %{value}{k}" for value in "abc")
        lines.append(f"%r{k} = call {QUARTER} @llvm.wasm.relaxed.madd.v4f32({takes})")
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
    short = "optsize" if SHORT in native else ""
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
    try:
        from dshq_kernels.backends.bent_numba import bend  # here, since another numba may lack what it imports

        bend()
        module = importlib.import_module(work["module"])  # not before: importing it makes numba's code generator
        source = lowered(module, work["names"])
        made = [object_file(source, work["names"], relaxed) for relaxed in (False, True)]
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
