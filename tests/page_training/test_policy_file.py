"""Policy files of the page and of Python: every bit is kept both ways, and both refuse with the same sentence."""

import base64
import dataclasses
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from dshq_widget import drills
from dshq_widget.algorithms.ppo import ALGORITHM as PPO
from dshq_widget.contract import protocol, settings
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.training.shown_settings import shown_settings
from tests.harness.typescript import run

READ = """
import { decode, encode, PolicyFileError, shapeHash } from "./js/trainer/files/policy_file";

async function read(text: string) {
  try {
    const file = await decode(Buffer.from(text, "base64"));
    return { ...file, again: Buffer.from(await encode(file)).toString("base64") };
  } catch (error) {
    if (!(error instanceof PolicyFileError)) throw error;
    return { error: error.message };
  }
}

export const main = (files: string[]) => Promise.all(files.map(read));
"""
WRITE = """
import { decode, encode, type PolicyFile, PolicyFileError } from "./js/trainer/files/policy_file";

const numbers = Float32Array.from({ length: 84 }, (_, k) => Math.sin(k));
const file: PolicyFile = {
  drill: "ball", rules_hash: "0123456789abcdef", layers: [5, 8, 4], activation: "tanh", weights: numbers,
  version: 7, step: 123456, seed: 4294967295, config: { learning_rate: 0.003, hidden_sizes: [8], "ü": "\\u{1f600}" },
  metrics: { return_mean: 0.25, loss_value: NaN, elo: Infinity }, algorithm: "ppo", algorithm_settings: {},
  state: {
    adam_m: { dtype: "F32", shape: [84], data: numbers }, adam_v: { dtype: "F32", shape: [84], data: numbers },
    adam_step: { dtype: "I64", shape: [1], data: BigInt64Array.of(-(2n ** 63n)) },
    generator: { dtype: "U64", shape: [2], data: BigUint64Array.of(1n, 2n ** 64n - 1n) },
    "train.notes": { dtype: "U8", shape: [3], data: Uint8Array.of(0, 128, 255) },
    "train.table": { dtype: "F64", shape: [2, 1, 2], data: Float64Array.of(0.1, -0, 5e-324, 1e308) },
    "train.scenes": { dtype: "U32", shape: [1, 2], data: Uint32Array.of(0, 4294967295) },
    "train.few": { dtype: "I32", shape: [], data: Int32Array.of(-1) },
    "train.none": { dtype: "F32", shape: [0, 84], data: new Float32Array(0) },
  },
};
const changes: Record<string, any>[] = [
  {}, { weights: numbers.slice(1) }, { weights: numbers.map((x, k) => (k === 5 ? NaN : x)) }, { version: -1 },
  { step: 2.5 }, { layers: [5, 0, 4] }, { algorithm: "Not one" }, { config: { learning_rate: NaN } },
  { state: { unknown: { dtype: "F32", shape: [1], data: Float32Array.of(1) } } },
  { state: { adam_m: { dtype: "F32", shape: [84], data: numbers } } },
  { state: { "train.wrong": { dtype: "F32", shape: [3], data: numbers } } },
];

async function write(change: Record<string, any>) {
  try {
    return Buffer.from(await encode({ ...file, ...change })).toString("base64");
  } catch (error) {
    if (!(error instanceof PolicyFileError)) throw error;
    return { error: error.message };
  }
}

export async function main() {
  const huge = await decode(new Uint8Array(256 * 1024 * 1024 + 1)).catch((error) => error.message);
  return { huge, written: await Promise.all(changes.map(write)) };
}
"""
LAYERS = (5, 8, 4)


