"""Each piece of machine code has one compiler at a time, and a stamp ends the waiting."""

import multiprocessing
import threading
import time

import pytest

from dshq_widget.runtime import compiling


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path))


def test_the_second_waits_for_the_first_and_the_third_for_nobody(fresh):
    order, waited, begun = [], [], threading.Event()

    def first():
        with compiling.turn("piece", "source"):
            begun.set()
            time.sleep(0.5)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait()
    with compiling.turn("piece", "source", lambda: waited.append(1)):
        order.append("second")
    thread.join()
    assert order == ["first", "second"] and waited == [1]
    assert compiling.stamp("piece", "source").exists()
    assert not compiling.stamp("piece", "another source").exists()
    with compiling.turn("piece", "source", lambda: pytest.fail("it is compiled already")):
        pass


def _hold(ready):
    with compiling.turn("piece"):
        ready.set()
        time.sleep(600)


def test_a_compiler_that_dies_makes_room(fresh):
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    child = context.Process(target=_hold, args=(ready,))
    child.start()
    assert ready.wait(60)
    child.kill()
    child.join()
    with compiling.turn("piece"):
        pass
    assert compiling.stamp("piece").exists()


def test_a_failure_leaves_no_stamp(fresh):
    with pytest.raises(ZeroDivisionError), compiling.turn("piece"):
        raise ZeroDivisionError
    assert not compiling.stamp("piece").exists()
