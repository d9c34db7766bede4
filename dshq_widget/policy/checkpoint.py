"""`.dshq` files: a policy and everything needed to continue its training, as a safetensors file that contains only
data.

Layout (safetensors): u64 little-endian header length, JSON header, tensors. The header's `__metadata__` holds strings:
`format` ("dshq"), `format_version`, `drill`, `rules_hash`, `layers` (JSON list), `activation`, `shape_hash`, `version`,
`step` (agent steps), `seed`, `config` and `metrics` (JSON objects), `algorithm` (a file without it is "ppo"),
`algorithm_settings` (JSON object, if it has any), `stands_in` ("true" where the policy is more than the network), of a
person's own network `network` (JSON object, own_network.py), for Gymnasium's `environment` (JSON object), and `sha256`,
the hash of all other metadata (JSON, sorted keys) followed by the tensor bytes. An environment's `pixels` is the shape
of a picture that is read alone, else `[]`; `pictures` lists the shapes of those that are read in a row with numbers
(layout.py). A file without `pictures`, as older releases wrote it, reads such pictures as numbers. Tensors: `weights`
f32 (the policy blob), and optionally the learner's own state: `adam_m`, `adam_v` f32, `adam_step` i64, `generator...`,
`normalizer...`, `train...`.

Reading checks every length before it allocates, and every value before anybody computes with it: numbers are finite and
of 64 bits, layers cost no more than `MOST_WORK` operations a decision, and so do the convolutions of all pictures; an
environment's actions and pictures fit the network. Whatever a file holds, `load`, `parse` and `decode` raise only
CheckpointError. A file runs no code: what it names is looked up among what is there already (compatibility.py,
`known_drill`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from dshq_kernels.network.layers import MOST_WORK, is_network, memory_of, work
from dshq_widget.contract import protocol, sections
from dshq_widget.contract.finite import for_json, is_finite, plain, unusable
from dshq_widget.contract.game_spec import DEFAULT_ALGORITHM
from dshq_widget.contract.setting import ConfigError, parse_value
from dshq_widget.contract.settings import FIELDS
from dshq_widget.files import atomic
from dshq_widget.policy import convolutions, ladder, own_network
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.layout import MOST_PICTURES, Layout, pictures_of
from dshq_widget.system.paths import BINARY, NO_WAIT

FORMAT, FORMAT_VERSION = "dshq", "1"
MAX_HEADER_BYTES = 256 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
MOST_TENSOR_BYTES = MAX_FILE_BYTES - MAX_HEADER_BYTES - 8
"""Of all tensors of a file together, weights included: the header has a length of 8 bytes before it."""
MAX_LAYERS, MAX_WIDTH, MAX_TENSORS, MAX_DIMENSIONS = 12, 65536, 64, 4
MOST_COUNT = 10**15
"""Version, agent steps and updates of a file that a run continues from; a file says counts of `DIGITS` digits."""
DIGITS = 18
ACTIVATIONS = ("tanh", "relu")
DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
}
TENSOR_NAMES = re.compile(r"weights|adam_m|adam_v|adam_step|(generator|normalizer|train)[a-z0-9_.]{0,60}")
METADATA = (
    *("drill", "rules_hash", "version", "step", "seed", "config", "metrics"),
    *("algorithm", "algorithm_settings"),
)
"""What a policy that was read from a file knows about itself (loading.py)."""
STOOD_IN = ("dreamer",)
"""Algorithms of whose files those of release 0.1 do not say `stands_in`."""
LONGEST_TEXT = 1000
"""Characters; an environment's name holds its wrappers."""
TEXT_KEYS = ("drill", "rules_hash", "activation", "shape_hash")


