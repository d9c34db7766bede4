"""The WebAssembly back end: small modules with the processor's bits; sentences where none can be made."""

import base64
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm
import pytest

from dshq_kernels.backends import wasm
from dshq_kernels.backends.wasm_module import Reader, linked, signed, unsigned
from dshq_kernels.backends.wasm_target import FEATURES, TRIPLE
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.bandit import Bandit
from dshq_widget.env.trace import node, trace
from tests.harness.games.constructs import Permits, Words

TABLE = """
@table = constant [4 x i64] [i64 11, i64 22, i64 33, i64 44]
@second = constant ptr getelementptr (i8, ptr @table, i32 8)
define i64 @look(i64 %k) {
  %index = trunc i64 %k to i32
  %place = getelementptr [4 x i64], ptr @table, i32 0, i32 %index
  %value = load i64, ptr %place
  %behind = load volatile ptr, ptr @second
  %other = load i64, ptr %behind
  %sum = add i64 %value, %other
  ret i64 %sum
}
"""
LOOK = """
const memory = new WebAssembly.Memory({ initial: 1 });
const module = new WebAssembly.Module(Buffer.from(require("fs").readFileSync(0, "utf8"), "base64"));
const { look } = new WebAssembly.Instance(module, { env: { memory } }).exports;
const at = new Uint8Array(memory.buffer).indexOf(11);
console.log(JSON.stringify([Number(look(0n)), Number(look(3n)), at]));
"""
ROOTS = """
const memory = new WebAssembly.Memory({ initial: 1 });
const stack = new WebAssembly.Global({ value: "i32", mutable: true }, 32768);
const table = new WebAssembly.Table({ initial: 1, element: "anyfunc" });
const module = new WebAssembly.Module(Buffer.from(require("fs").readFileSync(0, "utf8"), "base64"));
const env = { memory, __stack_pointer: stack, __indirect_function_table: table };
const { first, second } = new WebAssembly.Instance(module, { env }).exports;
const number = new Float64Array(memory.buffer, 1024, 1);
const of = (root) => ((number[0] = 2), root(1024n), number[0]);
console.log(JSON.stringify([of(first), of(second)]));
"""


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rules"