def sample(layers: tuple[int, ...] = LAYERS, **changed: Any) -> Checkpoint:
    rng = np.random.default_rng(3)
    floats = protocol.blob_floats(layers)
    state = {
        "adam_m": rng.standard_normal(floats, np.float32),
        "adam_v": rng.random(floats, np.float32),
        "adam_step": np.array([17], np.int64),
        "generator": rng.integers(0, 1 << 63, 6, dtype=np.uint64),
        "normalizer.mean": rng.standard_normal(5),
        "train.league.notes": np.frombuffer(b"\x00\xff[1]", np.uint8),
        "train.scenes": rng.integers(0, 1 << 32, (2, 3), np.uint32),
        "train.counts": np.array([[-5], [1 << 30]], np.int32),
    }
    config = {
        "learning_rate": 0.003,
        "hidden_sizes": [8],
        "opponents": {"self": 0.75},
        "a": 'ü "\\ \n\x7f\U0001f600',
    }
    given = {"metrics": {"return_mean": 0.25}, "config": config, "version": 7, "step": 123_456, "seed": (1 << 32) - 1}
    whole = {
        "activation": "tanh",
        "weights": rng.standard_normal(floats, np.float32),
        "state": state,
        **given,
        **changed,
    }
    return Checkpoint("ball", "0123456789abcdef", layers, **whole)


def read(files: list[bytes]) -> list[Any]:
    return run(READ, [base64.b64encode(content).decode() for content in files])


def same(mine: Checkpoint, page: dict[str, Any]) -> None:
    """What the page read is what Python read; and what it then wrote is the same file to the bit of every tensor."""
    for key in ("drill", "rules_hash", "activation", "version", "step", "seed", "config", "metrics", "algorithm"):
        assert page[key] == getattr(mine, key), key
    assert tuple(page["layers"]) == mine.layers and page["algorithm_settings"] == mine.algorithm_settings
    assert page.get("environment", {}) == mine.environment
    again = checkpoint.decode(base64.b64decode(page["again"]))
    for field in dataclasses.fields(Checkpoint):
        if field.name not in ("weights", "state"):
            assert getattr(again, field.name) == getattr(mine, field.name), field.name
    assert list(again.state) == list(mine.state), "tensors stand in the same order"
    for name, tensor in {**mine.state, "weights": mine.weights}.items():
        other = again.weights if name == "weights" else again.state[name]
        assert (other.dtype, other.shape, other.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes()), name


GYM = {"id": "CartPole-v1", "actions": {"kind": "choice", "sizes": [2], "start": 0, "shape": [], "low": [], "high": []}}
BOX = {"kind": "box", "sizes": [], "start": 0, "shape": [2], "low": ["-inf", -1.5], "high": ["inf", 2.0]}


def of_gym(layers: tuple[int, ...], **changed: Any) -> Checkpoint:
    """A policy of a Gymnasium environment."""
    return dataclasses.replace(sample(layers, state={}, **changed), drill="gym:CartPole-v1")


def test_pythons_files_come_back_with_every_bit():
    floats = protocol.blob_floats((64, 8, 3)) + 4 * 64 * 32 + 32 + 32 * 16 * 64 + 64 + 64 * 9 * 64 + 64  # 4 pictures
    pixels = {**GYM, "pixels": [4, 36, 36], "wrappers": []}
    small = 16 * (2 * 9 + 1) + 32 * (16 * 9 + 1)  # a picture of 6 by 8, two deep: 256 features
    row = {**GYM, "pixels": [], "pictures": [[4, 36, 36], [2, 6, 8]]}
    files = [
        sample(),
        sample(state={}, activation="relu", algorithm="spo", algorithm_settings={"particles": 16}),
        sample((75, -5, -5, -2, -4, -6, 16, 5), state={}),  # a grid in front
        sample((30, -2, -3, -4, -5, -8, -16, 32, 9), state={}),  # pairs
        of_gym((5, 8, 3), environment={**GYM, "pixels": []}),
        of_gym((5, 8, 5), environment={"id": "CartPole-v1", "actions": BOX, "pixels": []}),
        of_gym((64, 8, 3), environment=pixels, weights=np.ones(floats, np.float32)),
        of_gym(
            (64 + 256 + 5, 8, 3),  # five numbers beside them
            environment=row,
            weights=np.ones(floats + small + 8 * (256 + 5), np.float32),
        ),
        of_gym(
            (256, 8, 3),
            environment={**GYM, "pixels": [2, 6, 8]},
            weights=np.ones(protocol.blob_floats((256, 8, 3)) + small, np.float32),
        ),
    ]
    contents = [checkpoint.encode(file) for file in files]
    for content, page in zip(contents, read(contents), strict=True):
        assert "error" not in page, page
        same(checkpoint.decode(content), page)