class CheckpointError(ValueError):
    """A file cannot be saved or is not a usable policy. The message is one sentence."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The content of one `.dshq` file."""

    drill: str
    rules_hash: str
    layers: tuple[int, ...]
    activation: str
    weights: np.ndarray
    """f32 `[blob_floats(layers)]`: the policy blob."""
    version: int = 0
    step: int = 0
    """Agent steps learned from."""
    seed: int = 0
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    metrics: dict[str, Any] = dataclasses.field(default_factory=dict)
    state: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    """The learner's own tensors: optimiser moments, generators, normalisers."""
    environment: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Of a Gymnasium environment, else empty: `id`, `actions`, `pixels`, `pictures`, `wrappers` (`Made` in gyms)."""
    algorithm: str = DEFAULT_ALGORITHM
    """What trained it. Files of version 0.1 do not say, and are PPO's."""
    algorithm_settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The algorithm's own settings; empty if it has none."""
    stands_in: bool = False
    """Whether the policy is more than the network in `weights`, which only stands in for it and plays at random."""
    network: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Of a network of a person's own (own_network.py), else empty: `name`, `module:NAME`, which is never imported, and
    `tensors`, the hash of their names and shapes. `layers` is then what it reads, and its outputs with the value.
    """

    @property
    def shape_hash(self) -> str:
        """The hash of the policy's layout."""
        return protocol.shape_hash(self.layers, self.activation)

    @property
    def memory(self) -> int:
        """Units of the network's memory; 0 without one."""
        return memory_of(self.layers)


def check_whole(saved: Checkpoint) -> None:
    """Raises CheckpointError if the network in a checkpoint only stands in for its policy, or is a person's own."""
    if saved.network:
        raise CheckpointError(own_network.needed(saved.network))
    if saved.stands_in:
        raise CheckpointError(
            f"a policy of the algorithm {saved.algorithm} is more than the network in its file, so it plays in "
            "`dshq train`, `dshq evaluate` and `dshq play` only"
        )


def setting_of(saved: Checkpoint, key: str, usual: Any) -> Any:
    """A file's setting, as the setting's own type; `usual` where the file lacks it. Raises CheckpointError."""
    try:
        return parse_value(key, saved.config.get(key, usual), FIELDS[key])
    except ConfigError as error:
        raise CheckpointError(f"its settings are not usable: {error}") from None


def updates_of(saved: Checkpoint) -> int | None:
    """Updates made when the file was written; None if it does not say. Raises CheckpointError."""
    if "train.updates" not in saved.state:  # the metrics of a file of version 0.1 may be older than the file
        return None
    found = saved.state["train.updates"]
    if found.size != 1 or not 0 <= float(found.reshape(())) <= 10**DIGITS:
        raise CheckpointError("its number of updates is not a count")
    return int(found.reshape(()))


def check_counts(saved: Checkpoint) -> None:
    """Raises CheckpointError for counts that nobody can count on from: the file of such a run could not be saved."""
    for what, count in (("version", saved.version), ("agent steps", saved.step), ("updates", updates_of(saved) or 0)):
        if count > MOST_COUNT:
            raise CheckpointError(
                f"wanted a file of {what} up to {MOST_COUNT:,} to continue from, got {count:,}: no run has made so many"
            )


def save(path: str | os.PathLike[str], checkpoint: Checkpoint) -> Path:
    """Write `checkpoint` so that `path` always holds the old file or the whole new one; returns the absolute path.

    Raises CheckpointError; then the old file is unchanged (files/atomic.py).
    """
    content = encode(checkpoint)
    try:
        return atomic.write(path, content)
    except OSError as error:
        raise CheckpointError(f"cannot save {str(atomic.absolute(path))!r}: {error.strerror or error}") from error


def encode(checkpoint: Checkpoint) -> bytes:
    """The file's bytes; raises CheckpointError if `load` would reject them."""
    tensors = {"weights": checkpoint.weights, **checkpoint.state}
    tensors = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES.values():
            raise CheckpointError(f"tensor {name} has an unknown type, {tensor.dtype}")
    if (nbytes := sum(tensor.nbytes for tensor in tensors.values())) > MOST_TENSOR_BYTES:
        raise CheckpointError(f"a policy file holds {MAX_FILE_BYTES:,} bytes at most, and this one has {nbytes:,}")
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "drill": checkpoint.drill,
        "rules_hash": checkpoint.rules_hash,
        "layers": json.dumps([int(width) for width in checkpoint.layers]),
        "activation": checkpoint.activation,
        "shape_hash": checkpoint.shape_hash,
        "version": str(int(checkpoint.version)),
        "step": str(int(checkpoint.step)),
        "seed": str(int(checkpoint.seed)),
        "config": _written(checkpoint.config),
        "metrics": _written({key: value for key, value in checkpoint.metrics.items() if _usable(plain(value))}),
        "algorithm": checkpoint.algorithm,
    }
    if checkpoint.algorithm_settings:
        metadata["algorithm_settings"] = _written(checkpoint.algorithm_settings)
    if checkpoint.stands_in:
        metadata["stands_in"] = "true"
    if checkpoint.environment:
        metadata["environment"] = _written(checkpoint.environment)
    if checkpoint.network:
        metadata["network"] = _written(checkpoint.network)
    draft = safetensors.numpy.save(tensors, {**metadata, "sha256": "0" * 64})
    (header_bytes,) = struct.unpack_from("<Q", draft)
    metadata["sha256"] = _digest(metadata, memoryview(draft)[8 + header_bytes :])
    content = safetensors.numpy.save(tensors, metadata)
    decode(content)
    return content


