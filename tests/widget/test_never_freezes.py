"""Whatever a step of the sender thread raises, the page hears of it in a sentence, and the next message is served."""

import logging
import threading
import time
from typing import Any

import pytest

from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.widget import sender as sender_module
from dshq_widget.widget.commands import MOST_AT_ONCE, MOST_OF_A_PAGE, MOST_UPLOADS
from dshq_widget.widget.fence import Fence, sentence
from dshq_widget.widget.inbox import BYTES_MAX, CROWDED_BYTES, ITEM_BYTES, TURN_SECONDS, Inbox, held
from dshq_widget.widget.looking import Looking, spoken_by
from dshq_widget.widget.sender import MOST_WAITING, Sender
from tests.harness.browser.recorded_widget import until

ERRORS = [MemoryError(), OverflowError("int too large"), OSError(28, "No space left on device"), KeyError("x")]


def answered(widget) -> Any:
    """The answer to a page that has just appeared."""
    assert widget._sender.is_alive(), "the sender thread ended"
    before = len(widget.comm.customs("HISTORY"))
    widget.comm.say({"type": "HELLO"})
    until(lambda: len(widget.comm.customs("HISTORY")) > before)
    assert widget._sender.is_alive(), "the sender thread ended"


@pytest.fixture
def open_widget(make):
    widget = make()
    answered(widget)
    return widget


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["a command", "the quota", "the refresh", "an opponent", "sending"])
def test_an_error_anywhere_is_told_and_the_next_message_is_served(open_widget, monkeypatch, caplog, where, error):
    widget = open_widget
    wanted = sentence(error)

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    def said() -> list[str]:
        return [one["text"] for one in widget.comm.customs("LOG") if wanted in one["text"]]

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "dshq_widget"):
        if where == "a command":
            patch.setattr(widget._trainer, "set_hyper", fail)
            widget.comm.say({"type": "SET_HYPER", "key": "pace", "value": 1})
        elif where == "the quota":
            patch.setattr(widget._quota, "follow", fail)
            widget.comm.say({"type": "HELLO"})
        elif where == "the refresh":
            patch.setattr(widget._trainer, "latest_policy", fail)
            widget._policy_at = -1e9
            widget.comm.say({"type": "HELLO"})
        elif where == "an opponent":
            patch.setattr(widget._rivals, "load", fail)
            widget.comm.say({"state": {"show": {"opponent": "gold"}}}, method="update")
        else:
            patch.setattr(widget, "_frame", fail)
            widget.comm.say({"type": "HELLO"})
        until(said)
        answered(widget)
    answered(widget)
    widget.set_hyper(gamma=0.9)
    until(lambda: widget.config["values"]["gamma"] == 0.9)
    assert len([record for record in caplog.records if wanted in record.getMessage()]) == 1, "logged once"


def test_a_full_temporary_folder_is_no_end_of_the_page(open_widget, monkeypatch):
    """league:best is read from a file that the trainer writes into the temporary folder."""
    widget = open_widget

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(widget._rivals, "_of_league", full)
    widget._rivals.known = {**widget._rivals.known, "league:best": None}
    widget.comm.say({"state": {"show": {"opponent": "league:best"}}}, method="update")
    until(lambda: any("No space left" in one["text"] for one in widget.comm.customs("LOG")))
    answered(widget)


def test_the_page_is_served_while_the_learner_writes_its_league(open_widget, monkeypatch):
    widget = open_widget
    asked, written = threading.Event(), threading.Event()

    def slow(_: int | None) -> checkpoint.Checkpoint:
        asked.set()
        assert written.wait(300)
        return checkpoint.load(ladder.path("ball", "gold"))

    monkeypatch.setattr(widget._rivals, "_of_league", slow)
    widget._rivals.known = {**widget._rivals.known, "league:best": None}
    widget.comm.say({"state": {"show": {"opponent": "league:best"}}}, method="update")
    assert asked.wait(300)
    for _ in range(3):
        answered(widget)
    written.set()
    until(lambda: widget.rivals.get("league:best"))


