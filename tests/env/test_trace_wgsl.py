"""The rules as WGSL, on whatever WebGPU is at hand: one decision from equal states ends where the processor's does."""

import dataclasses
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import psutil
import pytest

from dshq_widget.cli.main import main
from dshq_widget.drills import drills
from dshq_widget.env import webgpu
from dshq_widget.env.batch import compiled
from dshq_widget.env.trace import trace
from tests.harness.games.constructs import Permits, Words

CLOSE = 1e-5
"""Largest difference of a float. Measured: 5e-7 in Chromium's SwiftShader, 1.2e-7 in wgpu on llvmpipe."""
SOON = ("bandit", "cartpole")
"""Their rules compile at once, for the processor and for WebGPU."""


def needs_webgpu() -> bool:
    return webgpu.find_chromium() is None and importlib.util.find_spec("wgpu") is None


pytestmark = pytest.mark.skipif(needs_webgpu(), reason="no Chromium and no wgpu")


@pytest.fixture(scope="module")
def thread_with_browser():
    """A thread, and the Chromium in it for many jobs: to start one takes longer than most of them."""
    opened = webgpu._chromium()
    with ThreadPoolExecutor(1) as thread:
        yield thread, thread.submit(opened.__enter__).result()
        thread.submit(opened.__exit__, None, None, None).result()


@pytest.fixture
def one_browser(monkeypatch, request):
    if importlib.util.find_spec("wgpu") is None:
        thread, browser = request.getfixturevalue("thread_with_browser")
        monkeypatch.setattr(webgpu, "ThreadPoolExecutor", lambda workers: nullcontext(thread))
        monkeypatch.setattr(webgpu, "_chromium", lambda: nullcontext(browser))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOON else [pytest.mark.slow]) for name in sorted(drills)]
)
def test_every_drill(name, one_browser):
    drill = compiled(drills[name])
    found = trace(drill, 120 * drill.spec.action_repeat, seed=5, backend="wgsl")
    assert found["games"] >= 512 and found["adapter"]
    assert found["max_abs_error"] <= CLOSE and found["views_max_abs_error"] <= CLOSE
    assert found["unequal"] == 0


@pytest.mark.parametrize("drill", [Words, Permits])
def test_every_construct(drill, one_browser):
    """Each operation of the language, with numbers that wrap, saturate and divide by zero."""
    found = trace(compiled(drill), 60, seed=2**32 - 9, backend="wgsl")
    assert found["max_abs_error"] <= CLOSE and found["views_max_abs_error"] <= CLOSE
    assert found["unequal"] == 0


def test_other_rules_are_seen(one_browser):
    """What is compared is what the shader computed: another gravity, another generator and another reward all show."""
    drill = compiled("cartpole")
    gravity = ("9.800000190734863f", "9.9f")
    generator = ("0x7feb352du", "0x7feb352fu")
    reward = ("fn do_terms_0() {", "fn do_terms_0() {\n  floats[game] = 2.0;\n}\nfn unused() {")
    for changes, told in (
        ((gravity, reward), ("max_abs_error", "views_max_abs_error")),  # neither moves the other's number
        ((generator,), ("unequal",)),
    ):
        source = drill.wgsl
        for right, wrong in changes:
            assert right in source
            source = source.replace(right, wrong)
        found = trace(dataclasses.replace(drill, wgsl=source), 60, 0, "wgsl")
        assert all(found[name] > 1e-4 for name in told)


def test_the_command_says_which_adapter_ran(capsys, one_browser):
    main(["trace", "bandit", "--ticks", "40", "--backend", "wgsl", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["backend"] == "wgsl" and said["max_abs_error"] == 0 and said["games"] == 640
    assert "sha256" not in said
    main(["trace", "bandit", "--ticks", "40", "--backend", "wgsl"])
    assert said["adapter"] in capsys.readouterr().out


def test_a_shader_that_is_refused_says_where(one_browser):
    drill = compiled("bandit")
    with pytest.raises(RuntimeError, match="refused the rules|line 2 of the shader"):
        trace(dataclasses.replace(drill, wgsl="fn wrong(" + drill.wgsl), 40, 0, "wgsl")


def test_without_webgpu_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(webgpu, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install wgpu"):
        trace(compiled("bandit"), 40, 0, "wgsl")


def test_a_chromium_that_does_not_start_is_one_sentence(monkeypatch):
    monkeypatch.setattr(webgpu, "find_spec", lambda name: name == "playwright" or None)
    monkeypatch.setenv("DSHQ_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(RuntimeError, match=r"^Chromium \(/nowhere/chromium\) could not run the rules: [^\n]+$"):
        trace(compiled("bandit"), 40, 0, "wgsl")


def test_a_browser_of_its_own_is_started_and_ended():
    """Where there is none for many jobs, as in the tests above."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert trace(compiled("bandit"), 40, 0, "wgsl")["max_abs_error"] == 0
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_a_trace_needs_a_decision():
    with pytest.raises(ValueError, match="at least one decision"):
        trace(compiled("ball"), 3, 0, "wgsl")
