"""Where the command `dshq` begins: it hears Ctrl-C and SIGTERM before anything else is imported, which takes a second.
Once the verbs are there, interrupts.py hears them. A signal that comes before this is Python's own affair, so this
module and the packages above it import next to nothing.
"""

import os
import signal

END_SECONDS = 30.0


def main() -> int:
    """Run one verb and return the exit status."""
    # Also where the shell of a script began it in the background, deaf to Ctrl-C: interrupts.py hears it there.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from dshq_widget.cli.main import main as run

    status = run()
    if status > 128:
        _end_soon(status)
    return status


def _end_soon(status: int) -> None:
    """Python waits for threads before it ends, also for one that compiles or hangs: not longer than `END_SECONDS`."""
    import threading  # main has imported it

    timer = threading.Timer(END_SECONDS, os._exit, [status])
    timer.daemon = True
    timer.start()


def _end(number: int, _frame: object) -> None:
    """Nothing has begun, or all of it is over: there is nothing to keep."""
    by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    try:  # noqa: SIM105 (contextlib is a library that takes its time)
        os.write(2, f"\ndshq: stopped by {by}\n".encode())
    except OSError:
        pass
    os._exit(128 + number)