def test_the_shipped_ladder_is_read():
    paths = sorted((Path(drills.__file__).parent / "ladder").glob("*.dshq"))
    assert paths
    for path, page in zip(paths, read([path.read_bytes() for path in paths]), strict=True):
        same(checkpoint.load(path), page)


def test_the_pages_files_are_read_by_python():
    found = run(WRITE, None)
    assert found["huge"] == "it has 268,435,457 bytes, more than the 268,435,456 that are allowed"
    first, *others = found["written"]
    got = checkpoint.decode(base64.b64decode(first))
    assert (got.version, got.step, got.seed, got.layers) == (7, 123456, 4294967295, LAYERS)
    assert got.config == {"learning_rate": 0.003, "hidden_sizes": [8], "ü": "\U0001f600"}
    assert got.metrics == {"return_mean": 0.25}, "a number that is not finite is not JSON"
    assert np.array_equal(got.weights, np.sin(np.arange(84)).astype(np.float32))
    assert got.state["adam_step"].tolist() == [-(1 << 63)] and got.state["generator"].tolist() == [1, (1 << 64) - 1]
    assert got.state["train.table"].tolist() == [[[0.1, -0.0]], [[5e-324, 1e308]]]
    assert got.state["train.none"].shape == (0, 84) and got.state["train.few"].shape == ()
    tensors = safetensors.numpy.load(base64.b64decode(first))
    assert list(tensors) and {name: t.tobytes() for name, t in tensors.items() if name != "weights"} == {
        name: t.tobytes() for name, t in got.state.items()
    }
    assert [other["error"] for other in others] == [
        "its weights are not the 84 floats that layers [5, 8, 4] need",
        "tensor weights has values that are not finite",
        "its version is not a count",
        "its step is not a count",
        "its list of layers is not one of a network",
        "the name of its algorithm is not one",
        "learning_rate of its config is NaN, and must be finite",
        "it has a tensor of the unknown name 'unknown'",
        "its optimiser moments do not belong together",
        "tensor train.wrong has the wrong length",
    ]


Header = dict[str, Any]


def remade(change: Callable[[Header, dict[str, str]], None], text: Callable[[str], str] = str) -> bytes:
    """The sample's file with a changed header, and the hash that belongs to it."""
    content = checkpoint.encode(sample())
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    metadata = header["__metadata__"]
    data = content[8 + length :]
    change(header, metadata)
    if header.get("__metadata__") is metadata and all(isinstance(value, str) for value in metadata.values()):
        metadata["sha256"] = checkpoint._digest(metadata, memoryview(data))
    written = text(json.dumps(header)).encode()
    return struct.pack("<Q", len(written)) + written + data


def entry(name: str, **changed: Any) -> bytes:
    return remade(lambda header, _: header[name].update(changed))


def said(**changed: str | None) -> bytes:
    """Other metadata; None: without it."""

    def change(_: Header, metadata: dict[str, str]) -> None:
        metadata.update({key: value for key, value in changed.items() if value is not None})
        for key in [key for key, value in changed.items() if value is None]:
            del metadata[key]

    return remade(change)


def shaped(layers: str) -> bytes:
    """With that text as layers and the shape hash that fits, if there is one."""
    try:
        return said(layers=layers, shape_hash=protocol.shape_hash(json.loads(layers), "tanh"))
    except (TypeError, ValueError):
        return said(layers=layers)


def environment(**changed: Any) -> bytes:
    return said(environment=json.dumps({**GYM, "pixels": [], **changed}))


