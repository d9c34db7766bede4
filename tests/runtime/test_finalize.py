"""What an object leaves behind is removed once, by the process that made it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dshq_widget
from dshq_widget.system import finalize as here
from dshq_widget.system.finalize import finalize

PROGRAM = """
import os, sys
from dshq_widget.system import memory
from dshq_widget.system.finalize import finalize

class Owner:
    pass

def leave(path, *, text):
    with open(path, "a") as file:
        file.write(text)

owner = Owner()
end = finalize(owner, leave, sys.argv[1], text="left")
piece = memory.create(4096)
copy = os.fork()
if copy == 0:
    file = os.open(os.devnull, os.O_RDONLY)
    if isinstance(piece.where, int):
        os.dup2(file, piece.where)  # the number is another file's now
    if sys.argv[2] == "call":
        end()
    if sys.argv[2] == "collect":
        del owner
        where = piece.where
        del piece
        assert not isinstance(where, int) or os.fstat(where), "and stays open"
    sys.exit(0)
assert os.waitpid(copy, 0)[1] == 0
assert not os.path.exists(sys.argv[1]), "the copy leaves it alone"
memory.attach(piece.where, 4096)
"""


class Owner:
    pass


@pytest.mark.parametrize("mode", ["posix", "portable"])
@pytest.mark.parametrize("how", ["end", "call", "collect"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system copies no processes")
def test_a_forked_copy_leaves_it_to_its_parent(how, mode, tmp_path):
    environment = {**os.environ, "DSHQ_PORTABLE": "1" if mode == "portable" else ""}
    left = tmp_path / "left"
    command = [sys.executable, "-c", PROGRAM, str(left), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert left.read_text() == "left", "the parent's end removes it, once"


def test_it_is_called_once_when_the_owner_goes_or_when_it_is_asked_for():
    heard: list[object] = []
    one, two = Owner(), Owner()
    end = finalize(one, heard.append, 1)
    finalize(two, heard.append, 2)
    end()
    end()
    del one, two
    assert heard == [1, 2]


def test_no_other_finalizer_is_made():
    """Each would have to know of forked copies by itself."""
    package = Path(dshq_widget.__file__).parent
    named = [path for path in package.rglob("*.py") if "weakref.finalize" in path.read_text(encoding="utf-8")]
    assert named == [Path(here.__file__)]
