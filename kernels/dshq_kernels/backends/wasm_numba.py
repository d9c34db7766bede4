"""C functions of numba as WebAssembly object files, made by llvmlite alone. Run as a process of its own:

    python -m dshq_kernels.backends.wasm_numba < {"module", "names"} as JSON > object files in base 64 as JSON

The first may use 128-bit vectors, the second also relaxed SIMD. numba lowers every function once for both.

The only file that reaches into numba's compiler (simd/shipped.py reaches into its cache). In this process numba lowers
every function for wasm32 instead of the processor, from types to memory layout, keeps the LLVM code as it is, and
neither runs nor caches anything; the whole is optimised once, by LLVM, for WebAssembly. A process of its own, because
what numba has compiled for the processor cannot be compiled again, and because nobody else shall see a numba that is
bent like this.
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
from numba.core import caching, codegen

NUMBA = ("0.65", "0.66", "0.67", "0.68")
"""The series of numba releases whose compiler this file knows: 0.68 by the tests, of the others one drill's bits were
compared. 0.61 does not work: its LLVM has no opaque pointers."""
TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext,+mutable-globals"
RELAXED = "+relaxed-simd"
NO_COUNTS = """
define linkonce_odr void @NRT_incref(ptr %0) alwaysinline { ret void }
define linkonce_odr void @NRT_decref(ptr %0) alwaysinline { ret void }
"""
"""Nothing here owns memory: arrays are views of addresses. Code that allocates still calls the allocator, and is
refused when the module is made."""


OWN = {"llvm.fma.v16f32": "fused", "llvm.minnum.v16f32": "least", "llvm.maxnum.v16f32": "most"}
"""LLVM writes these intrinsics as 16 calls of C's `fmaf`, `fminf` and `fmaxf`, which WebAssembly does not have."""
WIDE, QUARTER = "<16 x float>", "<4 x float>"


class Refused(Exception):
    """A sentence for whoever asked."""


def features(relaxed: bool) -> str:
    """LLVM's names of what the module may use: 128-bit vectors, or also the relaxed ones."""
    return f"{FEATURES},{RELAXED}" if relaxed else FEATURES


def known(version: str) -> str:
    """Empty if this file knows that release of numba, else the sentence that says what to do."""
    if ".".join(version.split(".")[:2]) in NUMBA:
        return ""
    series = " or ".join(NUMBA)
    return (
        f"the WebAssembly back end works with numba {series}, whose compilers it knows, and this is numba {version}: "
        f"`pip install 'numba=={NUMBA[-1]}.*'`"
    )


class _Library(codegen.JITCodeLibrary):
    """A function and all that it calls, as LLVM code that is neither optimised nor turned into machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """All functions are optimised together, later."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Numba asks for it before it is done with a function; nobody calls it."""
        self._ensure_finalized()
        return 1


class _Codegen(codegen.JITCPUCodegen):
    """numba's code generator with a 32-bit WebAssembly machine in place of the processor."""

    _library_class = _Library

    def _init(self, llvm_module: Any) -> None:
        self._tm_features = FEATURES
        self._tm = machine_for(FEATURES)
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)
        self._loopvect, self._opt_level = False, 0

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = TRIPLE
        return module

    def set_env(self, env_name: str, env: object) -> None:
        """No function here has Python objects."""


def machine_for(features: str) -> Any:
    """LLVM's WebAssembly machine."""
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise Refused(f"this llvmlite ({llvm.llvm_version_info}) cannot write WebAssembly: {error}") from error
    return target.create_target_machine(cpu="generic", features=features, opt=3, reloc="static", codemodel="default")


def bend() -> None:
    """From here on numba compiles for WebAssembly. To be called before anything is marked `njit`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    codegen.JITCPUCodegen = _Codegen
    numba.config.CPU_FEATURES = FEATURES  # simd/target.py asks for them
    caching.Cache.load_overload = lambda self, sig, target_context: None
    caching.Cache.save_overload = lambda self, sig, data: None


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
    gives = ", ".join(("ptr %result", "ptr %raised", params)).removesuffix(", ")
    return f"""
declare i32 @"{native}"({takes})
define void @"{name}"({params}) {{
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
        sentence = known(numba.__version__)
        if sentence:
            raise Refused(sentence)
        bend()
        module = importlib.import_module(work["module"])  # not before: importing it makes numba's code generator
        source = lowered(module, work["names"])
        made = [object_file(source, work["names"], relaxed) for relaxed in (False, True)]
        json.dump([base64.b64encode(code).decode() for code in made], sys.stdout)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
