"""A file that a comment or docstring of the sources names is there: a reader follows exactly these."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.documents import ROOT, is_file

FOLDERS = ("dshq_widget", "kernels", "js", "tools", "benchmarks")
NAMED = re.compile(r"(?<![\w./*{-])(?:[\w-]+/)*[a-z_][\w-]*\.(?:py|ts|wgsl|sh)(?!\w)")
OTHERS = {
    "CleanRL, OpenAI Baselines, PureJaxRL and Stoix": "ppo.py ppo_atari.py ppo_continuous_action.py atari_wrappers.py "
    "ff_spo.py",
    "Gymnasium": "gymnasium/envs/classic_control/cartpole.py",
    "Python, ipykernel and PufferLib": "popen_spawn_win32.py comm.py setup.py numpy.py",
    "the reader's": "my_drill.py my_algorithm.py my_network.py",
}
"""Files that are not ours, by whose they are."""
NOT_OURS = {name for names in OTHERS.values() for name in names.split()}
STANDS_FOR_MANY = re.compile(r"NAME|FILE")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Lines and texts of a file's comments and docstrings."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        for match in re.finditer(r"/\*.*?\*/|(?<!:)//[^\n]*", text, re.DOTALL):
            yield text.count("\n", 0, match.start()) + 1, match[0]
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def sources() -> list[Path]:
    """Python, TypeScript and WGSL of the product and its tools."""
    found = (
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".ts", ".wgsl")
    )
    return [path for path in found if not {"static", "node_modules", "__pycache__"} & {*path.parts}]


def wrong(texts: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """What is named and is nowhere, with the line where the comment begins."""
    return [
        (line, name)
        for line, text in texts
        for name in NAMED.findall(text)
        if not {name, name.rsplit("/", 1)[-1]} & NOT_OURS and not STANDS_FOR_MANY.search(name) and not is_file(name)
    ]


def test_files_that_comments_name_are_there():
    found = {path.relative_to(ROOT).as_posix(): wrong(comments(path)) for path in sources()}
    assert len(found) > 900
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", '"""As in learning/nowhere.py."""\n'),
        (".py", "x = 1  # nowhere.py says why\n"),
        (".ts", "/** The twin of\n * nowhere.ts. */\nexport const x = 1;\n"),
        (".wgsl", "// play/nowhere.py\n"),
    ],
)
def test_a_name_that_leads_nowhere_is_found(tmp_path, suffix, text):
    path = tmp_path / f"source{suffix}"
    path.write_text(text)
    assert len(wrong(comments(path))) == 1
    assert wrong(comments(Path(__file__))) == []
