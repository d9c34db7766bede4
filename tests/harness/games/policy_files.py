"""Policy files for tests: of environments, and with headers changed by hand."""

import json
import struct
from collections.abc import Callable

import numpy as np

from dshq_widget.contract import protocol
from dshq_widget.policy import checkpoint
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.checkpoint import Checkpoint


def environment_file(name: str, layers: tuple[int, ...] = (5, 8, 3)) -> Checkpoint:
    """A policy for a `gym:` environment of two options, by default of the shape of gym_worlds' Easy."""
    actions = Actions("choice", (layers[-1] - 1,), start=3).to_json()
    described = {"id": name.removeprefix("gym:"), "actions": actions, "pixels": [], "wrappers": []}
    weights = np.zeros(protocol.blob_floats(layers), np.float32)
    return Checkpoint(name, "0" * 16, layers, "tanh", weights, environment=described)


def rebuilt(content: bytes, change: Callable[[dict], object]) -> bytes:
    """`content` with its header changed by `change(header)` and the hash made right again."""
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size])
    change(header)
    metadata = header["__metadata__"]
    metadata["sha256"] = checkpoint._digest(metadata, memoryview(content)[8 + size :])
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]
