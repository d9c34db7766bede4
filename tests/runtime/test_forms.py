"""Both forms of the room `system`, beside each other in one process. `make test-all` runs this whole folder on each."""

import importlib
import io
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from queue import Queue

import numpy as np
import psutil
import pytest

from dshq_widget.runtime import memory as blocks
from dshq_widget.runtime import supervisor
from dshq_widget.system import paths, pids
from dshq_widget.system.outbox import Outbox
from dshq_widget.system.portable import memory
from dshq_widget.system.portable.priority import niceness
from tests.harness.processes.faults import until

HOLD = """
import sys, time
from pathlib import Path
from dshq_widget.system.{form}.locks import hold
held = hold(Path(sys.argv[1]))
print(held is not None, flush=True)
time.sleep(600)
"""
OWN = """
import sys, time
from dshq_widget.system.portable.memory import create
piece = create(100, sys.argv[1])
print(piece.where, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["posix", "portable"])
def form(request):
    return request.param


def part(form, name):
    return importlib.import_module(f"dshq_widget.system.{form}.{name}")


def test_a_lock_is_one_holders_until_he_lets_go(form, tmp_path):
    hold, path = part(form, "locks").hold, tmp_path / "here" / "owner.lock"
    with pytest.raises(FileNotFoundError):
        hold(path)
    path.parent.mkdir()
    first = hold(path)
    assert first and hold(path) is None
    first.close()
    first.close()
    second = hold(path)
    assert second and hold(path) is None
    second.remove(path.parent)
    second.remove(path.parent)
    assert not path.parent.exists()


def test_a_forgotten_lock_leaves_no_file(form, tmp_path):
    hold, path = part(form, "locks").hold, tmp_path / ".policy.lock"
    lock = hold(path)
    assert lock and path.exists()
    lock.forget()
    lock.forget()
    assert list(tmp_path.iterdir()) == []
    assert hold(path)


def test_a_lock_ends_with_its_process(form, tmp_path):
    hold, path = part(form, "locks").hold, tmp_path / "owner.lock"
    command = [sys.executable, "-c", HOLD.format(form=form), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        assert hold(path) is None
        holder.kill()
    until(lambda: hold(path), "the lock")


def test_memory_of_a_killed_process_is_removed_by_the_next(tmp_path):
    with subprocess.Popen([sys.executable, "-c", OWN, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
        left = Path(owner.stdout.readline().strip())
        living = memory.create(100, str(tmp_path))
        assert left.exists(), "its owner lives"
        owner.kill()
    assert left.exists()
    mine = memory.create(100, str(tmp_path))
    assert {str(path) for path in tmp_path.iterdir()} == {living.where, mine.where}
    for piece in (living, mine):
        piece.close()
    assert list(tmp_path.iterdir()) == [] and mine.where == ""


def test_a_board_waits_for_both_ends_of_pipes_and_is_held_up_by_none(form):
    board = part(form, "board").Board()
    ends = [os.pipe() for _ in range(2)]
    (there, back), (away, here) = ends
    heard, sent = bytearray(), bytes(range(256)) * 4096  # 1 MB, more than a pipe holds
    source = board.source(io.FileIO(there, "r"), lambda: heard.extend(source.take()))
    sink = board.sink(io.FileIO(here, "w"))
    sink.put(sent)
    assert sink.waiting

    def echo() -> None:
        with io.FileIO(away, "r") as read, io.FileIO(back, "w") as write:
            while piece := read.read(1 << 16):
                while piece:
                    piece = piece[write.write(piece) :]

    echoing = threading.Thread(target=echo)
    echoing.start()

    def turn(enough) -> None:
        def once() -> bool:
            for ready in board.wait(0.1):
                ready()
            return enough()

        until(once)

    turn(lambda: len(heard) == len(sent))
    assert heard == sent and sink.waiting == 0
    threading.Timer(0.05, board.wake).start()
    assert board.wait(300.0) == []
    sink.close()
    echoing.join()
    heard += source.last()
    assert heard == sent
    board.close()


def test_what_nobody_reads_is_dropped(form):
    board = part(form, "board").Board()
    there, here = os.pipe()
    sink = board.sink(io.FileIO(here, "w"))
    os.close(there)
    sink.put(b"x" * 1000)
    until(lambda: sink.waiting == 0)
    sink.close()
    board.close()


def test_an_outbox_says_that_it_is_broken():
    there, here = os.pipe()
    broken = threading.Event()
    outbox = Outbox(io.FileIO(here, "w"), broken.set)
    outbox.put(b"1")
    outbox.flush(300.0)
    assert os.read(there, 10) == b"1" and not broken.is_set()
    os.close(there)
    outbox.put(b"2")
    assert broken.wait(300.0)
    outbox.put(b"3")
    assert outbox.waiting == 0


def test_the_end_of_a_process_is_seen(form):
    processes = part(form, "processes")
    assert processes.Parent(os.getppid()).lives() and pids.alive(os.getppid())
    with processes.start(["-c", "input()"], os.environ, []) as child:
        assert pids.alive(child.pid) and (form == "posix" or processes.Parent(child.pid).lives())
        pids.kill(child.pid)
        until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        ended = not processes.Parent(child.pid).lives() and not pids.alive(child.pid)
        assert ended, "though nobody has asked how"
    pids.kill(child.pid)
    assert not pids.alive(child.pid) and pids.used(child.pid) == 0
    assert not processes.Parent(child.pid).lives()
    assert pids.alive(2**70), "what no system has is left alone"


def test_a_file_that_somebody_has_open_is_replaced_a_moment_later(tmp_path, monkeypatch):
    """As on Windows."""
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text("new")
    old.write_text("old")
    refusals, replace = [1, 2, 3], os.replace

    def refuse(*names):
        if refusals:
            raise PermissionError(refusals.pop())
        replace(*names)

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(paths, "PORTABLE", False)
    with pytest.raises(PermissionError):
        paths.replace(new, old)
    monkeypatch.setattr(paths, "PORTABLE", True)
    paths.replace(new, old)
    assert old.read_text() == "new" and not new.exists()


def test_a_portable_supervisor_starts_hears_and_replaces(monkeypatch):
    monkeypatch.setenv("DSHQ_PORTABLE", "1")
    monkeypatch.setattr(supervisor, "Board", part("portable", "board").Board)
    monkeypatch.setattr(supervisor, "processes", part("portable", "processes"))
    monkeypatch.setattr(blocks, "memory", memory)
    heard, ended = Queue(), Queue()
    watch, block = supervisor.Supervisor(), blocks.SharedBlock.create(100_000)
    child = watch.start(
        "dshq_widget.runtime.probe:run",
        {"text": "ä" * 150_000},
        {"b": block},
        on_message=lambda _, message: heard.put(message),
        on_exit=lambda _, end: ended.put(end),
        restart=supervisor.Restart(),
    )

    def wait_for(kind):
        while (message := heard.get(timeout=300))["type"] != kind:
            pass
        return message

    try:
        assert os.path.dirname(str(block.where)) == tempfile.gettempdir()
        assert wait_for("READY")["nice"] >= min(10, niceness() + 10)
        child.send({"type": "FILL", "block": "b", "value": 7})
        wait_for("FILLED")
        assert (block.array(np.uint8, 100_000) == 7).all()
        pids.kill(child.pid)
        assert ended.get(timeout=300).restarting
        assert wait_for("READY")["config"]["generation"] == 1
        child.send({"type": "PRINT", "text": "last words"})
        child.send({"type": "EXIT", "status": 7})
        end = ended.get(timeout=300)
        assert (end.status, end.tail) == (7, "last words\n")
    finally:
        watch.close()
        block.close()
