"""The supervisor: messages both ways, errors in a sentence, replacement, health, and nothing that grows."""

import gc
import importlib
import json
import logging
import os
import signal
import sys
import threading
import time
from queue import Queue
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from dshq_widget.runtime import process
from dshq_widget.runtime import supervisor as supervisor_module
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.supervisor import Restart, Supervisor
from dshq_widget.system.form import PORTABLE
from dshq_widget.system.portable import processes as portable
from tests.harness.processes.faults import until
from tests.harness.processes.in_threads import ThreadChannel

PROBE = "dshq_widget.runtime.probe:run"
PATIENCE = 300.0


class Ears:
    """Callbacks that keep what they heard."""

    def __init__(self):
        self.messages, self.exits = Queue(), Queue()

    @property
    def callbacks(self):
        return {
            "on_message": lambda _, message: self.messages.put(message),
            "on_exit": lambda _, end: self.exits.put(end),
        }

    def wait_for(self, kind, **fields):
        """The next message of that type (and fields), skipping others."""
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if message["type"] == kind and fields.items() <= message.items():
                return message

    def ended(self):
        return self.exits.get(timeout=PATIENCE)


@pytest.fixture
def supervisor():
    supervisor = Supervisor()
    yield supervisor
    supervisor.close()


@pytest.fixture
def ears():
    return Ears()


def test_messages_settings_and_memory_reach_the_child_and_come_back(supervisor, ears):
    block = SharedBlock.create(100_000)
    large = "ä" * 150_000  # more than a pipe holds
    child = supervisor.start(PROBE, {"large": large}, {"b": block}, **ears.callbacks)
    ready = ears.wait_for("READY")
    assert ready["config"] == {"large": large, "generation": 0}
    assert ready["pid"] == child.pid
    assert ready["nice"] >= 10
    child.send({"type": "ECHO", "number": 1, "text": "line\nbreak"})
    assert ears.wait_for("ECHO") == {"type": "ECHO", "number": 1, "text": "line\nbreak"}
    child.send({"type": "FILL", "block": "b", "value": 7})
    ears.wait_for("FILLED")
    assert (block.array(np.uint8, 100_000) == 7).all()
    child.stop()
    assert child.join(PATIENCE)
    assert not child.alive
    assert ears.ended().expected


def test_settings_that_json_cannot_hold_are_refused_at_once(supervisor):
    with pytest.raises(TypeError, match="not JSON serializable"):
        supervisor.start(PROBE, {"weights": np.zeros(3)})


def test_prints_do_not_disturb_messages_and_are_kept_for_reports(supervisor, ears):
    child = supervisor.start(PROBE, **ears.callbacks)
    for number in range(3000):
        child.send({"type": "PRINT", "text": f'{{"type": "FAILED"}} {number}'})
    child.send({"type": "ECHO"})
    ears.wait_for("ECHO")
    child.send({"type": "EXIT", "status": 7})
    end = ears.ended()
    assert (end.status, end.expected, end.restarting) == (7, False, False)
    assert len(end.tail) <= 16_384
    assert end.tail.endswith("2999\n")
    assert end.error == f'{PROBE} ended with status 7: {{"type": "FAILED"}} 2999'


def test_a_process_that_somebody_ends_with_status_0_has_not_finished(supervisor, ears):
    child = supervisor.start(PROBE, **ears.callbacks)
    child.send({"type": "EXIT", "status": 0})
    end = ears.ended()
    assert (end.status, end.expected) == (0, False)
    assert end.error.startswith(f"{PROBE} ended with status 0 before its work was done")
    assert child.join(PATIENCE)


def test_an_exception_arrives_as_a_sentence_with_its_traceback(supervisor, ears):
    child = supervisor.start(PROBE, **ears.callbacks)
    child.send({"type": "RAISE", "text": "the ball\nis gone"})
    failed = ears.wait_for("FAILED")
    assert failed["error"] == "RuntimeError: the ball is gone"
    end = ears.ended()
    assert (end.status, end.error) == (1, "RuntimeError: the ball is gone")
    assert "in _obey" in end.traceback
    assert child.join(PATIENCE)


