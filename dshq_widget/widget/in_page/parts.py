"""What a page needs to train by itself: the code of its worker (js/trainer), the WebAssembly modules of the learner and
of the drill, and the drill's rules for WebGPU.
"""

from __future__ import annotations

import base64
import functools
import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dshq_widget.contract.faces import in_page
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gyms.environment import Environment
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.fence import sentence
from dshq_widget.widget.sender import Sender

log = logging.getLogger("dshq_widget")

CODE = Path(__file__).parents[2] / "static" / "trainer.js"


def why_not(trainer: Trainer) -> str:
    """Why a page cannot train this by itself, as a sentence; "" if it can."""
    drill = trainer.drill
    if isinstance(drill, Environment):
        return f"{drill.name} cannot be trained in a page: its environment runs in Python"
    return trainer.lacks("page")


def parts(drill: CompiledDrill, relaxed: bool) -> tuple[bytes, bytes, bytes, bytes]:
    """Code, learner's module, drill's module, its WGSL; `relaxed` for a browser with relaxed SIMD. Compiles what is not
    cached. Raises RuntimeError if this machine cannot make them.
    """
    return code(), _learner(relaxed), drill.wasm(relaxed), drill.wgsl.encode()


def embedded(drill: CompiledDrill) -> dict[str, Any]:
    """All of it for an exported page (js/standalone.ts), as gzip in base64. Raises RuntimeError as `parts`."""
    return {**shared(), "drill": embedded_drill(drill)}


def for_export(trainer: Trainer, needed: bool, warn: Callable[[str], None]) -> dict[str, Any] | None:
    """The same of a trainer's drill; None, and perhaps a warning, where a page cannot train it. If it is `needed`,
    raises ValueError or RuntimeError instead.
    """
    if problem := why_not(trainer):
        if needed:
            raise ValueError(problem)
        return None
    assert isinstance(trainer.drill, CompiledDrill)
    try:
        return embedded(trainer.drill)
    except RuntimeError as error:
        if needed:
            raise
        warn(said := f"the exported page cannot train: {error}")
        log.warning("%s: %s", trainer.drill.name, said)  # a page that would show it may not be there
        return None


@functools.cache
def shared() -> dict[str, Any]:
    """What is the same for every drill. Raises RuntimeError as `parts`."""
    return {"code": _packed(code()), "learner": _builds(_learner)}


def embedded_drill(drill: CompiledDrill) -> dict[str, str]:
    """A drill's module in both builds, and its WGSL. Raises RuntimeError as `parts`."""
    return {**_builds(drill.wasm), "wgsl": _packed(drill.wgsl.encode())}


def _learner(relaxed: bool) -> bytes:
    from dshq_kernels.play.records import learner_module  # imports numba

    return learner_module(relaxed)


def _builds(make: Callable[[bool], bytes]) -> dict[str, str]:
    return {"plain": _packed(make(False)), "relaxed": _packed(make(True))}


def answer(trainer: Trainer, relaxed: bool, outbox: Sender) -> None:
    """Send the page its TRAINER message: the parts as buffers, or the `problem`. May take a minute."""
    problem, buffers = why_not(trainer) or outbox.refusal(), []
    if not problem and isinstance(trainer.drill, CompiledDrill):
        try:
            buffers = list(parts(trainer.drill, relaxed))
            problem = outbox.refusal(sum(map(len, buffers)))
        except Exception as error:  # whatever it is, the page waits for an answer
            problem = f"this page cannot train by itself: {sentence(error)}"
    outbox.answer(in_page.Trainer(problem).to_json([] if problem else buffers))


def code() -> bytes:
    """The worker's JavaScript. Raises RuntimeError if the page's bundle has not been built."""
    if not CODE.is_file():
        raise RuntimeError("the page's bundle is missing: run `node js/build.mjs` in the checkout")
    return CODE.read_bytes()


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()
