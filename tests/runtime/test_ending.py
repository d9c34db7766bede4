"""What ends a program that serves until it is asked to end."""

import signal
import subprocess
import sys

import pytest

PATIENCE = 120.0
ASKED = """
import os, signal, sys, threading, time
from dshq_widget.system.ending import EndSignal

def ask(number):
    while True:
        os.kill(os.getpid(), number)

numbers = [signal.Signals[name] for name in sys.argv[1:]]
with EndSignal() as ended:
    for number in numbers:
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    ended.wait()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        ended.wait()
    os.write(1, b"ended")
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there os.kill ends the process")
@pytest.mark.parametrize("names", [["SIGINT"], ["SIGINT", "SIGTERM"]], ids=" ".join)
def test_asked_again_at_any_moment_a_program_ends(names: list[str]):
    """A terminal and what runs beside it both send one. The second waited for the lock of the first, for good."""
    asked = [sys.executable, "-c", ASKED, *names]
    assert subprocess.run(asked, stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout == b"ended"


def test_afterwards_signals_do_what_they_did():
    from dshq_widget.system.ending import EndSignal

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with EndSignal() as ended:
        signal.raise_signal(signal.SIGTERM)
        ended.wait()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