def with_number(name: str, value: float) -> bytes:
    """A tensor of one number, put behind the others."""
    found = sample()
    tensors = {"weights": found.weights, **found.state, name: np.array([value], np.float64)}
    header_of = checkpoint.encode(found)
    (length,) = struct.unpack_from("<Q", header_of)
    metadata = json.loads(header_of[8 : 8 + length])["__metadata__"]
    draft = safetensors.numpy.save(tensors, metadata)
    (length,) = struct.unpack_from("<Q", draft)
    metadata["sha256"] = checkpoint._digest(metadata, memoryview(draft)[8 + length :])
    return safetensors.numpy.save(tensors, metadata)


def hostile() -> dict[str, bytes]:
    good = checkpoint.encode(sample())
    (length,) = struct.unpack_from("<Q", good)
    flipped = bytearray(good)
    flipped[-3] ^= 1
    files = {
        "empty": b"",
        "short": good[:7],
        "eight": good[:8],
        "zip": b"PK\x03\x04" + bytes(100),
        "pickle": b"\x80\x05" + bytes(100),
        "text": b"a policy, I promise" * 9,
        "huge header": struct.pack("<Q", 1 << 62) + b"{" + bytes(100),
        "large header": struct.pack("<Q", 256 * 1024 + 1) + b"{" + bytes(256 * 1024 + 9),
        "cut in the header": good[:200],
        "cut in the data": good[:-5],
        "more": good + b"\0",
        "flipped": bytes(flipped),
        "not utf-8": good[:20] + b"\xff" + good[21:],
        "deep": struct.pack("<Q", 100_000) + b"{" + b'"a":[' * 19_999 + b" " * 4 + bytes(9),
        "a list": struct.pack("<Q", 9) + b'{"a": 1]]' + bytes(9),
        "no metadata": remade(lambda header, _: header.pop("__metadata__")),
        "numbers in metadata": remade(lambda header, _: header["__metadata__"].update(version=7)),
        "metadata of words": remade(lambda header, _: header.update(__metadata__="dshq")),
        "other program": said(format=None),
        "newer": said(format_version="2'\n" + "x" * 60),
        "unformatted": said(format_version=None),
        "no hash": remade(lambda _, metadata: None, lambda text: text.replace('"sha256"', '"sha257"')),
        "unsorted names": said(**{"\U0001f600": "a", "\uffee": "b", "z": "c", "\u00e9\x7f\n\\": "\ud7ff"}),
        "half of a character": said(note="\ud800"),
        "a metric of half a character": said(metrics='{"\\udc00": 1}'),
        "a character of two halves": said(note="\U0001f600"),
        "other activation": said(activation="sigmoid"),
        "other shape hash": said(shape_hash="0" * 16),
        "other metadata": said(note="read by nobody"),
        "too many tensors": remade(lambda header, _: header.update({f"train.{k}": 1 for k in range(60)})),
        "unknown tensor": remade(lambda header, _: header.update({"x'" + "y" * 50: {}})),
        "a tensor's description": remade(lambda header, _: header.update(weights=[1, 2])),
        "a name too many": entry("weights", more=1),
        "a type": entry("weights", dtype="F16"),
        "a type's method": entry("weights", dtype="toString"),
        "a type's number": entry("weights", dtype=4),
        "doubles": entry("adam_m", dtype="F64"),
        "whole numbers": entry("weights", dtype="U32"),
        "two dimensions": entry("weights", shape=[1, 84]),
        "five dimensions": entry("weights", shape=[1, 1, 1, 1, 84]),
        "a negative shape": entry("weights", shape=[-84]),
        "a fraction": entry("weights", shape=[84.0]),
        "a bool": entry("train.counts", shape=[2, True]),
        "a vast shape": entry("weights", shape=[1 << 28, 1 << 28, 1 << 28, 1 << 28]),
        "a vaster shape": entry("weights", shape=[1 << 60]),
        "turned": entry("weights", data_offsets=[336, 0]),
        "one place": entry("weights", data_offsets=[0]),
        "a place's words": entry("weights", data_offsets="01"),
        "fractions of places": entry("weights", data_offsets=[0.0, 336.0]),
        "a gap": entry("weights", data_offsets=[1 << 20, (1 << 20) + 336]),
        "a gap at the start": remade(lambda header, _: header.pop("generator")),
        "an overlap": entry("adam_v", data_offsets=[0, 336]),
        "bytes of nobody": remade(lambda header, _: header.pop("train.league.notes")),
        "no weights": remade(lambda header, _: header.update({"train.weights": header.pop("weights")})),
        "one moment": remade(lambda header, _: header.update({"train.m": header.pop("adam_m")})),
        "uneven moments": entry("adam_v", shape=[1, 84]),
        "nan": with_number("train.zzz", np.nan),
        "inf": with_number("train.zzz", -np.inf),
        "algorithm": said(algorithm="PPO!"),
        "algorithm's end": said(algorithm="ppo\n"),
        "no algorithm": said(algorithm=None),
        "settings": said(algorithm_settings="[]"),
        "pixels": environment(pixels=[4, 36]),
        "small pixels": environment(pixels=[4, 0, 36]),
        "many pixels": environment(pixels=[4, 36, 36]),
        "pictures' shape": environment(pictures=[[4, 36]]),
        "a picture's side": environment(pictures=[[4, 36, 0]]),
        "a picture of words": environment(pictures=[["4", 36, 36]]),
        "no list of pictures": environment(pictures=4),
        "no pictures": environment(pictures=[None]),
        "too many pictures": environment(pictures=[[1, 6, 6]] * 17),
        "two kinds of pictures": environment(pixels=[1, 6, 6], pictures=[[1, 6, 6]]),
        "pictures without weights": environment(pictures=[[1, 6, 6]]),
        "environment": said(environment="1"),
        "an infinite setting": said(config='{"gamma": 1e400}'),
        "an infinite metric deep down": said(metrics='{"a": [1, {"b": [-1e400]}]}'),
        "updates before the first": with_number("train.updates", -1.0),
        "too many updates": with_number("train.updates", 1e300),
    }
    for key in ("drill", "rules_hash", "activation", "shape_hash", "layers", "version", "seed", "config", "metrics"):
        files[f"no {key}"] = said(**{key: None})
    for text in ("", "-1", "1.5", "1" * 19, "\u0661", "1\n", "0x1"):
        files[f"step {text!r}"] = said(step=text)
    for text in ("", "[1", "null", "[1]", "3", '"a"', "{'a': 1}", "[" * 100):
        files[f"config {text!r}"] = said(config=text)
        files[f"metrics {text!r}"] = said(metrics=text)
    layers = ["[5]", "[5, 8, 0]", "[5.0, 8, 4]", "[5, true, 4]", '["5", 8, 4]', "[5, 8, 70000]", "[5, [8], 4]", "{}"]
    layers += ["[5, -8, 4]", "[0, 4]", "[-5, 4]", "[5, 4, -8]", json.dumps([3] * 13), "[5, 9, 4]", "[1e1, 4]", "[5, 8,"]
    layers += ["[75, -5, -5, -2, -4, -6]", "[74, -5, -5, -2, -4, -6, 5]", "[75, -1, -5, -2, -4, -6, 5]"]
    layers += [
        "[30, -2, -3, -4, -5, -8, -16, 32, 8]",
        "[30, -2, -3, -4, -5, -7, -16, 32, 9]",
        "[60, -5, -5, -2, -4, -6, 1, 1]",
        "[28, -2, -2, -1, -30000, -256, 1, 31]",  # 240,083 floats, and minutes for every match
        "[28, -7, -2, -1, -1, -257, 1, 31]",  # a sweep more than a grid may have
        "[32768, -128, -128, -1, -1, -256, 1, 31]",  # four million cells in all sweeps
        "[28, -1, -1200, -1, -2, -1, -200, -1, 1, 1201]",  # a table of places that takes gigabytes
        "[28, -2, -2, -2, -2, -8, -65536, 65536, 5]",
    ]
    return files | {f"layers {text}": shaped(text) for text in layers}