def test_a_page_cannot_ask_for_any_number_of_things_at_once(open_widget, monkeypatch):
    widget = open_widget
    going, over = [], threading.Event()

    def slow() -> bytes:
        going.append(1)
        assert over.wait(300)
        return b""

    monkeypatch.setattr(widget._commands, "_page_file", slow)
    for _ in range(3 * MOST_AT_ONCE):
        widget.comm.say({"type": "SAVE_PAGE"})
    refused = until(lambda: widget.comm.customs("PAGE_FILE"))
    assert all("has to wait" in one["problem"] for one in refused)
    answered(widget)
    assert len(going) == 1, "a file may be a whole run in memory: one is made at a time"
    over.set()
    made = lambda: [one for one in widget.comm.customs("PAGE_FILE") if not one["problem"]]  # noqa: E731
    until(lambda: len(made()) == MOST_OF_A_PAGE)
    widget.comm.say({"type": "SAVE_PAGE"})
    until(lambda: len(made()) == MOST_OF_A_PAGE + 1)


def say(widget, page, content, *buffers):
    """A page sends something: each has a session of its own."""
    data = {"data": {"method": "custom", "content": content}}
    widget.comm.handle_msg({"header": {"session": page}, "content": data, "buffers": list(buffers)})


def test_a_page_that_asks_without_end_leaves_the_others_their_answers(open_widget, monkeypatch):
    """It took every place that was free, and the others could neither save, nor meet an opponent, nor train."""
    widget, over = open_widget, threading.Event()
    monkeypatch.setattr(widget._commands, "_page_file", lambda: over.wait(300) and b"page")
    monkeypatch.setattr(widget._trainer, "run_file", lambda: over.wait(300) and widget_file())
    for _ in range(3 * MOST_AT_ONCE):
        say(widget, "bad", {"type": "SAVE_PAGE", "request": 1})
    say(widget, "good", {"type": "SAVE_POLICY", "whole": True, "request": 7})
    until(lambda: len(widget.comm.customs("PAGE_FILE")) == 3 * MOST_AT_ONCE - MOST_OF_A_PAGE)
    over.set()
    [answer] = until(lambda: widget.comm.customs("POLICY_FILE"))
    assert (answer["request"], answer["problem"]) == (7, "")
    until(lambda: not widget._commands._making)


def test_two_pages_send_files_at_the_same_time(open_widget):
    """Each part of the one ended the file of the other."""
    widget, data = open_widget, widget_file()
    half = len(data) // 2
    for part, bytes_ in enumerate((data[:half], data[half:])):
        for page in ("one", "two"):
            load = {"type": "LOAD_POLICY", "name": f"{page}.dshq", "part": part, "parts": 2}
            say(widget, page, load, bytes_)
    until(lambda: "two.dshq" in widget.status_text)
    assert not any("out of order" in one["text"] for one in widget.comm.customs("LOG"))
    until(lambda: not widget._commands._uploads)


def test_who_begins_files_without_end_ends_nobody_elses(open_widget, monkeypatch):
    """Five connections were enough, each with a part of a byte."""
    widget, data = open_widget, widget_file()
    half = len(data) // 2
    monkeypatch.setattr("dshq_widget.widget.commands.MOST_UPLOAD_BYTES", 20 * half)
    load = {"type": "LOAD_POLICY", "name": "one.dshq", "parts": 2}
    say(widget, "one", {**load, "part": 0}, data[:half])
    for size in (1, 3 * half):
        for k in range(2 * MOST_UPLOADS):
            say(widget, str(k), {"type": "LOAD_POLICY", "name": "x", "part": 0, "parts": 2}, bytes(size))
    say(widget, "one", {**load, "part": 1}, data[half:])
    until(lambda: "one.dshq" in widget.status_text)
    kept = [one.nbytes for one in widget._commands._uploads.values()]
    assert sum(kept) <= 20 * half and len(kept) <= MOST_UPLOADS


def test_a_thread_that_cannot_start_holds_nothing(open_widget, monkeypatch):
    widget, told = open_widget, []

    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as machine:
        machine.setattr(threading, "Thread", NoThread)
        for _ in range(2 * MOST_AT_ONCE):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                widget._commands.beside("a thing", told.append, "never")
        widget._quota.submit_beside(lambda: None)
    assert widget._quota._sent == {"state": "failed", "text": "can't start new thread"}
    widget._commands.beside("a thing", told.append, "done")
    until(lambda: told)


