"""The page's TypeScript, bundled and run in Node, for tests that hold it equal to Python."""

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from dshq_widget.env.trace import node

ROOT = Path(__file__).parents[2]
ESBUILD = ROOT / "node_modules" / "esbuild" / "bin" / "esbuild"
MAIN = """
const plain = (_, value) => {
  if (typeof value === "bigint") return value.toString();
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
};
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
Promise.resolve(entry.main(given)).then((result) => console.log(JSON.stringify(result, plain)));
"""


@cache
def bundled(source: str, form: str = "iife") -> str:
    """JavaScript of a TypeScript module, given as text, that exports `main`; it imports from "./js/...". `form`: "esm"
    for a module.
    """
    command = [
        str(ESBUILD),
        "--bundle",
        f"--format={form}",
        *(("--global-name=entry", "--platform=node") if form == "iife" else ()),
        "--loader=ts",
        "--loader:.wgsl=text",
    ]
    run = subprocess.run(command, input=source, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


def run(source: str, given: Any, *flags: str) -> Any:
    """`main(given)` of a TypeScript module in Node, as plain JSON: typed arrays as lists, bigints as text."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.cjs"  # too long for an argument
        script.write_text(bundled(source) + MAIN)
        done = subprocess.run(
            [node(), *flags, str(script)], input=json.dumps(given), text=True, capture_output=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
