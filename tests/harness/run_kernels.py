"""The page's own functions of a run and its plans alone, for tests in Node: compiled in seconds, without the
learner's."""

import base64
from functools import cache

from dshq_kernels.backends.wasm import LEARNER_DATA, compiled_module
from dshq_kernels.play.records import OTHERS


@cache
def run_module() -> str:
    """Their WebAssembly module, in base 64: `kernelsOf` of js/tests/harness/run_kernels.ts reads it."""
    functions = dict.fromkeys(OTHERS, "dshq_kernels.play.plans")
    return base64.b64encode(compiled_module(functions, LEARNER_DATA, False)).decode()
