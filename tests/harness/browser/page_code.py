"""The page's code outside a page: a file of js as one script, for Node and for a browser."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from dshq_widget.env.trace import node

ROOT = Path(__file__).parents[3]
ESBUILD = ROOT / "node_modules" / "esbuild" / "bin" / "esbuild"
MAIN = """
const { call, given } = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(matches[call](...given)));
"""


@cache
def matches_script(file: str = "tests/harness/record_matches") -> str:
    """JavaScript that defines `matches`, with what a file exports: `matches.recordMatches`, `matches.replayedHash`."""
    entry = ROOT / "js" / f"{file}.ts"
    command = [str(ESBUILD), str(entry), "--bundle", "--format=iife", "--global-name=matches", "--log-level=warning"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def in_node(call: str, *arguments: Any, file: str = "tests/harness/record_matches") -> Any:
    """The result of a file's `call(...arguments)` in Node."""
    work = json.dumps({"call": call, "given": arguments})
    run = subprocess.run([node(), "-e", matches_script(file) + MAIN], input=work, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)