def test_a_page_that_waits_for_a_file_hears_why_there_is_none(open_widget, monkeypatch):
    widget = open_widget

    def fail() -> bytes:
        raise CheckpointError("the run has 70,000,000 bytes")

    monkeypatch.setattr(widget._trainer, "run_file", fail)
    monkeypatch.setattr(widget._trainer, "policy_file", fail)
    for request, whole in enumerate((True, False)):
        widget.comm.say({"type": "SAVE_POLICY", "whole": whole, "request": 7 + request})
    found = until(lambda: widget.comm.customs("POLICY_FILE")[1:] and widget.comm.customs("POLICY_FILE"))
    assert [one["problem"] for one in found] == ["the run has 70,000,000 bytes"] * 2
    assert sorted(one["request"] for one in found) == [7, 8], "each answer says which request it is of"
    monkeypatch.setattr(widget._commands, "_page_file", lambda: [].pop())
    widget.comm.say({"type": "SAVE_PAGE"})
    (found,) = until(lambda: widget.comm.customs("PAGE_FILE"))
    assert "pop from empty list" in found["problem"]


def test_a_step_that_keeps_failing_is_told_once_until_it_works_again():
    said: list[str] = []
    fence = Fence(said.append)
    for _ in range(5):
        assert not fence.step("looking", [].pop)
    assert fence.step("looking", list) and len(said) == 1
    assert not fence.step("looking", [].pop) and len(said) == 2
    for _ in range(3):
        assert not fence.command("asking", [].pop)
    assert len(said) == 5


def test_lines_without_end_keep_neither_traits_nor_frames_from_the_page():
    sent: list[str] = []
    sender = Sender(lambda keys, seq: sent.append("traits"), lambda message: sent.append(message["type"]))
    sender.flow.received(None, hello=True)
    for k in range(50):
        sender.log("error", f"a bad message {k}")
        if k == 3:
            sender.changed({"status"})
        sender.flow.received(sender.flow.seq)
        until(lambda: sender.due)
        sender.send(True, 0.0, lambda: {"type": "FRAME"})
    assert sent.count("FRAME") == 50 and sent.count("traits") >= 1 and sent.count("LOG") >= 30
    sent.clear()
    for _ in range(20):  # a page that says hello without end is owed everything each time
        sender.flow.received(sender.flow.seq - 1, hello=True)
        sender.send(True, 0.0, lambda: {"type": "FRAME"})
    assert sent.count("FRAME") == 20, sent
    files = Sender(lambda keys, seq: None, lambda message: sent.append(message["type"]))
    files.flow.received(None, hello=True)
    for name in "abcde":
        files.put({"type": name})
    sent.clear()
    for _ in range(7):
        files.send(True, 0.0, lambda: {"type": "FRAME"})
    assert [kind for kind in sent if kind != "FRAME"] == list("abcde") and len(sent) == 5 + 7, "in their order"


def test_pages_are_heard_between_two_messages_to_them():
    sender = Sender(lambda keys, seq: None, lambda message: None)
    sender.flow.received(None, hello=True)
    assert sender.due
    sender.log("notice", "one")
    sender.send(True, 0.0, lambda: None)
    sender.notify()
    sender.wait(running=False)  # returns at once: a page has sent something
    waits = 0
    while not sender.due:
        sender.wait(running=False)
        waits += 1
    assert waits < 20, "it sleeps, though nothing may be sent yet"


def inbox(execute) -> Inbox:
    """One whose messages are HELLOs, of no widget."""
    return Inbox(None, Sender(print, print), None, execute, print, Fence(print), dict, Looking(print))


def test_pages_that_send_without_end_leave_a_turn_to_what_is_sent_to_them():
    heard: list[str] = []

    def execute(kind, content, buffers):
        heard.append(kind)
        if len(heard) < 100:
            ours.put_message({"type": "HELLO"}, [])

    ours = inbox(execute)
    ours.put_message({"type": "HELLO"}, [])
    ours.work()
    assert len(heard) == 1
    ours.work()
    assert len(heard) == 2


def test_what_takes_long_leaves_a_turn_to_what_is_sent(monkeypatch):
    heard: list[str] = []

    def execute(kind, content, buffers):
        heard.append(kind)
        time.sleep(2 * TURN_SECONDS)

    ours = inbox(execute)
    for _ in range(3):
        ours.put_message({"type": "HELLO"}, [])
    for done in (1, 2, 3):
        ours.work()
        assert len(heard) == done
    ours.work()
    assert len(heard) == 3


