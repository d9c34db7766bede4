"""C functions of numba as WebAssembly object files, made by llvmlite alone. Run as a process of its own:

    python -m dshq_kernels.backends.wasm_numba < {name: module} as JSON > object files in base 64 as JSON

The first may use 128-bit vectors, the second also relaxed SIMD. numba lowers every function once for both.

In this process numba lowers every function for wasm32 (bent_numba.py); LLVM optimises the whole for WebAssembly, once
for both: they differ only in what multiplies and adds. A process of its own, because what numba has compiled for the
processor cannot be compiled again, and because nobody else shall see a numba that is bent like this. With two modules
and two processors a second such process (`Helper`) lowers the second module and writes the first object file.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba

from dshq_kernels.backends.own_python import own_python
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
HELPER = "help"
"""The argument of the second process."""
COLLECTING = (100_000, 50, 1000)
"""Thresholds of Python's garbage collector. numba makes millions of objects that stay, so the usual ones let it search
for a fifth of the time; with these the process takes 30 MB more (measured)."""


class Piece(NamedTuple):
    """One of the C functions."""

    bitcode: bytes
    """LLVM's, of numba's function and of others that it calls."""
    entry: str
    """LLVM code of the C function, which calls that one."""


def changed(why: object) -> str:
    """What to do where a numba that is not known turned out to be another inside."""
    oldest, newest = map(releases.text, (releases.OLDEST, releases.NEWEST))
    return (
        f"training in a page needs numba {oldest} to {newest}, whose compilers are known here; with numba "
        f"{numba.__version__} it failed ({why}). Run `pip install 'numba=={newest}.*'`, or train in the kernel"
    )


def lowered(module: str, names: Sequence[str]) -> dict[str, Piece]:
    """The C functions `names` (numba's `cfunc`) of a module, by its dotted name; with each those that it calls and no
    earlier one does.
    """
    from dshq_kernels.backends.bent_numba import with_callees  # numba is bent by now, or this fails

    there = importlib.import_module(module)  # not before: importing it makes numba's code generator
    seen: set[Any] = set()
    found = {}
    for name in names:
        function = getattr(there, name)
        whole = llvm.parse_assembly(f'target triple = "{TRIPLE}"')
        whole.data_layout = function._library._codegen._data_layout
        for part in with_callees(function, seen):
            whole.link_in(part, preserve=True)
        for one in whole.functions:
            if not one.is_declaration and one.linkage == llvm.Linkage.external and one.name != _native(function):
                one.linkage = "linkonce_odr"  # another process may have lowered it, too
        found[name] = Piece(whole.as_bitcode(), _entry(name, function))
    return found


def joined(pieces: Sequence[Piece]) -> Any:
    """LLVM's module of these pieces together, with the C functions under their names."""
    whole = llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{NO_COUNTS}')
    for piece in pieces:
        part = llvm.parse_bitcode(piece.bitcode)
        whole.data_layout = part.data_layout
        whole.link_in(part)
    whole.link_in(llvm.parse_assembly("\n".join(piece.entry for piece in pieces)))
    return whole


def object_files(whole: Any, names: Sequence[str], helper: Helper | None = None) -> list[bytes]:
    """Object files of what `joined` has, for WebAssembly without and with relaxed SIMD."""
    relaxed = machine_for(features(True))
    if _renamed(whole, OWN):
        whole.link_in(llvm.parse_assembly("\n".join((fused(), nearer("least", "olt"), nearer("most", "ogt")))))
    for part in (*whole.functions, *whole.global_variables):
        if not part.is_declaration and part.name not in names:
            part.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    _run(whole, relaxed, options)
    bitcode = whole.as_bitcode()  # before it is written, which writes relaxed SIMD beside every function
    if helper is None:
        return [without_relaxed(bitcode), relaxed.emit_object(whole)]
    helper.ask(bitcode)
    code = relaxed.emit_object(whole)
    return [helper.answer(), code]


def without_relaxed(optimised: bytes) -> bytes:
    """The object file of bitcode, with a product and a sum in place of every relaxed multiply-add."""
    plain = machine_for(features(False))
    whole = llvm.parse_bitcode(optimised)
    if _renamed(whole, {MULTIPLY_ADD: "two_steps"}):
        whole.link_in(llvm.parse_assembly(TWO_STEPS))
        whole.get_function("two_steps").linkage = "internal"
        _run(whole, plain, llvm.create_pipeline_tuning_options(speed_level=0))  # inlines it, and nothing else
    return plain.emit_object(whole)


def _renamed(whole: Any, names: Mapping[str, str]) -> bool:
    """Whether some of these functions of a module now have the other name."""
    found = [part for part in whole.functions if part.name in names]
    for part in found:
        part.name = names[part.name]
    return bool(found)


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
    native = _native(function)
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


def _native(function: Any) -> str:
    """LLVM's name of what numba made of a C function."""
    name: str = function.native_name
    return name.removeprefix("cfunc.")


def machine_type(kind: Any) -> str:
    """LLVM's name of a C function's parameter: an integer or a float."""
    return {"float32": "float", "float64": "double"}.get(kind.name) or f"i{kind.bitwidth}"


class Ended(Exception):
    """The helper has ended, and said why on the standard error that it shares."""


class Helper:
    """A second process of this file. It is asked to lower the functions of a module, then to write an object file, and
    works on that while this process goes on.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            own_python("-m", "dshq_kernels.backends.wasm_numba", HELPER), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, *question: Any) -> None:
        """What to lower (module, names), then what to write (bitcode)."""
        _send(self._process.stdin, question)

    def answer(self) -> Any:
        """What `lowered` finds, then the object file. Raises Ended, or Refused if the system has ended the process."""
        try:
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except EOFError:
            if self._process.wait() < 0:
                raise Refused("the second of the two processes that compile it was killed: is memory low?") from None
            raise Ended from None

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()


def _send(stream: Any, message: Any) -> None:
    pickle.dump(message, stream)
    stream.flush()


def help_with() -> None:
    """The helper."""
    pieces = _bent(1, *pickle.load(sys.stdin.buffer))
    _send(sys.stdout.buffer, {name: tuple(piece) for name, piece in pieces.items()})
    _send(sys.stdout.buffer, without_relaxed(*pickle.load(sys.stdin.buffer)))


def _bent(share: int, module: str, names: Sequence[str]) -> dict[str, Piece]:
    from dshq_kernels.backends.bent_numba import bend  # here, since another numba may lack what it imports

    bend(share)
    return lowered(module, names)


def make() -> None:
    """Answers what it is asked on standard input."""
    asked: dict[str, str] = json.load(sys.stdin)
    parts: dict[str, list[str]] = {}
    for name, module in asked.items():
        parts.setdefault(module, []).append(name)
    (module, names), *others = parts.items()
    with Helper() if others and processors() > 1 else contextlib.nullcontext() as helper:
        if helper:
            helper.ask(*others.pop(0))
        found = _bent(0, module, names)
        for part in others:
            found |= lowered(*part)
        if helper:
            found |= {name: Piece(*piece) for name, piece in helper.answer().items()}
        made = object_files(joined([found[name] for name in asked]), list(asked), helper)
    json.dump([base64.b64encode(code).decode() for code in made], sys.stdout)


def processors() -> int:
    """Those that this process may use, as numba counts them."""
    return int(numba.config.NUMBA_DEFAULT_NUM_THREADS)


def main(arguments: Sequence[str]) -> int:
    """The process. Exit code 1 and one sentence on stderr where it cannot be done."""
    gc.set_threshold(*COLLECTING)
    try:
        help_with() if HELPER in arguments else make()
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except Ended:
        return 1
    except Exception as error:
        if releases.is_known():
            raise
        print(changed(f"{type(error).__name__}: {error}"), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