def _written(values: Mapping[str, Any]) -> str:
    return json.dumps(values, default=for_json)


def _usable(value: Any) -> bool:
    return not isinstance(value, float) or is_finite(value)


def _digest(metadata: Mapping[str, str], data: memoryview) -> str:
    digest = hashlib.sha256(json.dumps({k: v for k, v in metadata.items() if k != "sha256"}, sort_keys=True).encode())
    digest.update(data)
    return digest.hexdigest()


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read and check a `.dshq` file, or a policy of the package such as "ball:gold"; raises CheckpointError with one
    sentence, whatever the file holds.
    """
    name = os.path.basename(os.fspath(path))
    try:
        path = ladder.resolve(os.fspath(path)) or path
        content = _read(os.path.expanduser(path))
    except CheckpointError as error:
        raise CheckpointError(f"{name!r} is not a usable policy file: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"cannot read the policy file {name!r}: {reason}") from error
    return parse(content, name)


def parse(content: bytes, name: str) -> Checkpoint:
    """Parse the bytes of a file called `name`; raises CheckpointError with one sentence."""
    try:
        return decode(content)
    except CheckpointError as error:
        raise CheckpointError(f"{name!r} is not a usable policy file: {error}") from None


def version_of(path: str | os.PathLike[str]) -> int | None:
    """The version that a file says it has, by its header alone, of which nothing else is checked; None if it does not
    say so.
    """
    try:
        return _count(_header(path), "version")
    except (OSError, LookupError, TypeError, ValueError, RecursionError):
        return None


def digest_of(path: str | os.PathLike[str]) -> str:
    """The digest of a file's content that its header has, of which nothing is checked; "" if it has none."""
    try:
        return str(_header(path)["sha256"])
    except (OSError, LookupError, TypeError, ValueError, RecursionError):
        return ""


def _header(path: str | os.PathLike[str]) -> dict[str, Any]:
    found: dict[str, Any] = _json(_read(path, whole=False)[8:], "header", dict)["__metadata__"]
    return found


def _read(path: str | os.PathLike[str], whole: bool = True) -> bytes:
    """The bytes of a regular file of allowed size whose first bytes look right, or those up to its tensors; never waits
    on a pipe or device.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise CheckpointError("it is not a regular file")
    descriptor = os.open(path, os.O_RDONLY | BINARY | NO_WAIT)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise CheckpointError("it is not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise CheckpointError(f"it has {status.st_size:,} bytes, more than the {MAX_FILE_BYTES:,} that are allowed")
        start = file.read(9)
        end = 8 + _header_length(start, status.st_size)
        return start + file.read((status.st_size if whole else end) - len(start))


def _header_length(content: bytes, size: int) -> int:
    """The header's length, from the file's first 9 bytes and its size; raises CheckpointError."""
    foreign = content[8:9] != b"{"  # the length of a valid header may begin with the same bytes
    if foreign and content[:2] == b"PK":
        raise CheckpointError("it is a zip archive (npz or torch), and only .dshq files are read")
    if foreign and content[:1] == b"\x80":
        raise CheckpointError("it is a Python pickle, which could run code, and only .dshq files are read")
    if len(content) < 9:
        raise CheckpointError(f"it has only {size} bytes")
    (header_bytes,) = struct.unpack_from("<Q", content)
    if header_bytes > MAX_HEADER_BYTES or content[8:9] != b"{":
        raise CheckpointError("it does not start with a .dshq header")
    if 8 + header_bytes > size:
        raise CheckpointError("it ends inside its header: it was cut off")
    return header_bytes


def decode(content: bytes) -> Checkpoint:
    """Check a file's bytes and take them apart; raises CheckpointError."""
    try:
        saved = _decode(content)
        updates_of(saved)
        return saved
    except CheckpointError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"it holds what no policy has: {' '.join(str(error).split())[:100]}") from error


