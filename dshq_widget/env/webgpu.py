"""Runs compute shaders of the rules on whatever WebGPU is at hand: the package `wgpu`, else a headless Chromium.

Both take the same `Job`. Which adapter ran is part of the answer: results differ between adapters in the last bits.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.wgsl import GROUP

RUNNER = Path(__file__).with_name("webgpu_job.js")
BUFFER_LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size")
MISSING = (
    "WebGPU needs the package wgpu with an adapter (`pip install wgpu`; on a machine without a GPU also Mesa's "
    "Vulkan driver), or the package playwright and a Chromium (set DSHQ_CHROMIUM to its path)"
)
# Software WebGPU in headless Chromium, found by trial: --use-webgpu-adapter=swiftshader alone loses its instance.
SOFTWARE_FLAGS = [
    "--enable-unsafe-webgpu",
    "--enable-features=Vulkan",
    "--use-vulkan=swiftshader",
    "--use-angle=swiftshader",
    "--ignore-gpu-blocklist",
]


class Pass(NamedTuple):
    """One launch: a kernel, and the buffers that it knows as `state`, `floats` and `whole`."""

    kernel: str
    state: str
    floats: str
    whole: str


@dataclass(frozen=True)
class Job:
    """Launches in order, `games` threads each. `buffers` holds u32 words as they are at first, of any shape; those
    named in `results` are read at the end.
    """

    source: str
    games: int
    ticks: int
    buffers: Mapping[str, NDArray[Any]]
    passes: Sequence[Pass]
    results: Sequence[str]


def find_chromium() -> str | None:
    """Path of the Chromium to drive, None without one. DSHQ_CHROMIUM wins over PATH."""
    named = os.environ.get("DSHQ_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def run(job: Job) -> tuple[str, dict[str, NDArray[Any]]]:
    """(the adapter, the results as flat u32 arrays). Raises RuntimeError where there is no WebGPU, or where it refuses
    the job.
    """
    adapter = _adapter() if find_spec("wgpu") else None
    if adapter is not None:
        return _in_wgpu(adapter, job)
    if find_spec("playwright") and find_chromium():
        with ThreadPoolExecutor(1) as thread:  # its event loop cannot live in a thread that has one already
            return thread.submit(_in_chromium, job).result()
    raise RuntimeError(MISSING)


def _adapter() -> Any:
    """A GPU before a processor; None where `wgpu` finds neither."""
    import wgpu

    found = wgpu.gpu.enumerate_adapters_sync()
    return min(found, key=lambda adapter: adapter.info["adapter_type"] == "CPU", default=None)


def _in_wgpu(adapter: Any, job: Job) -> tuple[str, dict[str, NDArray[Any]]]:
    import wgpu

    device = adapter.request_device_sync(required_limits={name: adapter.limits[name] for name in BUFFER_LIMITS})
    kinds = ["uniform", *["storage"] * 3]
    entries = [
        {"binding": k, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}} for k, kind in enumerate(kinds)
    ]
    group_layout = device.create_bind_group_layout(entries=entries)
    layout = device.create_pipeline_layout(bind_group_layouts=[group_layout])
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    size = device.create_buffer_with_data(
        data=np.array([job.games, job.ticks, 0, 0], np.uint32), usage=wgpu.BufferUsage.UNIFORM
    )
    buffers = {
        name: device.create_buffer_with_data(data=np.ascontiguousarray(words), usage=usage)
        for name, words in job.buffers.items()
    }
    encoder = device.create_command_encoder()
    try:
        module = device.create_shader_module(code=job.source)
        for step in job.passes:
            bound = [size, *(buffers[name] for name in step[1:])]
            group = device.create_bind_group(
                layout=group_layout,
                entries=[{"binding": k, "resource": {"buffer": buffer}} for k, buffer in enumerate(bound)],
            )
            pipeline = device.create_compute_pipeline(
                layout=layout, compute={"module": module, "entry_point": step.kernel}
            )
            launch = encoder.begin_compute_pass()
            launch.set_pipeline(pipeline)
            launch.set_bind_group(0, group)
            launch.dispatch_workgroups(-(-job.games // GROUP))
            launch.end()
        device.queue.submit([encoder.finish()])
        results = {name: np.frombuffer(device.queue.read_buffer(buffers[name]), np.uint32) for name in job.results}
    except wgpu.GPUError as error:
        raise RuntimeError(f"WebGPU refused the rules: {error}") from error
    info = adapter.info
    return f"wgpu {wgpu.__version__}, {info['backend_type']}: {info['device']}", results


def _in_chromium(job: Job) -> tuple[str, dict[str, NDArray[Any]]]:
    from playwright.sync_api import Error

    work = {
        "source": job.source,
        "games": job.games,
        "ticks": job.ticks,
        "group": GROUP,
        "buffers": {name: base64.b64encode(words.tobytes()).decode() for name, words in job.buffers.items()},
        "passes": [list(step) for step in job.passes],
        "results": list(job.results),
    }
    try:
        with _chromium() as browser:
            answer, version = _on_page(browser, work), browser.version
    except Error as error:
        what = error.message.partition("\n")[0]
        raise RuntimeError(f"Chromium ({find_chromium()}) could not run the rules: {what}") from error
    results = {name: np.frombuffer(base64.b64decode(words), np.uint32) for name, words in answer["results"].items()}
    return f"Chromium {version}: {answer['adapter']}", results


@contextmanager
def _chromium() -> Iterator[Any]:
    """A browser of this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", *SOFTWARE_FLAGS])
        yield browser
        browser.close()


def _on_page(browser: Any, work: Mapping[str, Any]) -> Any:
    """What webgpu_job.js answers from a page of its own."""
    page = browser.new_page()
    # WebGPU wants a page that is its own; nothing is asked of the network
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
    page.goto("http://localhost/")
    page.add_script_tag(content=RUNNER.read_text(encoding="utf-8"))
    answer = page.evaluate("work => runJob(work)", work)
    page.close()
    return answer