def test_what_waits_is_counted_by_what_it_holds_in_memory(monkeypatch):
    ours, large = inbox(print), {"state": memoryview(bytes(CROWDED_BYTES))}
    ours.put_state({"snapshot": large})
    assert ours.crowded, "the bytes of a trait count, too"
    assert held([0] * 10_000) > 8 * 10_000 and held({"a": "x" * 500}) > 500
    ours.put_message({"type": "HELLO", "rows": [[]] * (BYTES_MAX // ITEM_BYTES)}, [])
    assert ours._queue.qsize() == 1, "nor does a message of a million lists find room"
    monkeypatch.setattr(ours, "_take_snapshot", lambda value: None)
    ours.work()
    assert not ours.crowded


def test_a_full_queue_keeps_the_files_that_somebody_waits_for():
    sender = Sender(lambda keys, seq: None, lambda message: None)
    sender.put({"type": "POLICY_FILE"})
    for k in range(2 * MOST_WAITING):
        sender.log("notice", str(k))
    assert len(sender.messages) == MOST_WAITING and sender.messages[0]["type"] == "POLICY_FILE"
    assert sender.messages[-1]["text"] == str(2 * MOST_WAITING - 1)


def test_a_page_that_asks_without_end_pushes_out_its_own_answers_only():
    """Refusals of files in a flood took the place of what other pages waited for, and of a learner's orders."""
    sender = Sender(lambda keys, seq: None, lambda message: None)
    others = [{"type": "TO_LEARNER", "run": 1}, {"type": "POLICY_FILE", "problem": "", "buffers": [b"run"]}]
    others += [{"type": "REWARD_CHECKED", "line": str(k)} for k in range(5)]
    for message in others:
        sender.put(message)
    for k in range(3 * MOST_WAITING):
        sender.put({"type": ("PAGE_FILE", "POLICY_FILE")[k % 2], "problem": "has to wait", "request": k, "buffers": []})
    assert len(sender.messages) == MOST_WAITING and list(sender.messages)[: len(others)] == others
    assert sender.messages[-1]["request"] == 3 * MOST_WAITING - 1


def test_nor_does_one_push_them_out_that_asks_for_files():
    """Sixty-four small files waited, and what another page had asked for had no buffer: it was left out."""
    sender = Sender(lambda keys, seq: None, lambda message: None)
    for k in range(2 * MOST_WAITING):
        with spoken_by("one"):
            sender.answer({"type": "POLICY_FILE", "request": k, "buffers": [b"run"]})
        if k == MOST_WAITING:
            with spoken_by("another"):
                sender.answer({"type": "REWARD_CHECKED", "line": "1"})
    assert len(sender.messages) == MOST_WAITING
    assert [message["line"] for message in sender.messages if message["type"] == "REWARD_CHECKED"] == ["1"]


def test_files_that_wait_fill_no_memory(open_widget, monkeypatch):
    """A request has sixty bytes, its answer may have megabytes, and a page may read nothing."""
    widget, data = open_widget, widget_file()
    monkeypatch.setattr(sender_module, "MOST_BYTES", 3 * len(data))
    monkeypatch.setattr(widget._trainer, "policy_file", lambda: data)
    monkeypatch.setattr(widget._outbox, "_next", lambda: None)  # nothing leaves
    for k in range(20):
        widget.comm.say({"type": "SAVE_POLICY", "whole": False, "request": k})
    until(lambda: len(files(widget)) == 20)
    said = [(message["request"], message["problem"], len(message["buffers"])) for message in files(widget)]
    assert [one for *one, sent in said if sent] == [[0, ""], [1, ""], [2, ""]]
    assert all("files are on their way" in problem for _, problem, sent in said if not sent)


def widget_file() -> bytes:
    return checkpoint.encode(checkpoint.load("ball:gold"))


def files(widget) -> list[dict[str, Any]]:
    return [message for message in widget._outbox.messages if message["type"] == "POLICY_FILE"]


def test_one_file_waits_however_large_it_is():
    sender = Sender(lambda keys, seq: None, lambda message: None)
    assert sender.refusal(2 * sender_module.MOST_BYTES) == ""
    sender.put({"type": "POLICY_FILE", "buffers": [bytes(10)]})
    assert sender.refusal() == "" and "ask again" in sender.refusal(sender_module.MOST_BYTES)


def test_only_the_newest_curves_wait():
    sender = Sender(lambda keys, seq: None, lambda message: None)
    for k in range(5):
        sender.put({"type": "HISTORY", "start": 0, "rows": [{"updates": k}]})
        sender.log("notice", str(k))
    assert [message["rows"] for message in sender.messages if message["type"] == "HISTORY"] == [[{"updates": 4}]]
    assert len(sender.messages) == 6
