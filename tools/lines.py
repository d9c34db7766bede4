"""Counts the lines of code by room, always in the same way, so that two commits can be compared.

    python -m tools.lines [--commit COMMIT] [--files]

A line of Python counts if a token stands on it that is neither a comment nor a string by itself (a docstring, or the
one below a field). A line of the other languages counts if it is neither empty nor all comment. The page's generated
tables count. Documents, notebooks, HTML templates, shell scripts and what a build writes do not.
"""

import argparse
import ast
import collections
import io
import re
import subprocess
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
LANGUAGES = {".py", ".ts", ".css", ".wgsl", ".mjs", ".js"}
PRODUCT = ("dshq_widget", "kernels", "js")  # what is installed; the page is part of the package
REST = ("tests", "js/tests", "benchmarks", "tools")
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def python_lines(text: str) -> int:
    """The lines of a Python file that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def other_lines(text: str) -> int:
    """The lines of a file with comments as in C that hold code."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text, flags=re.DOTALL)
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//"))


def count(name: str, text: str) -> int:
    """The lines of the file of this name and text that hold code."""
    return python_lines(text) if name.endswith(".py") else other_lines(text)


def part(name: str) -> str | None:
    """The part of the project, one of `PRODUCT` and `REST`, that a file belongs to; None where it is not counted."""
    if Path(name).suffix not in LANGUAGES or name.startswith("dshq_widget/static/"):
        return None
    top = name.split("/")[0]
    top = "js/tests" if top == "js" and "/tests/" in name else top
    return top if top in PRODUCT + REST else None


def room(name: str) -> str:
    """The folder of a file below its part: `dshq_widget/training`, `js/match`, `js/features/gate`."""
    folders = name.split("/")[:-1]
    deep = folders[0] == "kernels" or folders[:2] == ["js", "features"]
    return "/".join(folders[: 3 if deep else 2])


def git(*arguments: str) -> bytes:
    """What this git command prints, in the checkout."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def sources(commit: str | None) -> dict[str, str]:
    """Name -> text of all files that are counted, of a commit, or of the working tree (what git follows in it)."""
    if commit is None:
        names = git("ls-files", "-z").decode().split("\0")
        return {name: (ROOT / name).read_text("utf-8") for name in names if part(name) and (ROOT / name).is_file()}
    names = git("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
    return {name: git("show", f"{commit}:{name}").decode() for name in names if part(name)}


def main(argv: list[str] | None = None) -> None:
    """Prints the lines of each part and, of the product, of each room, largest first."""
    parser = argparse.ArgumentParser(prog="python -m tools.lines", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--commit", help="count this commit instead of the working tree")
    parser.add_argument("--files", action="store_true", help="print every file instead of rooms")
    arguments = parser.parse_args(argv)
    parts: collections.Counter[str] = collections.Counter()
    places: collections.Counter[str] = collections.Counter()
    for name, text in sources(arguments.commit).items():
        belongs = part(name)
        assert belongs is not None
        lines = count(name, text)
        parts[belongs] += lines
        if belongs in PRODUCT:
            places[name if arguments.files else room(name)] += lines
    print(f"{sum(parts[name] for name in PRODUCT):7,} product")
    for name in PRODUCT + REST:
        print(f"{parts[name]:7,} {name}")
    print()
    for name, lines in places.most_common():
        print(f"{lines:7,} {name}")


if __name__ == "__main__":
    main()