def object_of(text):
    """LLVM code as an object file for wasm32, as it stands."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(features=FEATURES, reloc="static")
    return machine.emit_object(llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{text}'))


@pytest.mark.parametrize("declared", [Words, Permits])
def test_every_construct_has_the_same_bits_in_webassembly(declared):
    drill = compile_drill(declared)
    cpu, module = (trace(drill, 300, 77, backend) for backend in ("cpu", "wasm"))
    assert {**module, "backend": "cpu"} == cpu and cpu["episodes"] > 0


def test_a_module_is_small_exports_its_verbs_in_order_and_is_made_once(own_cache, monkeypatch):
    drill = compile_drill(Bandit)
    module = drill.wasm()
    assert module.startswith(b"\0asm") and len(module) < 8_000
    places = [module.index(unsigned(len(name)) + name.encode()) for name in wasm.verb_names(drill.spec)]
    assert places == sorted(places)
    (file,) = own_cache.glob("*.wasm")
    assert file.read_bytes() == module
    monkeypatch.setattr(wasm, "_object_of", lambda *what: pytest.fail("it is compiled again"))
    assert drill.wasm() == module
    monkeypatch.setattr(wasm, "_object_of", lambda *what: object_of("define void @look() { ret void }"))
    with pytest.raises(RuntimeError, match="lacks reset, decide"):
        drill.wasm(relaxed=True)
    assert list(own_cache.glob("*.wasm*")) == [file], "another target has another key, and a failure leaves nothing"


def test_pages_that_ask_at_once_wait_for_one_compiler(own_cache, monkeypatch):
    begun = []

    def slowly(work):
        begun.append(work)
        time.sleep(0.2)
        return [object_of("define void @look() { ret void }")] * 2

    monkeypatch.setattr(wasm, "_object_files", slowly)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(wasm.compiled_module, {"look": "any"}, wasm.DRILL_DATA, k % 2 == 1) for k in range(8)]
        assert len({one.result() for one in asked}) == 1
    assert len(begun) == 1


def test_a_newer_numba_is_tried_and_where_its_inside_has_changed_a_sentence_says_what_to_do(tmp_path):
    head = "import numpy as np\nfrom numba import carray, cfunc, types\n"
    head += "from dshq_kernels.backends.lanes import pointer\n@cfunc(types.void(types.int64))\n"
    (tmp_path / "double.py").write_text(f"{head}def double(at):\n    carray(pointer(at), 1, np.float64)[0] *= 2.0\n")

    def made(change: str) -> subprocess.CompletedProcess:
        bent = f"import numba, sys; numba.__version__ = '0.99.1'; from numba.core import codegen; {change}"
        run_it = "from dshq_kernels.backends.wasm_numba import main; sys.exit(main([]))"
        return subprocess.run(
            [sys.executable, "-c", f"{bent}; {run_it}"],
            input=json.dumps({"double": "double"}),
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            capture_output=True,
            text=True,
            timeout=300,
        )

    same = made("pass")
    assert same.returncode == 0 and len(json.loads(same.stdout)) == 2, same.stderr
    other = made("del codegen.JITCPUCodegen")
    assert other.returncode == 1 and other.stdout == ""
    assert "with numba 0.99.1 it failed" in other.stderr and "pip install 'numba==0.68.*'" in other.stderr


def test_two_processes_make_of_two_modules_what_one_makes(tmp_path):
    """What both modules call is there once, and what the second process says reaches the caller."""
    (tmp_path / "common.py").write_text(
        "from numba.extending import register_jitable\nfrom dshq_kernels.simd.vector import compiled\n"
        '@register_jitable(error_model="numpy")\ndef times(x, n):\n    return x * n\n'  # compiled twice
        "@compiled\ndef root(x):\n    for _ in range(9):\n        x = times(x + 2.0 / x, 0.5)\n    return x\n"
    )
    head = "import numpy as np\nfrom numba import carray, cfunc, types\nfrom common import root, times\n"
    head += "from dshq_kernels.backends.lanes import pointer\n@cfunc(types.void(types.int64))\n"
    for name, sign in (("first", "+"), ("second", "-")):
        body = f"    a = carray(pointer(at), 1, np.float64)\n    a[0] = times(root(a[0]), {sign}1.0)\n"
        (tmp_path / f"{name}.py").write_text(f"{head}def {name}(at):\n{body}")

    def made(processors: int, second: str) -> subprocess.CompletedProcess:
        run_it = f"import sys; from dshq_kernels.backends import wasm_numba as it; it.processors = lambda: {processors}"
        return subprocess.run(
            [sys.executable, "-c", f"{run_it}; sys.exit(it.main([]))"],
            input=json.dumps({"first": "first", "second": second}),
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            capture_output=True,
            text=True,
            timeout=300,
        )

    one, two = (made(processors, "second") for processors in (1, 2))
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    names = ["first", "second"]
    modules = [
        [linked(base64.b64decode(code), names, wasm.LEARNER_DATA) for code in json.loads(done.stdout)]
        for done in (one, two)
    ]
    assert modules[0] == modules[1]
    given = base64.b64encode(modules[1][0]).decode()
    run = subprocess.run([node(), "-e", ROOTS], input=given, capture_output=True, text=True, timeout=60)
    assert run.stderr == "" and json.loads(run.stdout) == pytest.approx([2**0.5, -(2**0.5)])
    lost = made(2, "no_such_module")
    assert lost.returncode == 1 and lost.stdout == "" and "no_such_module" in lost.stderr


def test_code_that_webassembly_cannot_run_is_refused_with_the_reason(own_cache, tmp_path, monkeypatch):
    """What the compiler's process says reaches the caller, and what allocates is named."""
    head = "import numpy as np\nfrom numba import carray, cfunc, types\n"
    head += "from dshq_kernels.backends.lanes import pointer\n"
    body = "    a = np.zeros(n)\n    carray(pointer(n), 1, np.float64)[0] = a.sum()\n"
    (tmp_path / "growing.py").write_text(f"{head}@cfunc(types.void(types.int64))\ndef grow(n):\n{body}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(RuntimeError, match="NRT_MemInfo_alloc.*WebAssembly does not have"):
        wasm.compiled_module({"grow": "growing"}, wasm.DRILL_DATA, False)
    with pytest.raises(RuntimeError, match="no_such_module"):
        wasm.compiled_module({"grow": "no_such_module"}, wasm.DRILL_DATA, False)


def test_data_lies_where_it_was_asked_for():
    """Constants in code and in other constants point to it."""
    module = linked(object_of(TABLE), ["look"], 4096)
    script = [node(), "-e", LOOK]
    run = subprocess.run(script, input=base64.b64encode(module).decode(), capture_output=True, text=True, timeout=60)
    assert run.stderr == "" and json.loads(run.stdout) == [11 + 22, 44 + 22, 4096]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("declare void @far(i64)\ndefine void @look(i64 %a) { call void @far(i64 %a) ret void }", "calls far, which"),
        ("define i64 @look() { ret i64 ptrtoint (ptr @look to i64) }", "address of a function"),
        ("define void @other() { ret void }", "lacks look"),
    ],
)
def test_what_needs_a_linker_is_refused(text, reason):
    with pytest.raises(RuntimeError, match=reason):
        linked(object_of(text), ["look"], 1024)


@pytest.mark.parametrize("value", [0, 1, -1, 63, 64, -64, -65, 127, 128, 2**31 - 1, -(2**31)])
def test_numbers_are_written_as_the_format_wants_them(value):
    for width in (0, 5):
        assert Reader(signed(value, width)).number(signed=True) == value
        if value >= 0:
            assert Reader(unsigned(value, width)).number() == value
    assert len(unsigned(max(0, value), 5)) == len(signed(value, 5)) == 5
