"""`dshq` in this process: what it prints and its status, without the second that a process takes to start."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any, NamedTuple

from dshq_widget.cli import main
from tests.harness.processes.in_threads import in_threads


class Said(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def dshq(*arguments: object, expect: int = 0) -> Said:
    """Run a verb, its learners in threads. Fails unless it ends with status `expect`."""
    out, err = io.StringIO(), io.StringIO()
    with in_threads(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main.main([str(one) for one in arguments])
        except SystemExit as end:  # argparse, after --help
            status = int(end.code or 0)
    assert status == expect, out.getvalue() + err.getvalue()
    return Said(status, out.getvalue(), err.getvalue())


def answer(*arguments: object) -> dict[str, Any]:
    """What a verb says with --json."""
    return json.loads(dshq(*arguments, "--json").stdout.splitlines()[-1])
