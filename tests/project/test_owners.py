"""Who changes what: no object writes into the fields of another one, and the states of a run are set as their table
says. The hubs, which put the others together, stay small.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("dshq_widget", "kernels/dshq_kernels") for path in (ROOT / folder).rglob("*.py"))
OTHERS = {
    "_state": "of Gymnasium's vectors",
    "atexit": "of weakref.finalize",
    "db": "of a threading.local",
    "found_inf": "of torch's optimisers",
    "grad": "of torch's parameters",
    "writeable": "of NumPy's arrays",
}
"""Fields of objects of other packages, which have no method for it."""
ELSEWHERE = {"numba", "bytecode", "caching", "dispatcher", "c"}
"""Modules of numba, whose behaviour backends/bent_numba.py and simd/kept.py bend, and JupyterHub's configuration."""
HUBS = (
    "dshq_widget/training/trainer.py",
    "dshq_widget/widget/drill_widget.py",
    "js/session/session.ts",
    "js/worker/host.ts",
    "js/worker/widget.ts",
    "js/match/deciders.ts",
    "js/mind/inspector.ts",
)
HUB_LINES = 300


def written(tree: ast.AST) -> Iterator[ast.expr]:
    """What is assigned to, tuples taken apart."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        for target in targets:
            yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def foreign(source: str) -> list[str]:
    """Writes to a field of what an object has in a field of its own, as they are written."""
    found = []
    for target in written(ast.parse(source)):
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute):
            whose = ast.unparse(target)
            if target.attr not in OTHERS and whose.partition(".")[0] not in ELSEWHERE:
                found.append(whose)
    return found


def test_a_write_into_a_part_is_seen():
    assert foreign("self._status.text, x = 'a', 1\nself.text = 'b'\nself.rows[0].text = 'c'") == ["self._status.text"]


def test_no_object_writes_into_a_field_of_another_one():
    found = {path.relative_to(ROOT).as_posix(): foreign(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: writes for path, writes in found.items() if writes} == {}


def test_the_states_of_a_run_are_set_by_whom_their_table_names():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| state | set by |") :].partition("\n\n")[0]
    named = {
        (state, name)
        for state, by in re.findall(r"^\| `(\w+)` \| ([^|]*) \|", table, re.M)
        for name in re.findall(r"`(\w+\.py)`", by)
    }
    sets = re.compile(r'status\.(?:set\("(\w+)"|(begin|fail)\()')
    called = {"begin": "starting", "fail": "error"}
    found = {
        (state or called[other], path.name)
        for path in (ROOT / "dshq_widget").rglob("*.py")
        if path.name != "status.py"
        for state, other in sets.findall(path.read_text(encoding="utf-8"))
    }
    assert found == named


@pytest.mark.parametrize("hub", HUBS)
def test_a_hub_is_small(hub: str):
    assert len((ROOT / hub).read_text(encoding="utf-8").splitlines()) < HUB_LINES
