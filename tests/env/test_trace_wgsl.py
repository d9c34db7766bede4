"""The rules as WGSL, on whatever WebGPU is at hand: one decision from equal states ends where the processor's does."""

import dataclasses
import importlib.util
import json

import pytest

from dshq_widget.cli.main import main
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env import webgpu
from dshq_widget.env.trace import trace
from tests.harness.games.constructs import Permits, Words

CLOSE = 1e-5
"""Largest difference of a float. Measured: 5e-7 in Chromium's SwiftShader, 1.2e-7 in wgpu on llvmpipe."""
SOON = ("bandit", "cartpole")
"""Their rules compile at once, for the processor and for WebGPU."""


def needs_webgpu() -> bool:
    return webgpu.find_chromium() is None and importlib.util.find_spec("wgpu") is None


pytestmark = pytest.mark.skipif(needs_webgpu(), reason="no Chromium and no wgpu")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOON else [pytest.mark.slow]) for name in sorted(drills)]
)
def test_every_drill(name):
    drill = compile_drill(drills[name])
    found = trace(drill, 120 * drill.spec.action_repeat, seed=5, backend="wgsl")
    assert found["games"] >= 512 and found["adapter"]
    assert found["max_abs_error"] <= CLOSE and found["views_max_abs_error"] <= CLOSE
    assert found["unequal"] == 0


@pytest.mark.parametrize("drill", [Words, Permits])
def test_every_construct(drill):
    """Each operation of the language, with numbers that wrap, saturate and divide by zero."""
    found = trace(compile_drill(drill), 60, seed=2**32 - 9, backend="wgsl")
    assert found["max_abs_error"] <= CLOSE and found["views_max_abs_error"] <= CLOSE
    assert found["unequal"] == 0


def test_other_rules_are_seen():
    """What is compared is what the shader computed: another gravity, another generator and another reward all show."""
    drill = compile_drill(drills["cartpole"])
    for right, wrong, told in (
        ("9.800000190734863f", "9.9f", "max_abs_error"),
        ("0x7feb352du", "0x7feb352fu", "unequal"),
        ("fn do_terms_0() {", "fn do_terms_0() {\n  floats[game] = 2.0;\n}\nfn unused() {", "views_max_abs_error"),
    ):
        assert right in drill.wgsl
        found = trace(dataclasses.replace(drill, wgsl=drill.wgsl.replace(right, wrong)), 60, 0, "wgsl")
        assert found[told] > 1e-4


def test_the_command_says_which_adapter_ran(capsys):
    main(["trace", "bandit", "--ticks", "40", "--backend", "wgsl", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["backend"] == "wgsl" and said["max_abs_error"] == 0 and said["games"] == 640
    assert "sha256" not in said
    main(["trace", "bandit", "--ticks", "40", "--backend", "wgsl"])
    assert said["adapter"] in capsys.readouterr().out


def test_a_shader_that_is_refused_says_where():
    drill = compile_drill(drills["bandit"])
    with pytest.raises(RuntimeError, match="refused the rules|line 2 of the shader"):
        trace(dataclasses.replace(drill, wgsl="fn wrong(" + drill.wgsl), 40, 0, "wgsl")


def test_without_webgpu_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(webgpu, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install wgpu"):
        trace(compile_drill(drills["bandit"]), 40, 0, "wgsl")


def test_a_chromium_that_does_not_start_is_one_sentence(monkeypatch):
    monkeypatch.setattr(webgpu, "find_spec", lambda name: name == "playwright" or None)
    monkeypatch.setenv("DSHQ_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(RuntimeError, match=r"^Chromium \(/nowhere/chromium\) could not run the rules: [^\n]+$"):
        trace(compile_drill(drills["bandit"]), 40, 0, "wgsl")


def test_a_trace_needs_a_decision():
    with pytest.raises(ValueError, match="at least one decision"):
        trace(compile_drill(drills["ball"]), 3, 0, "wgsl")