def _decode(content: bytes) -> Checkpoint:
    header_bytes = _header_length(content[:9], len(content))
    header = _json(content[8 : 8 + header_bytes], "header", dict)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError("its header has no metadata")
    if metadata.get("format") != FORMAT:
        raise CheckpointError("it is a safetensors file of another program")
    if metadata.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            f"its format is version {(given := metadata.get('format_version', ''))[:20]!r}, this program reads "
            f"{FORMAT_VERSION}: {_other_release(given)}"
        )
    data = memoryview(content)[8 + header_bytes :]
    if metadata.get("sha256") != _digest(metadata, data):
        raise CheckpointError("its contents do not match its sha256: the file is damaged")
    text = {key: _text(metadata, key) for key in TEXT_KEYS}
    for key, value in text.items():
        if not value.isprintable() or len(value) > LONGEST_TEXT:  # they are shown, in a terminal too
            raise CheckpointError(f"its {key} is no name: {value[:40]!r}")
    layers = _layers(metadata)
    if text["activation"] not in ACTIVATIONS or text["shape_hash"] != protocol.shape_hash(layers, text["activation"]):
        raise CheckpointError("its network shape does not match its shape hash")
    tensors = _tensors(header, data)
    environment, network = _environment(metadata), _network(metadata)
    floats = protocol.blob_floats(layers) + sum(map(convolutions.floats, pictures_of(environment)))
    weights = tensors.pop("weights", None)
    if network:
        if weights is None or weights.dtype != np.float32 or weights.ndim != 1 or len(layers) != 2:
            raise CheckpointError(f"its weights and layers are not those of a network such as {network['name']}")
    elif weights is None or weights.dtype != np.float32 or weights.shape != (floats,):
        raise CheckpointError(f"its weights are not the {floats:,} floats that layers {list(layers)} need")
    if environment:
        _check_fits(environment, text["drill"], layers)
    moments = [tensors[name].shape for name in ("adam_m", "adam_v") if name in tensors]
    if len(moments) == 1 or len(set(moments)) > 1:
        raise CheckpointError("its optimiser moments do not belong together")
    return Checkpoint(
        text["drill"],
        text["rules_hash"],
        layers,
        text["activation"],
        weights,
        _count(metadata, "version"),
        _count(metadata, "step"),
        _count(metadata, "seed"),
        _json(_text(metadata, "config"), "config", dict),
        _json(_text(metadata, "metrics"), "metrics", dict),
        tensors,
        environment,
        _algorithm(metadata),
        _json(metadata.get("algorithm_settings", "{}"), "algorithm's settings", dict),
        metadata.get("stands_in") == "true" or _algorithm(metadata) in STOOD_IN,
        network,
    )


def _other_release(given: str) -> str:
    """How a file of another format's version is read."""
    if given.isascii() and given.isdigit() and len(given) < 9 and int(given) < int(FORMAT_VERSION):
        return "read it with the release that wrote it"
    return "update dshq-widget"


def _environment(metadata: dict[str, str]) -> dict[str, Any]:
    """The description of a Gymnasium environment, as far as weights depend on it; empty for a drill."""
    if "environment" not in metadata:
        return {}
    found = _json(metadata["environment"], "environment", dict)
    pixels, pictures = found.get("pixels"), found.get("pictures", [])
    lists = isinstance(pixels, list) and isinstance(pictures, list) and not (pixels and pictures)
    shapes = [pixels] if lists and pixels else pictures if lists and len(pictures) <= MOST_PICTURES else [None]
    if not all(isinstance(shape, list) and len(shape) == 3 and all(map(_side, shape)) for shape in shapes):
        raise CheckpointError("its environment has no usable shape of pictures")
    try:
        Actions.from_json(found.get("actions", {}))
    except ValueError as error:  # GymError is one
        raise CheckpointError(str(error)) from None
    return found


