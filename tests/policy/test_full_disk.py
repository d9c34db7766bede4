"""A disk that is full at some byte of a save: an error in a sentence, the old file as it was, nothing beside it."""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.contract import protocol
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from tests.harness.full_disk import full_after

BLOCK = 256


def sample(version: int) -> checkpoint.Checkpoint:
    """A policy of some blocks."""
    layers = (5, 64, 4)
    weights = np.zeros(protocol.blob_floats(layers), np.float32)
    return checkpoint.Checkpoint("ball", "0123456789abcdef", layers, "tanh", weights, version)


def test_at_each_write_of_a_policys_save(tmp_path: Path):
    path = checkpoint.save(tmp_path / "bot.dshq", sample(version=1))
    before, size = path.read_bytes(), len(checkpoint.encode(sample(version=2)))
    assert size > 4 * BLOCK, "several writes"
    for left in sorted({0, 1, 8, *range(BLOCK, size, BLOCK), *range(BLOCK - 1, size, BLOCK), size - 1}):
        with full_after(left), pytest.raises(CheckpointError, match=r"cannot save .*bot.dshq.*No space left on device"):
            checkpoint.save(path, sample(version=2))
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["bot.dshq"], left
    with full_after(size):
        checkpoint.save(path, sample(version=2))
    assert checkpoint.load(path).version == 2


def test_at_each_write_of_any_other_whole_file(tmp_path: Path):
    content = json.dumps(list(range(5000))).encode()
    for left, old in itertools.product((0, 1, BLOCK, 3 * BLOCK + 7, len(content) - 1), (None, b"old")):
        path = tmp_path / f"{left}-{old is None}.json"
        if old is not None:
            path.write_bytes(old)
        with full_after(left), pytest.raises(OSError, match="No space left"):
            atomic.write(path, content)
        assert (path.read_bytes() if path.exists() else None) == old
        path.unlink(missing_ok=True)
        assert os.listdir(tmp_path) == []
    with full_after(len(content) - 1), pytest.raises(OSError, match="No space left"):
        atomic.check_writable(tmp_path / "a.json", len(content))
    assert os.listdir(tmp_path) == []