@pytest.mark.parametrize(
    ("error", "sentence", "traced"),
    [
        (SystemExit(0), "SystemExit: 0", True),
        (SystemExit("no licence"), "SystemExit: no licence", True),
        (process.ElsewhereError("another process has ended"), "another process has ended", False),
    ],
)
def test_a_role_ends_well_only_by_returning(error, sentence, traced):
    channel = ThreadChannel(lambda: None)

    def fail() -> None:
        raise error

    assert process.ended(channel, fail) == 1 and process.ended(channel, lambda: None) == process.FINISHED
    (failed,) = channel.messages
    assert (failed["error"], bool(failed["traceback"])) == (sentence, traced)


class Speechless(Exception):
    """Of somebody's own code."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(ValueError("x" * 3_000_000), "ValueError: xxx"), (Speechless(), "Speechless: it does not say why")],
    ids=["long", "speechless"],
)
def test_an_error_that_fits_into_no_message_or_cannot_say_itself_is_told(error, sentence):
    """In its place stood that a message has a million bytes at most, or what went wrong while it was said."""
    lines: list[bytes] = []
    channel = process.Channel.__new__(process.Channel)
    channel._outbox, channel.dropped = SimpleNamespace(waiting=0, put=lines.append), 0

    def fail() -> None:
        raise error

    assert process.ended(channel, fail) == 1
    failed = json.loads(lines[0])
    assert failed["error"].startswith(sentence) and "in fail" in failed["traceback"]


@pytest.mark.parametrize(
    "role, complaint",
    [
        ("os:system", '"os:system" is not a role: mark the function with @role'),
        ("dshq_widget.runtime.probe", "a role is named"),
        ("no such module:run", "a role is named"),
        ("dshq_widget.runtime.nowhere:run", "No module named"),
        ("dshq_widget.runtime.probe:nothing", "no attribute 'nothing'"),
    ],
)
def test_only_functions_marked_as_roles_run(supervisor, ears, role, complaint):
    supervisor.start(role, **ears.callbacks)
    assert complaint in ears.ended().error


def test_a_message_that_fits_no_queue_is_an_error_of_the_role(supervisor, ears):
    supervisor.start(PROBE, {"large": "x" * 1_100_000}, **ears.callbacks)
    assert "a message has at most 1,048,576 bytes" in ears.ended().error


def test_a_closed_block_is_reported_not_raised_in_the_thread(supervisor, ears):
    block = SharedBlock.create(100)
    block.close()
    child = supervisor.start(PROBE, {}, {"b": block}, **ears.callbacks)
    assert "could not be started" in ears.ended().error
    assert child.join(PATIENCE)
    supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("READY")


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")], ids=repr)
@pytest.mark.parametrize("after", [False, True], ids=["before its process", "after it"])
def test_a_child_that_cannot_be_started_is_over(supervisor, ears, monkeypatch, error, after):
    """Nobody waits for it, and no process of it stays."""
    started = []
    real = supervisor_module.processes.start

    def start(*how):
        if not after:
            raise error
        started.append(real(*how))
        return started[0]

    def sink(*_):
        raise error

    monkeypatch.setattr(supervisor_module.processes, "start", start)
    monkeypatch.setattr(supervisor._board, "sink", sink)
    child = supervisor.start(PROBE, **ears.callbacks)
    end = ears.ended()
    assert "could not be started" in end.error and (str(error) or "MemoryError") in end.error
    assert child.join(PATIENCE) and not child.alive
    assert all(process.poll() is not None for process in started) and len(started) == after


def test_a_killed_child_is_replaced_and_the_others_go_on(supervisor, ears):
    other = Ears()
    child = supervisor.start(PROBE, restart=Restart(), **ears.callbacks)
    neighbour = supervisor.start(PROBE, restart=Restart(), **other.callbacks)
    first = ears.wait_for("READY")["pid"]
    pid = other.wait_for("READY")["pid"]
    os.kill(first, signal.SIGKILL)
    end = ears.ended()
    assert (end.status, end.restarting, end.expected) == (-signal.SIGKILL, True, False)
    assert end.error.startswith(f"{PROBE} was killed by signal 9 (")
    ready = ears.wait_for("READY")
    assert ready["config"]["generation"] == child.generation == 1
    assert ready["pid"] == child.pid != first
    child.send({"type": "ECHO"})
    ears.wait_for("ECHO")
    assert neighbour.pid == pid


def test_replacement_ends_when_it_does_not_help(supervisor, ears):
    child = supervisor.start(PROBE + "x", restart=Restart(limit=3), **ears.callbacks)
    assert [ears.ended().restarting for _ in range(4)] == [True, True, True, False]
    assert child.join(PATIENCE)


def test_a_child_that_was_asked_to_stop_is_not_replaced(supervisor, ears):
    child = supervisor.start(PROBE, restart=Restart(), **ears.callbacks)
    ears.wait_for("READY")
    child.stop()
    child.stop()
    assert child.join(PATIENCE)
    end = ears.ended()
    assert (end.expected, end.restarting, end.error) == (True, False, "")


def test_a_child_that_hears_nothing_is_ended_by_force(supervisor, ears):
    child = supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("READY")
    os.kill(child.pid, signal.SIGSTOP)
    child.stop(timeout=0.2)
    assert child.join(PATIENCE)
    assert ears.ended().status == -signal.SIGKILL


def test_what_waits_for_a_busy_child_is_counted_and_no_more_than_that_is_kept(supervisor, ears, monkeypatch, caplog):
    """A page may ask faster than a process answers."""
    monkeypatch.setattr(supervisor_module, "INBOX_BYTES", 4 << 20)
    child = supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("READY")
    child.send({"type": "SLEEP", "seconds": 8})
    line = {"type": "PRINT", "text": "x" * 100_000}
    for _ in range(200):  # 20 MB: 4 here, 1 there, and what the pipe holds
        child.send(line)
    until(lambda: "does not read its commands" in caplog.text, "a full queue")
    assert caplog.text.count("does not read its commands") == 1
    time.sleep(1)
    assert child._run._commands.waiting > 2 << 20, "it stays here"
    child.stop(timeout=PATIENCE)
    assert child.join(PATIENCE)
    assert ears.ended().status == process.FINISHED, "it hears STOP behind all that, and ends in order"


def test_a_stopped_child_is_flagged_and_holds_nobody_up(supervisor, ears):
    other = Ears()
    child = supervisor.start(PROBE, **ears.callbacks)
    neighbour = supervisor.start(PROBE, **other.callbacks)
    ears.wait_for("HEALTH", health="running")
    other.wait_for("READY")
    os.kill(child.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    while child.health != "silent":
        child.send({"type": "ECHO", "padding": "x" * 100_000})  # more than its pipe holds
        neighbour.send({"type": "ECHO"})
        other.wait_for("ECHO")
        time.sleep(0.05)
        assert time.monotonic() - stopped < PATIENCE
    ears.wait_for("HEALTH", health="silent")
    os.kill(child.pid, signal.SIGCONT)
    ears.wait_for("HEALTH", health="running")


def test_a_child_that_is_only_slow_is_not_called_silent(supervisor, ears, monkeypatch):
    monkeypatch.setattr("dshq_widget.runtime.supervisor.SILENT_SECONDS", 0.6)
    child = supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("HEALTH", health="running")
    child.send({"type": "HOLD", "count": 200_000_000})  # seconds in which no thread of it can beat
    assert ears.wait_for("HEALTH")["health"] == "slow"


def test_a_stuck_loop_is_flagged_though_the_process_beats(supervisor, ears):
    child = supervisor.start(PROBE, stuck_seconds=1.0, **ears.callbacks)
    ears.wait_for("HEALTH", health="running")
    child.send({"type": "SLEEP", "seconds": 6})
    ears.wait_for("HEALTH", health="stuck")
    ears.wait_for("HEALTH", health="running")


def test_the_time_that_beats_take_is_no_sign_of_work():
    """In the portable form, which knows only how much time a process gets."""

    def work(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    pulse = portable.Pulse(os.getpid())
    time.sleep(portable.PULSE_SECONDS)
    pulse.beats()  # what came before is forgotten
    work(0.05)
    assert pulse.beats() and not pulse.beats(0.5)
    work(0.6)
    assert pulse.beats(0.5)


def test_a_role_of_the_users_own_is_found_and_what_lies_beside_it_hides_nothing(
    supervisor, ears, tmp_path, monkeypatch
):
    (tmp_path / "own_role.py").write_text(
        "from dshq_widget.runtime.process import role\n"
        "@role\ndef run(channel, config, blocks):\n    channel.send({'type': 'READY'})\n"
    )
    (tmp_path / "json.py").write_text("raise RuntimeError('this is not the json of the library')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "own_role", raising=False)
    importlib.import_module("own_role")
    supervisor.start("own_role:run", **ears.callbacks)
    assert ears.wait_for("READY") and ears.ended().expected


def test_a_callback_that_raises_is_logged_and_harms_nobody(supervisor, ears, caplog):
    def stumble(child, message):
        ears.messages.put(message)
        raise RuntimeError("callback")

    with caplog.at_level(logging.ERROR):
        child = supervisor.start(PROBE, on_message=stumble)
        ears.wait_for("READY")
        child.send({"type": "ECHO"})
        ears.wait_for("ECHO")
    assert "supervisor callback failed" in caplog.text


def test_callbacks_may_use_the_supervisor(supervisor, ears):
    second = Ears()

    def chain(child, message):
        if message["type"] == "READY":
            child.stop()
            supervisor.start(PROBE, **second.callbacks)

    supervisor.start(PROBE, on_message=chain, on_exit=ears.callbacks["on_exit"])
    assert ears.ended().expected
    second.wait_for("READY")


@pytest.mark.skipif(PORTABLE, reason="threads wait for pipes there")
@pytest.mark.parametrize("which", ["the selector", "the selector and the bell"])
def test_descriptors_that_somebody_else_closes_do_not_end_it(supervisor, ears, which, caplog):
    child = supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("READY")
    done = threading.Event()

    def close() -> None:  # on the supervisor's thread: a number that is free is soon somebody else's
        if which != "the selector":
            os.close(supervisor._board._bell)
        os.close(supervisor._board._selector.fileno())
        done.set()

    supervisor._ask(close)
    assert done.wait(PATIENCE)
    child.send({"type": "ECHO", "word": "still there"})
    ears.wait_for("ECHO", word="still there")
    again = supervisor.start(PROBE, **ears.callbacks)
    ears.wait_for("READY")
    for one in (child, again):
        one.stop()
        assert one.join(PATIENCE)


@pytest.mark.skipif(PORTABLE, reason="threads wait for pipes there")
def test_a_number_that_somebody_else_closed_and_took_again_stays_open(ears, tmp_path, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dshq_widget.system.posix.board"), "disabled", True)  # records keep frames
    held = [Supervisor()]
    child = held[0].start(PROBE, **ears.callbacks)
    ears.wait_for("READY")
    taken: list[int] = []

    def close() -> None:
        number = held[0]._board._selector.fileno()
        os.close(number)
        while number not in taken:
            taken.append(os.open(tmp_path, os.O_RDONLY))

    held[0]._ask(close)
    child.send({"type": "ECHO", "word": "still there"})
    ears.wait_for("ECHO", word="still there")
    held.pop().close()
    del child
    gc.collect()
    for number in taken:
        os.close(number)


def test_close_is_final_and_may_be_repeated(ears):
    supervisor = Supervisor()
    child = supervisor.start(PROBE, **ears.callbacks)
    supervisor.close()
    supervisor.close()
    assert not child.alive
    child.stop()
    child.send({"type": "ECHO"})
    with pytest.raises(RuntimeError, match="closed"):
        supervisor.start(PROBE)


def test_an_unread_parent_does_not_block_a_child(supervisor):
    """While the parent's callback hangs, the child fills its pipe and its queue, drops the rest and lives."""
    release, ears = threading.Event(), Ears()

    def hang(child, message):
        release.wait(PATIENCE)
        ears.messages.put(message)

    child = supervisor.start(PROBE, on_message=hang)
    for number in range(60):
        child.send({"type": "ECHO", "number": number, "padding": "x" * 50_000})
    time.sleep(1)
    release.set()
    child.send({"type": "ECHO", "last": True})
    ears.wait_for("ECHO", last=True)


@pytest.mark.parametrize("cycles", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_start_and_stop_over_and_over_leaves_nothing_behind(cycles):
    me = psutil.Process()

    def cycle():
        ears, block = Ears(), SharedBlock.create(1 << 20)
        supervisor = Supervisor()
        child = supervisor.start(PROBE, {}, {"b": block}, **ears.callbacks)
        ears.wait_for("READY")
        supervisor.close()
        assert not child.alive
        block.close()

    cycle()
    descriptors, threads, memory = me.num_fds(), me.num_threads(), me.memory_info().rss
    others = set(me.children())  # of tests before this one, which may still be ending
    for _ in range(cycles):
        cycle()
    assert me.num_fds() <= descriptors
    assert me.num_threads() < threads + cycles // 2  # one of another test may come or go; ours would add up
    assert set(me.children()) <= others
    assert me.memory_info().rss - memory < 20e6
