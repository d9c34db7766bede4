"""A full or read-only place: one sentence, status that is not 0, and no truncated file."""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from dshq_widget.cli import keeping, main
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint
from dshq_widget.system import streams
from dshq_widget.training.history import Progress
from dshq_widget.training.trainer import Trainer
from tests.harness.full_disk import full_after

PATIENCE = 300.0  # seconds


@contextlib.contextmanager
def full(folder, nbytes=32_768):
    """`folder` holds so many bytes at most: a small file system, else a limit on the size of every file."""
    size = f"size={nbytes}"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True).returncode == 0:
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
        return
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, before)


@contextlib.contextmanager
def read_only(folder):
    """Nobody may write to `folder`: for root a file system without writing."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True).returncode == 0
    if not mounted and os.geteuid() == 0:
        pytest.skip("root may write everywhere, and may not mount here")
    folder.chmod(0o555) if not mounted else None
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True) if mounted else folder.chmod(0o755)


VERBS = {
    "train": ["train", "ball", "--updates", "2", "--out", "bot.dshq"],
    "logs": ["train", "ball", "--updates", "2", "--log-dir", "."],
    "html": ["export", "ball:bronze", "--html", "match.html"],
    "onnx": ["export", "ball:bronze", "--onnx", "bot.onnx"],
    "json": ["export", "ball:bronze", "--to-json", "bot.json"],
    "gif": ["record", "ball:gold", "--gif", "goal.gif", "--matches", "16", "--seconds", "2", "--width", "320"],
    "lab": ["lab", ".", "--no-browser"],
}


@pytest.mark.parametrize("place", [full, read_only])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_writes_says_so_and_leaves_nothing(verb, place, tmp_path, monkeypatch, capsys):
    if verb == "onnx":
        pytest.importorskip("onnx")
    if verb == "gif":
        pytest.importorskip("PIL.Image")
    target = tmp_path / "here"
    target.mkdir()
    with place(target):
        monkeypatch.chdir(target)
        began = time.monotonic()
        status = main.main(VERBS[verb])
        said = capsys.readouterr().err
        monkeypatch.chdir(tmp_path)
        assert status == 2 and said.startswith("dshq: ") and len(said.splitlines()) == 1, said
        assert "cannot write" in said
        # every file that is there is a whole one: lab may have copied some of its notebooks before the space was used
        left = [path for path in target.iterdir() if path.suffix != ".ipynb"]
        assert left == [] and all(path.read_text().rstrip().endswith("}") for path in target.glob("*.ipynb"))
        if verb in ("train", "logs", "gif"):
            assert time.monotonic() - began < PATIENCE and "agent steps" not in said, "it is found before the work"


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "here"
    target.mkdir()
    with full(target):
        path = atomic.write(target / "page.html", b"old")
        with pytest.raises(OSError):
            atomic.write(path, bytes(100_000))
        with pytest.raises(OSError):
            atomic.check_writable(path)
        assert path.read_bytes() == b"old" and list(target.iterdir()) == [path]
    with pytest.raises(IsADirectoryError):
        atomic.check_writable(tmp_path)


def test_a_pipe_and_a_device_are_not_replaced_by_a_file(tmp_path, capsys):
    """Whoever may write in /dev, as root does in a container, would take /dev/null from all programs."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    before = {path: path.lstat().st_ino for path in tmp_path.iterdir()}
    for path in before:
        for write in (lambda path: atomic.write(path, b"new"), atomic.reserve, atomic.check_writable):
            with pytest.raises(OSError, match="it is a device or a pipe and no file"):
                write(path)
        assert main.main(["export", "ball:bronze", "--to-json", str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"dshq: --to-json: cannot write {str(path)!r}: it is a device")
    assert {path: path.lstat().st_ino for path in tmp_path.iterdir()} == before


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    path = atomic.write(tmp_path / "a", b"old")
    with pytest.raises(KeyboardInterrupt), atomic.aside(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_policy_that_can_be_kept_nowhere_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Trainer("bandit", hidden_sizes=(8,)) as trainer, full_after(10):
        where, said = keeping.save(trainer, tmp_path / "no" / "bot.dshq")
    assert where is None and "nor in a temporary file: " in said
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def unread():
    """A text stream into a pipe whose reader has ended."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        yield stream


SHORT = ["train", "bandit", "--updates", "2", "--workers", "0", "--num-envs", "64", "--rollout-length", "8"]


@pytest.mark.usefixtures("learners_in_threads")
def test_a_run_whose_output_nobody_reads_goes_on_and_is_kept(unread, tmp_path, monkeypatch):
    out = tmp_path / "bot.dshq"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", unread)
        patch.setattr(sys, "stdout", unread)
        assert main.main([*SHORT, "--out", str(out)]) == 0
    assert checkpoint.load(out).version == 2


def test_a_bar_and_a_line_that_nobody_can_read_are_not_drawn(unread, monkeypatch):
    monkeypatch.setattr(sys, "stderr", unread)
    bar = Progress()
    bar.show(0.5, "half")
    bar.note("a note")
    with contextlib.suppress(BrokenPipeError):
        unread.close()
    bar = Progress()
    bar.show(1.0, "a long line " * 100)
    bar.close()


def test_what_an_output_cannot_encode_is_written_another_way(monkeypatch):
    """A pipe on Windows has a code page, in which some names and signs have no place."""
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", pipe)
    with streams.heard():
        print("Gr\u00f6\u00dfe \u2192 2")
        streams.say("\u2265 1", sys.stdout)
    assert pipe.buffer.getvalue().splitlines() == [b"Gr\xf6\xdfe \\u2192 2", b"\\u2265 1"]


@pytest.mark.parametrize("asked", [["info", "bandit"], ["train", "--help"], ["--help"], ["--version"]], ids=" ".join)
def test_a_result_that_is_lost_is_no_success(monkeypatch, capsys, asked):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no full device")
    with monkeypatch.context() as patch, open("/dev/full", "w") as full_device:
        patch.setattr(sys, "stdout", full_device)
        assert main.main(asked) == 1
    assert capsys.readouterr().err == "dshq: cannot write to stdout: No space left on device\n"


@pytest.mark.slow
def test_a_policy_that_cannot_be_saved_in_the_end_is_kept_elsewhere(tmp_path):
    """The folder is there when training begins and is gone when it ends."""
    place, temporary = tmp_path / "here", tmp_path / "tmp"
    place.mkdir()
    temporary.mkdir()
    out = place / "bot.dshq"
    command = [sys.executable, "-m", "dshq_widget.cli", "train", "ball", "--seconds", "6", "--out", str(out)]
    run = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert any("training on" in line for line in run.stderr), "its progress begins after the check of the place"
    place.rename(tmp_path / "gone")
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 1, said
    kept = next(temporary.glob("dshq-ball-*/*.dshq"))
    assert "cannot save" in said and f"version {checkpoint.load(kept).version} is kept in {kept}" in said
