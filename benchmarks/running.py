"""How a benchmark is called, runs programs and sums up its rounds."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from typing import Any


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """For the arguments of a benchmark; its docstring is the help."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def said(command: Sequence[str], **how: Any) -> Any:
    """What a command prints last, as JSON; `how` is that of `subprocess.run`. Raises RuntimeError with the command's
    last words where it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def hold_to_one_core() -> None:
    """Binds this process to one processor, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Least, median and largest of some rounds, and the rounds."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values), "rounds": list(values)}
