"""Shared names: the page's tables, the documentation and the policy layout follow from one source."""

import re
from pathlib import Path

import pytest

from dshq_widget.contract import protocol
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS, REWARD_TERM, metric_named
from dshq_widget.contract.protocol import blob_floats, shape_hash
from tools import tables

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("js/contract/game.ts", tables.game_ts),
        ("js/contract/tables.ts", tables.tables_ts),
        ("js/trainer/tables.ts", tables.trainer_ts),
        ("docs/contract.md", tables.contract_md),
        ("docs/algorithms.md", tables.algorithms_md),
    ],
)
def test_generated_files_are_up_to_date(path, written):
    assert (ROOT / path).read_text() == written(), "run `make tables`"


def test_shape_hash_and_blob_size():
    # `printf 'mlp|28|64|64|31|tanh|v1' | sha256sum`
    assert shape_hash([28, 64, 64, 31], "tanh") == "d6c0562b93c04ae4"
    assert shape_hash([28, 64, 64, 31], "relu") != shape_hash([28, 64, 64, 31], "tanh")
    assert blob_floats([28, 64, 64, 31]) == 28 * 64 + 64 + 64 * 64 + 64 + 64 * 31 + 31


def test_metrics_are_described():
    assert {metric.category for metric in METRICS.values()} == set(METRIC_CATEGORIES)
    for name, metric in METRICS.items():
        assert name.isidentifier() and name == name.lower()
        assert re.fullmatch(r"[A-Z1-9].*\.", metric.text), name
    assert metric_named("reward_goal") is REWARD_TERM
    assert metric_named("sps") is None


def page_union(name: str) -> dict[str, set[str]]:
    """Message type -> fields of one union type in js/contract/protocol.ts, without the addressee's `id` and `view`."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", (ROOT / "js" / "contract" / "protocol.ts").read_text(), flags=re.S)
    found = re.search(rf"export type {name} =(.*?)\n(?=\n|export|/|interface|type )", source, re.S)
    assert found, f"js/contract/protocol.ts has no type {name}"
    messages = {}
    for member in re.split(r"\n\s*\|", "\n" + found[1])[1:]:
        kind = re.search(r'type: "(\w+)"', member)
        if kind:
            body = member[member.index("{") + 1 : member.rindex("}")]
            body = re.sub(r"\[[^\]]*\]|\{[^{}]*\}", "", body)
            messages[kind[1]] = set(re.findall(r"(\w+)\??:", body)) - {"type", "id", "view"}
    return messages


def table(direction: str) -> dict[str, set[str]]:
    return {kind: set(fields) - {protocol.ANY_SETTINGS} for kind, fields in protocol.MESSAGES[direction].items()}


@pytest.mark.parametrize(
    ("union", "direction"), [("PageToKernel", "page_to_kernel"), ("KernelToPage", "kernel_to_page")]
)
def test_page_and_kernel_speak_of_the_same_messages(union, direction):
    assert page_union(union) == table(direction)


@pytest.mark.parametrize(("union", "direction"), [("ToWorker", "page_to_worker"), ("FromWorker", "worker_to_page")])
def test_page_and_worker_know_every_message_of_the_table(union, direction):
    assert set(table(direction)) <= set(page_union(union))
