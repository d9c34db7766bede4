"""What `dshq doctor` says of a GPU: what one would add, what is missing beside it."""

import importlib.util
import shutil
import subprocess

import pytest

from dshq_widget.cli import doctor, doctor_gpu, main


@pytest.fixture
def nvidia(monkeypatch):
    """A driver that answers so: (exit status, name)."""

    def answers(status: int, name: str) -> None:
        monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
        done = subprocess.CompletedProcess([], status, name, "")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)

    return answers


def test_without_one_it_says_what_it_would_add(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    ok, value, advice = doctor_gpu.gpu()
    assert (ok, value) == (True, "none found")
    assert "do not need a GPU" in advice and "never run on a GPU" in advice and "docs/howto/gpu.md" in advice


def test_a_driver_that_fails_is_said(nvidia):
    nvidia(9, "")
    ok, value, advice = doctor_gpu.gpu()
    assert not ok and value == "nvidia-smi fails" and "driver" in advice


def test_a_cpu_build_of_torch_is_said(nvidia, monkeypatch):
    nvidia(0, "NVIDIA H200, 143771 MiB\n")
    monkeypatch.setattr(doctor_gpu, "version", lambda package: "2.13.0+cpu")
    ok, value, advice = doctor_gpu.gpu()
    assert ok and value == "NVIDIA H200, 143771 MiB" and "CPU build" in advice and "torch==2.13.0" in advice


def test_what_numba_lacks_is_said(nvidia, monkeypatch):
    from numba import cuda

    nvidia(0, "NVIDIA H200, 143771 MiB\n")
    monkeypatch.setattr(doctor_gpu, "version", lambda package: "2.13.0")
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    advice = doctor_gpu.gpu()[2]
    assert "numba cannot use it (numba finds no CUDA device)" in advice and "dshq-widget[gpu]" in advice
    monkeypatch.setattr(cuda, "is_available", lambda: True)

    def no_compiler(*_):
        raise ImportError("libNVVM cannot be found\nmore")

    monkeypatch.setattr(cuda, "compile_ptx_for_current_device", no_compiler)
    advice = doctor_gpu.gpu()[2]
    assert "numba cannot use it (libNVVM cannot be found)" in advice and "\n" not in advice
    monkeypatch.setattr(cuda, "compile_ptx_for_current_device", lambda *_: ("", None))
    for there, said in ((None, "Triton is missing"), (object(), "")):
        monkeypatch.setattr(importlib.util, "find_spec", lambda _, there=there: there)
        assert doctor_gpu.gpu()[2] == " ".join(filter(None, (doctor_gpu._kernels(), *doctor_gpu.UNPROVEN)))
        assert doctor_gpu._kernels().startswith(said) and bool(doctor_gpu._kernels()) == bool(said)


def test_it_says_that_the_machine_is_ready_or_what_to_do_first(monkeypatch, capsys):
    well, ill = ("a", True, "1", "Nice to have."), ("b", False, "none", "Install it.")
    for found, said in (([well], "ready"), ([well, ill], "first: b: Install it.")):
        rows = [dict(zip(("name", "ok", "value", "advice"), row, strict=True)) for row in found]
        monkeypatch.setattr(doctor, "checks", lambda rows=rows: rows)
        assert main.main(["doctor"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == said


def test_a_check_that_fails_is_a_finding():
    def check():
        raise OSError(5, "no\nsuch thing")

    ok, value, advice = doctor._tried(check)
    assert (ok, value) == (False, "OSError: [Errno 5] no such thing") and advice


@pytest.mark.parametrize(("system", "said"), [("win32", "Windows"), ("darwin", "macOS"), ("linux", "Linux")])
def test_a_system_on_which_nobody_has_run_it_says_so(system, said, monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", system)
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    ok, value, advice = doctor._system()
    assert ok and value.startswith(said) and ("Nobody has run this" in advice) == (system != "linux")


def test_a_busy_machine_is_named_and_versions_have_a_range(monkeypatch):
    for share, busy in ((10.0, False), (95.0, True)):
        monkeypatch.setattr(doctor.psutil, "cpu_percent", lambda _, share=share: share)
        assert bool(doctor._load()[2]) == busy
    monkeypatch.setattr(doctor, "_version", lambda _: "0.99.1")
    assert doctor._package("numba")[0] and "untried" in doctor._package("numba")[2]
    assert "tried up to" in doctor._python()[1]
