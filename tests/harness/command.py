"""`dshq` in this process, without the second that a process takes to start, or in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from dshq_widget import algorithms
from dshq_widget.cli import main
from dshq_widget.contract.json_fields import JSON_FIELDS
from tests.harness.processes.in_threads import in_threads

PATIENCE = 300
"""Seconds: a machine that never compiled anything."""


class Said(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def dshq(*arguments: object, expect: int = 0) -> Said:
    """Run a verb, its learners in threads. Fails unless it ends with status `expect`."""
    out, err = io.StringIO(), io.StringIO()
    with in_threads(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main.main([str(one) for one in arguments])
    assert status == expect, out.getvalue() + err.getvalue()
    return Said(status, out.getvalue(), err.getvalue())


def process(
    *arguments: object, expect: int = 0, cwd: str | os.PathLike[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a verb in a process of its own. Fails unless it ends with status `expect`."""
    command = [sys.executable, "-m", "dshq_widget.cli", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=cwd)
    assert run.returncode == expect, run.stdout + run.stderr
    return run


def answer(*arguments: object) -> dict[str, Any]:
    """What a verb says with --json: nothing that is not in docs/contract.md."""
    said = json.loads(dshq(*arguments, "--json").stdout.splitlines()[-1])
    assert set(said) <= known_fields(str(arguments[0])), said
    return said


def known_fields(verb: str) -> set[str]:
    """The fields of its answer, whatever algorithm it is about."""
    more = (each.summary({}) for each in algorithms.algorithms.values() if verb == "train")
    return {field for fields in (JSON_FIELDS[verb], *more) for field in fields}