def _network(metadata: dict[str, str]) -> dict[str, Any]:
    """What it says of a network of a person's own; empty for one of layers."""
    if "network" not in metadata:
        return {}
    found = _json(metadata["network"], "network", dict)
    if not own_network.is_described(found):
        raise CheckpointError("what it says of its network is not usable")
    return found


def _check_fits(environment: dict[str, Any], drill: str, layers: tuple[int, ...]) -> None:
    """Raises CheckpointError if a network of these layers cannot act there, or if it was trained on something else."""
    outputs = Actions.from_json(environment["actions"]).outputs
    try:
        layout = Layout.of(layers[0], pictures_of(environment))
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    if outputs + 1 != layers[-1] or (environment["pixels"] and not layout.alone):
        raise CheckpointError(f"its environment's pictures and actions do not fit layers {list(layers)}")
    if drill != f"gym:{environment.get('id')}":
        raise CheckpointError("its environment has another name than what it was trained on")


def _algorithm(metadata: dict[str, str]) -> str:
    name = metadata.get("algorithm", DEFAULT_ALGORITHM)
    if not re.fullmatch(sections.NAME, name, re.ASCII):
        raise CheckpointError("the name of its algorithm is not one")
    return name


def _json(text: str | bytes, what: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise CheckpointError(f"its {what} is not valid JSON")
    if wrong := unusable(value):
        raise CheckpointError(f"its {what} cannot be used: {wrong}")
    return value


def _text(metadata: dict[str, str], key: str) -> str:
    if key not in metadata:
        raise CheckpointError(f"its metadata lacks {key}")
    return metadata[key]


def _count(metadata: dict[str, str], key: str) -> int:
    text = _text(metadata, key)
    if not re.fullmatch(rf"[0-9]{{1,{DIGITS}}}", text, re.ASCII):
        raise CheckpointError(f"its {key} is not a count")
    return int(text)


def _layers(metadata: dict[str, str]) -> tuple[int, ...]:
    layers = _json(_text(metadata, "layers"), "list of layers", list)
    good = all(type(width) is int and 1 <= abs(width) <= MAX_WIDTH for width in layers)
    if not good or not 2 <= len(layers) <= MAX_LAYERS or not is_network(layers):
        raise CheckpointError("its list of layers is not one of a network")
    if (costs := work(layers)) > MOST_WORK:
        raise CheckpointError(
            f"its network costs {costs:,} operations a decision, more than the {MOST_WORK:,} that are allowed"
        )
    return tuple(layers)


def _tensors(header: dict[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """The tensors that the header lists, which must fill `data` without gap or overlap; floats must be finite."""
    if len(header) > MAX_TENSORS:
        raise CheckpointError(f"it has {len(header)} tensors, more than {MAX_TENSORS}")
    spans = []
    for name, entry in header.items():
        if not TENSOR_NAMES.fullmatch(name):
            raise CheckpointError(f"it has a tensor of the unknown name {name[:40]!r}")
        dtype, shape, (begin, end) = _entry(name, entry)
        if end - begin != dtype.itemsize * math.prod(shape):
            raise CheckpointError(f"tensor {name} has the wrong length")
        spans.append((begin, end, name, dtype, shape))
    spans.sort(key=lambda span: span[:2])
    position = 0
    tensors = {}
    for begin, end, name, dtype, shape in spans:
        if begin != position or end > len(data):
            raise CheckpointError("its tensors overlap or leave gaps")
        position = end
        tensor = np.frombuffer(data[begin:end], dtype).reshape(shape)
        if dtype.kind == "f" and not np.isfinite(tensor).all():
            raise CheckpointError(f"tensor {name} has values that are not finite")
        tensors[name] = tensor
    if position != len(data):
        raise CheckpointError("it has bytes that belong to no tensor")
    return tensors


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, int]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"tensor {name} is not described")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(f"tensor {name} has an unknown type")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(_size(n) for n in shape):
        raise CheckpointError(f"tensor {name} has an impossible shape")
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(_size(n) for n in offsets)
        or offsets[0] > offsets[1]
    ):
        raise CheckpointError(f"tensor {name} has an impossible place")
    return DTYPES[dtype], tuple(shape), (offsets[0], offsets[1])


def _side(number: Any) -> bool:
    return _size(number) and 1 <= number <= MAX_WIDTH


def _size(number: Any) -> bool:
    return type(number) is int and 0 <= number <= MAX_FILE_BYTES
