"""CUDA back end: a `Program` as numba.cuda kernels, one thread per game (docs/architecture.md, "CUDA form").

The state of n games is one u32 array `[words, n]`: each field's element is a row, so that neighbouring threads read
neighbouring words. A kernel keeps the words it uses in registers and writes the changed ones back at its end. Array
fields with an index that is unknown at compile time stay in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.generated import load_module
from dshq_kernels.backends.spec import Described, RulesSpec
from dshq_kernels.backends.walk import AS_PYTHON, INTEGERS, OnRows, Rows, Spelling
from dshq_kernels.language.ir import BOOL, F32, I32, U32, Const, Expr, For, If, Program, Stmt
from dshq_kernels.language.scope import TOO_DEEP
from dshq_kernels.language.subset import RulesError

BLOCK = 128
"""Threads in a block (assumed: to be measured on a GPU)."""
HEADER = '''"""Generated from the rules of {name!r}. Do not edit: the file's name is the hash of its text."""
import numpy as np
from numba import cuda
from dshq_kernels.backends.threads import absolute, add, divide, emit, floor, hash32, multiply, real, real_word, select
from dshq_kernels.backends.threads import square_root, subtract
f32, i32, u32 = np.float32, np.int32, np.uint32
'''
WORDS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
SPELT: Spelling = {
    **AS_PYTHON,
    **{(op, F32): f"{word}({{}}, {{}})" for op, word in WORDS.items()},
    **{(op, kind): f"{kind}({{}} {op} {{}})" for op in INTEGERS for kind in (I32, U32)},
    **{("neg", kind): f"{kind}(-{{}})" for kind in (I32, U32)},
    **{("inv", kind): f"{kind}(~{{}})" for kind in (I32, U32)},
    "abs": "absolute({})",
    "sqrt": "square_root({})",
    "and": "({} & {})",
    "or": "({} | {})",
    "select": "select({}, {}, {})",
}


class Block(NamedTuple):
    """Statements, where they write their results, and the loop or test around them."""

    statements: tuple[Stmt, ...]
    place: str = ""
    head: str = ""


def cuda_source(program: Program) -> str:
    """One module of kernels; see the table in docs/architecture.md for their arguments."""
    sides, verbs = range(program.sides), program.verbs
    reset, decide = Block(verbs["reset"]), Block(verbs.get("decide", ()))
    tick = Block(verbs["tick"], head="for _ in range(n):")
    terms = [Block(verbs[f"terms:{k}"], f"o[{k}, {{}}, t]") for k in sides]
    ends = [Block(verbs[name], f"ends[{k}, t]") for k, name in enumerate(("terminated", "winner"))]
    seen = [Block(verbs[f"observe:{k}"], f"o[{k}, {{}}, t]") for k in sides]
    last = [Block(verbs[f"observe:{k}"], f"last[place[{k}, t], {{}}]", f"if place[{k}, t] >= 0:") for k in sides]
    chosen = " and chosen[t] != 0"
    parts = [HEADER.format(name=program.name)]
    parts.append(_kernel(program, "reset", "s, chosen", [reset], test=chosen))
    parts.append(_kernel(program, "decide", "s", [decide]))
    parts.append(_kernel(program, "tick", "s, n", [tick]))
    parts.append(_kernel(program, "observe", "s, o", seen))
    parts.append(_kernel(program, "terms", "s, o", terms))
    parts.append(_kernel(program, "status", "s, ends", ends))
    parts.append(_kernel(program, "turn", "s, n, o, ends", [decide, tick, *terms, *ends]))
    parts.append(_kernel(program, "renew", "s, chosen, place, last, o", [*last, reset, *terms], test=chosen))
    if program.masked:
        allowed = [Block(verbs[f"mask:{k}"], f"o[{k}, {{}}, t]") for k in sides]
        parts.append(_kernel(program, "mask", "s, o", allowed))
    parts.append(_kernel(program, "random", "s, o", [Block(verbs["random"], "o[{}, t]")]))
    parts.append(_kernel(program, "scene", "s, o, counts", [Block(verbs["scene"])], counted=True))
    for name in program.baselines:
        chosen_by = [Block(verbs[f"baseline:{name}:{k}"], f"o[{k}, t]") for k in sides]
        parts.append(_kernel(program, f"baseline_{name}", "s, o", chosen_by))
    return "\n".join(parts)


def _kernel(
    program: Program, name: str, params: str, blocks: Sequence[Block], test: str = "", counted: bool = False
) -> str:
    """A kernel that loads, runs the blocks and stores."""
    statements = [statement for block in blocks for statement in block.statements]
    state = _State(program, statements)
    touched, written = state.touched(statements)
    code = _Kernel(state, 2)
    for line in state.loads(touched):
        code.line(line)
    if counted:
        code.line("count = 0")
    before = len(code.lines)
    for block in blocks:
        code.block(block)
    if len(code.lines) == before:
        code.line("pass")
    for line in state.stores(written):
        code.line(line)
    if counted:
        code.line("counts[t] = count")
    head = ["@cuda.jit(cache=True)", f"def {name}({params}):", "    t = cuda.grid(1)", f"    if t < s.shape[1]{test}:"]
    return "\n".join((*head, *code.lines)) + "\n"


class _State(Rows):
    def word(self, field: str, place: int | str) -> str:
        row = self.rows[field]
        return f"s[{row + place}, t]" if isinstance(place, int) else f"s[{row} + {place}, t]"

    def number(self, word: str, kind: str) -> str:
        if kind == BOOL:
            return f"({word} != u32(0))"
        return {F32: f"real({word})", U32: word}.get(kind, f"i32({word})")

    def bits(self, value: str, kind: str) -> str:
        return f"real_word({value})" if kind == F32 else f"u32({value})"


class _Kernel(OnRows):
    """A kernel as it is written."""

    pad, spelt, flag = "    ", SPELT, "i32({})"

    def block(self, block: Block) -> None:
        """Write its statements, inside its head; nothing where it has none."""
        self._place = block.place
        if not block.head:
            self.statements(block.statements)
        elif block.statements:
            self.line(block.head)
            self.inside(block.statements)

    def assign(self, name: str, value: Expr) -> None:
        self.line(f"{name} = {self.expr(value)}")

    def store(self, field: str, index: Expr | None, value: Expr) -> None:
        self.line(self.stored(field, index, value))

    def out(self, index: Expr, value: Expr) -> None:
        self.line(f"{self._place.format(self.expr(index))} = {self.as_number(value)}")

    def emit(self, values: Sequence[Expr]) -> None:
        self.line(f"count = emit(o, count, t, {', '.join(map(self.expr, values))})")

    def branch(self, it: If) -> None:
        self.line(f"if {self.expr(it.test)}:")
        self.inside(it.body)
        if not it.body:
            self.line(f"{self.pad}pass")
        if it.orelse:
            self.line("else:")
            self.inside(it.orelse)

    def loop(self, it: For) -> None:
        self.line(f"for {it.var}_ in range({it.start}, {it.stop}, {it.step}):")
        self.line(f"{self.pad}{it.var} = i32({it.var}_)")
        self.inside(it.body)

    def constant(self, value: Const) -> str:
        number, kind = value.value, value.type
        if kind == BOOL:
            return str(bool(number))
        if kind == F32:
            return f"f32({float(number)!r})" if np.isfinite(number) else f"f32({'' if number > 0 else '-'}np.inf)"
        return f"{kind}({int(number)})"


def why_unusable() -> str:
    """Why numba cannot compile for a GPU on this machine, in one line; "" if it can."""
    from numba import cuda

    try:
        if not cuda.is_available():
            return "numba finds no CUDA device"
        cuda.compile_ptx_for_current_device(lambda: None, ())
    except Exception as error:  # numba has no common exception class for a missing driver, compiler or linker
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ""


class CudaGame(Described):
    """A compiled game on the GPU: calls over games whose state is one device array.

    `state` is u32 `[words, n]` on the device; results are device arrays with the game last, new ones unless the caller
    gives one as `out`. Every call is queued on `stream` (by default numba's) and returns before it is done. Device
    arrays have `__cuda_array_interface__`: torch shares them.
    """

    stream: Any = 0

    def __init__(self, source: str, spec: RulesSpec):
        """Raises RuntimeError if numba finds no usable GPU, and RulesError for rules that it cannot read."""
        from numba import cuda

        if not cuda.is_available():
            raise RuntimeError(
                "numba found no usable CUDA device: run `dshq doctor` for details; NUMBA_ENABLE_CUDASIM=1 runs a "
                "few games in numba's simulator"
            )
        from dshq_kernels.backends import threads

        if not threads.SIMULATED:
            from numba.cuda import dispatcher

            dispatcher.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # with few games every launch would warn
        self._cuda, self._threads = cuda, threads
        try:
            self.module = load_module(source)
        except (SyntaxError, RecursionError) as error:
            what, mend = TOO_DEEP
            raise RulesError(f"the rules of {spec.name!r}: {what} for CUDA ({error.args[0]}): {mend}") from None
        self.describe(spec)
        self.rows: dict[str, slice] = {}
        row = 0
        for name, _, length in spec.fields:
            self.rows[name] = slice(row, row + max(1, length))
            row += max(1, length)
        self.words_per_game = row

    def queue_on(self, stream: Any) -> None:
        """Queue calls on this stream from now on; 0: on numba's."""
        self.stream = stream

    def _run(self, kernel: Any, state: Any, *arguments: Any) -> None:
        self.launch(kernel, state.shape[1], state, *arguments)

    def launch(self, kernel: Any, n: int, *arguments: Any) -> None:
        """Launch a kernel with `n` threads on `stream`."""
        if self._threads.SIMULATED:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # NumPy scalars warn at every wrap
                kernel[(n + 15) // 16, 16](*arguments)
        else:
            kernel[(n + BLOCK - 1) // BLOCK, BLOCK, self.stream](*arguments)

    def new(self, n: int, seed: int = 0, practice: bool = False) -> Any:
        """State of `n` games seeded `seed, seed + 1, ...` (mod 2^32), each at the start of an episode."""
        words = np.zeros((self.words_per_game, n), np.uint32)
        words[self.rows["rng_key"]] = np.arange(n, dtype=np.uint64) + np.uint64(seed % (1 << 32))
        words[self.rows["practice"]] = int(practice)
        state = self._cuda.to_device(words)
        self.reset(state, self._cuda.to_device(np.ones(n, np.uint8)))
        return state

    def reset(self, state: Any, chosen: Any) -> None:
        """Start new episodes where `chosen`, u8 `[n]` on the device, is not zero."""
        self._run(self.module.reset, state, chosen)

    def decide(self, state: Any) -> None:
        """Apply the actions in the state's field `action`."""
        self._run(self.module.decide, state)

    def tick(self, state: Any, n: int = 1) -> None:
        self._run(self.module.tick, state, n)

    def turn(self, state: Any, n: int, terms: Any, ends: Any) -> None:
        """`decide`, `tick`, `terms` and `status` in one launch."""
        self._run(self.module.turn, state, n, terms, ends)

    def renew(self, state: Any, chosen: Any, place: Any, last: Any, terms: Any) -> None:
        """`reset`, and the `terms` of the new episodes. The last observation of a side of a chosen game goes to the row
        of `last`, f32 `[rows, n_obs]`, given by `place`, i32 `[sides, n]`; -1: nowhere.
        """
        self._run(self.module.renew, state, chosen, place, last, terms)

    def observe(self, state: Any, out: Any = None) -> Any:
        """f32 `[sides, n_obs, n]`."""
        return self._result(self.module.observe, state, (self.sides, self.n_obs), np.float32, out)

    def terms(self, state: Any, out: Any = None) -> Any:
        """Reward values and potentials in the order of `spec.terms`: f32 `[sides, n_terms, n]`."""
        return self._result(self.module.terms, state, (self.sides, self.n_terms), np.float32, out)

    def status(self, state: Any, out: Any = None) -> Any:
        """terminated (0 or 1) and winner (+1, 0, -1): i32 `[2, n]`."""
        return self._result(self.module.status, state, (2,), np.int32, out)

    def mask(self, state: Any, out: Any = None) -> Any:
        """Allowed actions of each side: u8 `[sides, n_actions, n]`, 0 or 1; `out` must be all 0."""
        shape = (self.sides, self.n_actions, state.shape[1])
        if not self.masked:
            return self._cuda.to_device(np.ones(shape, np.uint8))
        allowed = self._cuda.to_device(np.zeros(shape, np.uint8)) if out is None else out
        self._run(self.module.mask, state, allowed)
        self.launch(self._threads.allow_some, state.shape[1], allowed)
        return allowed

    def actions(self, state: Any, who: str, out: Any = None, mask: Any = None) -> Any:
        """Actions of a baseline, or of "random" (draws from the games' generators): i32 `[sides, n]`.

        `mask` is this state's mask if it is already known; only "random" needs it.
        """
        kernel = self.module.random if who == "random" else getattr(self.module, f"baseline_{who}")
        chosen = self._result(kernel, state, (self.sides,), np.int32, out)
        if who == "random" and self.masked:
            self.launch(self._threads.pick, state.shape[1], chosen, self.mask(state) if mask is None else mask)
        return chosen

    def scene(self, state: Any, shapes: Any, counts: Any) -> None:
        """The shapes of every game, f32 `[scene_max, 12, n]`, and how many each has, i32 `[n]`."""
        self._run(self.module.scene, state, shapes, counts)

    def words(self, state: Any) -> NDArray[Any]:
        """Each game's state in declaration order as u32 `[n, words]` on the host, as `CpuGame.words`."""
        return np.ascontiguousarray(state.copy_to_host().T)

    def _result(self, kernel: Any, state: Any, shape: tuple[int, ...], dtype: type, out: Any = None) -> Any:
        out = self._cuda.device_array((*shape, state.shape[1]), dtype) if out is None else out
        self._run(kernel, state, out)
        return out
