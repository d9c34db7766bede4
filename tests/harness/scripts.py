"""Code in a Python of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0


def printed(code: str, *given: object, cwd: Path = ROOT, flags: tuple[str, ...] = (), **more: str | None) -> str:
    """What `code` prints with these arguments and variables of the environment. Fails where it fails."""
    variables = {name: value for name, value in {**os.environ, **more}.items() if value is not None}
    command = [sys.executable, *flags, "-c", code, *map(str, given)]
    run = subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
