"""Whatever a step raises, the thread that called it continues."""

import pytest

from dshq_widget.widget.fence import MOST_LOGGED, Fence, sentence


class Mute(Exception):
    """An error of somebody's own rules or environment."""

    def __str__(self) -> str:
        raise ValueError("no words")


class MuteMemory(MemoryError):
    def __str__(self) -> str:
        raise ValueError("no words")


def fails(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("how", ["step", "command"])
def test_an_error_that_cannot_say_itself_is_named(how: str):
    said: list[str] = []
    fence = Fence(said.append)
    assert getattr(fence, how)("a move", fails, Mute()) is False
    assert said == ["a move failed: Mute"]
    assert "not enough memory" in sentence(MuteMemory())


class Leaving(ValueError):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize("how", ["step", "command"])
def test_nor_does_an_errors_class_end_one(how: str):
    """Asked what it says, it called `sys.exit`: the sending thread would have ended, and the page stood still."""
    said: list[str] = []
    assert getattr(Fence(said.append), how)("a move", fails, Leaving()) is False
    assert said == ["Leaving"]


@pytest.mark.parametrize("how", ["step", "command"])
@pytest.mark.parametrize("error", [SystemExit("enough"), KeyboardInterrupt("enough")], ids=repr)
def test_somebodys_own_code_ends_no_thread(how: str, error: BaseException):
    said: list[str] = []
    assert getattr(Fence(said.append), how)("a move", fails, error) is False
    assert said == ["a move failed: enough"]


@pytest.mark.parametrize("how", ["step", "command"])
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")], ids=repr)
def test_nor_does_one_while_it_is_said(how: str, error: Exception):
    fence = Fence(lambda _: fails(error))
    assert getattr(fence, how)("a move", fails, ZeroDivisionError("x")) is False
    assert getattr(fence, how)("a move", lambda: None) is True


def test_many_errors_of_one_kind_do_not_silence_another(caplog):
    fence = Fence(lambda _: None)
    for k in range(3 * MOST_LOGGED):
        fence.command("a message", fails, ValueError(f"wanted a number, got {k}"))
    assert len(caplog.records) == MOST_LOGGED, "a page cannot fill the log"
    for _ in range(2):
        fence.step("a step", fails, ZeroDivisionError("division by zero"))
    assert len(caplog.records) == MOST_LOGGED + 1 and caplog.records[-1].exc_info
