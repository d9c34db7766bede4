"""What an error says, whoever has written its class."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshq_widget.runtime.words import MOST_NAME, MOST_SAID, reason_of, said, words_of

ROOM = Path(__file__).parents[2] / "dshq_widget"


class Speechless(Exception):
    def __str__(self) -> str:
        raise SystemExit("and the thread that asks ends")


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit("so it does where its name is asked for")


class Odd(Exception, metaclass=Nameless):
    pass


@pytest.mark.parametrize(
    ("error", "words", "reason", "sentence"),
    [
        (ValueError("of\n two lines"), "of two lines", "of two lines", "ValueError: of two lines"),
        (MemoryError(), "", "MemoryError", "MemoryError"),
        (Speechless(), None, "Speechless", "Speechless: it does not say why"),
        (Odd(), "", "Odd", "Odd"),
    ],
    ids=["lines", "nothing", "speechless", "nameless"],
)
def test_it_is_asked_and_may_say_nothing(error, words, reason, sentence):
    assert (words_of(error), reason_of(error), said(error)) == (words, reason, sentence)


def test_it_fits_into_a_message():
    assert len(reason_of(ValueError("x" * 10 * MOST_SAID))) == MOST_SAID
    assert said(type("A" * 10_000, (Exception,), {})("x")) == f"{'A' * MOST_NAME}: x"


def unguarded(text: str) -> Iterator[int]:
    """Lines that ask an error what it says where it may be of any class: who catches `Exception` catches those too."""
    for handler in ast.walk(ast.parse(text)):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None or handler.name is None:
            continue
        caught = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
        for node in ast.walk(handler) if caught & {"Exception", "BaseException"} else ():
            if isinstance(node, ast.FormattedValue):
                asked = [node.value]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
                asked = node.args
            else:
                continue
            yield from (one.lineno for one in asked if isinstance(one, ast.Name) and one.id == handler.name)


def test_one_that_is_asked_without_a_guard_is_found():
    for line in ("print(f'{error}')", "say(str(error))", "say(f'{repr(error)}')"):
        assert list(unguarded(f"try: go()\nexcept (ValueError, Exception) as error: {line}")) == [2]
    assert not list(unguarded("try: go()\nexcept ValueError as error: say(str(error))"))
    assert not list(unguarded("try: go()\nexcept Exception as error: say(said(error))"))


@pytest.mark.parametrize("room", sorted(path.name for path in ROOM.iterdir() if path.is_dir()))
def test_none_is_asked_without_a_guard(room):
    """A player's network, an environment, an answer, a client of a tracker: its `__str__` may raise, or exit."""
    files = (ROOM / room).rglob("*.py")
    found = [(str(path.relative_to(ROOM)), line) for path in files for line in unguarded(path.read_text("utf-8"))]
    assert found == [], "ask runtime/words.py"
