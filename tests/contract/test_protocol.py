"""Shared names: the page's tables, the documentation and the policy layout follow from one source."""

import re
from pathlib import Path

import pytest

from dshq_widget.contract import messages, protocol
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS, REWARD_TERM, metric_named
from dshq_widget.contract.protocol import blob_floats, shape_hash
from tools import tables

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", tables.FILES)
def test_generated_files_are_up_to_date(path):
    assert (ROOT / path).read_text() == tables.FILES[path](), "run `make tables`"


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


def test_a_message_is_its_class():
    assert messages.StartTraining.kind() == "START_TRAINING" and messages.Ack.kind() == "ACK"
    assert messages.Log("error", "No.").to_json() == {"type": "LOG", "level": "error", "text": "No."}
    assert messages.PolicyFile("a.dshq", "", 0).to_json([b"x"])["buffers"] == [b"x"]
    assert protocol.MESSAGES["page_to_kernel"]["START_TRAINING"] == (messages.ANY_SETTINGS,)
    assert protocol.MESSAGES["kernel_to_page"]["LOG"] == ("level", "text")