FILES = hostile()
ALLOWED = {"a character of two halves", "other metadata", "no algorithm", "unsorted names"}


def sentence(content: bytes) -> str:
    try:
        checkpoint.decode(content)
    except CheckpointError as error:
        return str(error)
    return ""


def test_hostile_files_are_refused_with_pythons_sentence():
    page = dict(zip(FILES, read(list(FILES.values())), strict=True))
    sentences = {name: sentence(content) for name, content in FILES.items()}
    assert {name for name, text in sentences.items() if not text} == ALLOWED
    assert {name: found.get("error", "") for name, found in page.items()} == sentences
    assert len(set(sentences.values())) > 35, "they are wrong in many ways"


def test_damage_anywhere_is_noticed():
    """A changed byte, a cut and a doubled part at random places."""
    good = checkpoint.encode(sample())
    rng = np.random.default_rng(0)
    files = []
    for _ in range(150):
        damaged = bytearray(good)
        damaged[int(rng.integers(len(good)))] ^= int(rng.integers(1, 256))
        at = int(rng.integers(len(good)))
        files += [bytes(damaged), good[:at], good[:at] + good[at // 2 :]]
    for content, found in zip(files, read(files), strict=True):
        assert found["error"] == sentence(content)


def test_a_description_of_actions_that_is_damaged():
    broken = [{}, {"actions": None}, {"actions": {**BOX, "low": "all"}}, {"actions": {**BOX, "start": None}}]
    files = [environment(**{"actions": {}, **change}) for change in broken]
    for content, found in zip(files, read(files), strict=True):
        with pytest.raises(CheckpointError, match="the description of the actions is damaged"):
            checkpoint.decode(content)
        assert found["error"] == "the description of the actions is damaged"


def test_a_count_beyond_the_pages_numbers():
    """Or so near to their end that the file of a run that goes on from there could not be read again."""
    for step in ((1 << 53) + 1, (1 << 53) - 1, checkpoint.MOST_COUNT + 1):
        (page,) = read([said(step=str(step))])
        assert page == {"error": f"its step is {step}, more than a page can count"}


SETTINGS = """
import { checkSaved } from "./js/session/settings/settings_check";

export const main = ([schema, ...files]: any[]) =>
  files.map((values) => Object.fromEntries(Object.keys(schema).filter((key) => key in values)
    .map((key) => [key, checkSaved(key, values[key], schema[key])])));
"""


def test_the_page_takes_the_settings_of_files_of_every_release_and_of_every_drill():
    ball = compile_drill(drills.get("ball")).spec
    schema = {key: entry for key, entry in shown_settings(ball, PPO)["schema"].items() if key != "device"}
    formats = Path(__file__).parents[1] / "formats"
    kept = [json.loads(path.read_text())["run"]["file"] for path in sorted(formats.rglob("kept.json"))]
    files = [checkpoint.decode(base64.b64decode(content)) for content in kept]
    files += [checkpoint.load(path) for path in sorted(formats.rglob("*.dshq"))]
    files += [checkpoint.load(f"ball:{rung}") for rung in ladder.rungs("ball")]
    values = [file.config for file in files]
    values += [settings.of_drill(compile_drill(drill).spec).to_json() for drill in drills.drills.values()]
    assert len(kept) >= 3 and len(values) > 15
    for given, taken in zip(values, run(SETTINGS, [schema, *values]), strict=True):
        assert taken.keys() == given.keys() & schema.keys()
        tables = {key for key, entry in schema.items() if entry["kind"] in ("shares", "weights")}
        assert {key: value for key, value in taken.items() if key not in tables} == {
            key: value for key, value in json.loads(json.dumps(given)).items() if key in taken.keys() - tables
        }
