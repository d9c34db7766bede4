"""`.dshq` files: what goes in comes out, what is wrong is refused quickly in one sentence, what was there survives."""

import dataclasses
import errno
import json
import os
import pickle
import resource
import signal
import stat
import struct
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from dshq_widget.contract import protocol
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint, loading
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.system import pids
from dshq_widget.training.history import clean
from tests.harness.counts import times
from tests.harness.games.policy_files import environment_file, rebuilt

LAYERS = (5, 8, 4)


def sample(version: int = 7, seed: int = 3) -> Checkpoint:
    rng = np.random.default_rng(seed)
    floats = protocol.blob_floats(LAYERS)
    return Checkpoint(
        drill="ball",
        rules_hash="0123456789abcdef",
        layers=LAYERS,
        activation="tanh",
        weights=rng.standard_normal(floats, np.float32),
        version=version,
        step=123_456,
        seed=seed,
        config={"learning_rate": 0.003, "hidden_sizes": [8]},
        metrics={"return_mean": 0.25, "loss_value": float("nan")},
        state={
            "adam_m": rng.standard_normal(floats, np.float32),
            "adam_v": rng.random(floats, np.float32),
            "adam_step": np.array([17], np.int64),
            "generator": rng.integers(0, 1 << 63, 4, dtype=np.uint64),
        },
    )


@pytest.fixture(scope="module")
def content() -> bytes:
    return checkpoint.encode(sample())


def assert_equal(got: Checkpoint, wanted: Checkpoint) -> None:
    for field in dataclasses.fields(Checkpoint):
        if field.name not in ("weights", "state", "metrics"):
            assert getattr(got, field.name) == getattr(wanted, field.name), field.name
    assert got.weights.tobytes() == wanted.weights.tobytes()
    assert got.state.keys() == wanted.state.keys()
    for name, tensor in wanted.state.items():
        assert got.state[name].dtype == tensor.dtype and np.array_equal(got.state[name], tensor)


def test_round_trip(tmp_path):
    path = checkpoint.save(tmp_path / "bot.dshq", sample())
    got = checkpoint.load(path)
    assert_equal(got, sample())
    assert got.metrics == {"return_mean": 0.25}, "NaN is not JSON"
    assert not got.weights.flags.writeable
    assert os.listdir(tmp_path) == ["bot.dshq"]


def test_it_is_a_safetensors_file(tmp_path):
    path = checkpoint.save(tmp_path / "bot.dshq", sample())
    assert np.array_equal(safetensors.numpy.load_file(path)["weights"], sample().weights)
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata()["drill"] == "ball"


def test_load_policy(tmp_path):
    path = checkpoint.save(tmp_path / "bot.dshq", sample())
    policy = loading.load_policy(path)
    assert policy.metadata["version"] == 7 and policy.metadata["drill"] == "ball"
    obs = np.zeros((3, LAYERS[0]), np.float32)
    assert policy.act(obs, rng=np.random.default_rng(0)).shape == (3,)
    assert policy.act(obs, greedy=True).max() < LAYERS[-1] - 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weights": np.zeros(3, np.float32)}, "weights are not the 84 floats"),
        ({"weights": np.full(84, np.nan, np.float32)}, "not finite"),
        ({"state": {"train.x": np.array([10**30, 1])}}, "unknown type, object"),
        ({"weights": np.zeros(84, np.float64)}, "weights are not the 84 floats"),
        ({"activation": "sin"}, "shape"),
        ({"layers": (5,)}, "list of layers"),
        ({"version": -1}, "version is not a count"),
        ({"state": {"adam_m": np.zeros(84, np.float32)}}, "moments"),
        ({"state": {"__reduce__": np.zeros(1, np.float32)}}, "unknown name"),
        ({"state": {"train.x": np.zeros((1,) * 5, np.float32)}}, "impossible shape"),
        ({"state": {"train.x": np.zeros(1, np.float16)}}, "unknown type"),
    ],
)
def test_nothing_is_saved_that_would_be_refused(tmp_path, change, sentence):
    path = checkpoint.save(tmp_path / "bot.dshq", sample())
    with pytest.raises(CheckpointError, match=sentence):
        checkpoint.save(path, dataclasses.replace(sample(), **change))
    assert_equal(checkpoint.load(path), sample())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda h: h["__metadata__"].update(format="other"), "another program"),
        (lambda h: h["__metadata__"].update(format_version="2"), "update dshq-widget"),
        (lambda h: h["__metadata__"].update(format_version="0"), "the release that wrote it"),
        (lambda h: h["__metadata__"].pop("drill"), "lacks drill"),
        (lambda h: h["__metadata__"].update(step="1e5"), "step is not a count"),
        (lambda h: h["__metadata__"].update(step="9" * 5000), "step is not a count"),
        (lambda h: h["__metadata__"].update(layers="[5, 8.0, 4]"), "list of layers"),
        (lambda h: h["__metadata__"].update(layers="[5, 65536, 65536, 4]"), "operations a decision"),
        (lambda h: h["__metadata__"].update(layers="[5, 9, 4]"), "shape hash"),
        (lambda h: h["__metadata__"].update(config="[" * 100_000), "config is not valid JSON"),
        (lambda h: h["adam_m"].update(data_offsets=h["adam_v"]["data_offsets"]), "overlap or leave gaps"),
        (lambda h: h["adam_m"].update(data_offsets=[0, 1 << 60]), "impossible place"),
        (lambda h: h["adam_m"].update(shape=[-1, -84]), "impossible shape"),
        (lambda h: h["adam_m"].update(shape=[True]), "impossible shape"),
        (lambda h: h["adam_m"].update(shape=[85]), "wrong length"),
        (lambda h: h["adam_m"].update(dtype="BF16"), "unknown type"),
        (lambda h: h.update(weights=3), "not described"),
        (lambda h: h.update({f"train{k}": {} for k in range(100)}), "more than 64"),
    ],
)
def test_a_hostile_header_is_refused(content, change, sentence):
    with pytest.raises(CheckpointError, match=sentence):
        checkpoint.decode(rebuilt(content, change))


def test_nothing_is_saved_that_is_too_large_to_be_read(tmp_path, monkeypatch):
    """The tensors alone were within the limit, and the file was not: it was written, and never read again."""
    monkeypatch.setattr(checkpoint, "MAX_FILE_BYTES", 400_000)
    monkeypatch.setattr(checkpoint, "MOST_TENSOR_BYTES", 400_000 - checkpoint.MAX_HEADER_BYTES - 8)
    saved = dataclasses.replace(sample(), state={"train.ring": np.zeros(399_000 - sample().weights.nbytes, np.uint8)})
    with pytest.raises(CheckpointError, match="a policy file holds 400,000 bytes at most, and this one has 399,000"):
        checkpoint.save(tmp_path / "bot.dshq", saved)
    assert not list(tmp_path.iterdir())


def test_every_single_byte_flip_of_the_data_is_refused(content):
    (size,) = struct.unpack_from("<Q", content)
    damaged = bytearray(content)
    for at in range(8 + size, len(content)):
        damaged[at] ^= 0x40
        with pytest.raises(CheckpointError, match="damaged"):
            checkpoint.decode(bytes(damaged))
        damaged[at] ^= 0x40


def test_every_cut_is_refused(content):
    for end in range(0, len(content), 7):
        with pytest.raises(CheckpointError):
            checkpoint.decode(content[:end])


@settings(max_examples=times(1000, 150), deadline=None)
@given(st.data())
def test_fuzzed_files_raise_nothing_else(content, data):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        piece = data.draw(st.binary(max_size=12))
        damaged[at : at + data.draw(st.integers(0, 12))] = piece
        damaged = damaged or bytearray(b"x")
    try:
        checkpoint.decode(bytes(damaged))
    except CheckpointError as error:
        assert "\n" not in str(error)


ODD: list = [None, True, -1, 0, 1 << 62, 1e308, "", "F32", "nan", [], [0], [1 << 40] * 4, {}, "9" * 30, "[5, 8, 4, 4]"]
ODD += [10**400, -(10**400), float("inf"), '{"sizes": [Infinity]}', '{"gamma": 1' + "0" * 400 + "}"]
ODD += ['{"id": "CartPole-v1", "pixels": [], "actions": {"kind": "choice", "sizes": [Infinity]}}']
ODD += ["{}", "[28, -2, -2, -1, -30000, -256, 1, 31]"]


def use(saved: Checkpoint) -> None:
    """What everybody does with a file that is not refused."""
    played = loading.as_policy(saved)
    played.act(np.zeros(saved.layers[0], np.float32), np.random.default_rng(0))
    clean(saved.metrics)
    json.dumps(saved.metrics, allow_nan=False)


def put_somewhere(place: Any, odd: Any, rng: np.random.Generator) -> Any:
    """`odd` instead of one value in JSON, as deep as chance has it."""
    keys = list(place) if isinstance(place, dict) else range(len(place)) if isinstance(place, list) else []
    if not keys or rng.random() < 0.2:
        return odd
    key = keys[rng.integers(len(keys))]
    place[key] = put_somewhere(place[key], odd, rng)
    return place


@pytest.mark.parametrize("of", ["drill", "environment"])
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fuzzed_headers_with_a_right_hash_raise_nothing_else(content, count, of):
    """Odd values in any place of a well-formed header, also inside the JSON that it holds as text."""
    rng = np.random.default_rng(0)
    if of == "environment":
        content = checkpoint.encode(environment_file("gym:CartPole-v1"))
    tracemalloc.start()
    for _ in range(count):

        def change(header: dict) -> None:
            for _ in range(rng.integers(1, 3)):
                place = header if rng.random() < 0.2 else header[str(rng.choice(list(header)))]
                if isinstance(place, dict) and place and (key := str(rng.choice(list(place)))) != "__metadata__":
                    odd = ODD[rng.integers(len(ODD))]
                    if place is not header["__metadata__"]:
                        place[key] = odd
                    elif place[key][:1] in ("{", "["):
                        place[key] = json.dumps(put_somewhere(json.loads(place[key]), odd, rng))
                    else:
                        place[key] = str(odd)

        try:
            use(checkpoint.decode(rebuilt(content, change)))
        except CheckpointError as error:
            assert "\n" not in str(error)
    assert tracemalloc.get_traced_memory()[1] < 64e6
    tracemalloc.stop()


def refuse(path) -> str:
    """The sentence with which `path` is refused, without much memory; the time is checked by the tests' time-out."""
    tracemalloc.start()
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6 and "\n" not in str(caught.value)
    return str(caught.value)


def test_other_kinds_of_files(tmp_path):
    np.savez(tmp_path / "a.npz", weights=np.zeros(3))
    assert "zip archive" in refuse(tmp_path / "a.npz")

    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:  # what torch.save writes
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
    assert "zip archive" in refuse(tmp_path / "a.pt")
    (tmp_path / "b.dshq").write_bytes(pickle.dumps(Bomb()))
    assert "pickle" in refuse(tmp_path / "b.dshq") and not (tmp_path / "ran").exists()
    (tmp_path / "empty.dshq").touch()
    assert "only 0 bytes" in refuse(tmp_path / "empty.dshq")
    (tmp_path / "bomb.dshq").write_bytes(struct.pack("<Q", 59_000_000) + b"{" + b" " * 59_000_000)
    assert "does not start with a .dshq header" in refuse(tmp_path / "bomb.dshq")
    safetensors.numpy.save_file({"weights": np.zeros(3, np.float32)}, tmp_path / "foreign.dshq")
    assert "no metadata" in refuse(tmp_path / "foreign.dshq")
    assert "No such file" in refuse(tmp_path / "missing.dshq")
    assert "not a regular file" in refuse(tmp_path)


def test_a_large_sparse_file(tmp_path):
    with open(tmp_path / "sparse.dshq", "wb") as file:
        file.truncate(1 << 30)
    assert "more than" in refuse(tmp_path / "sparse.dshq")
    with open(tmp_path / "smaller.dshq", "wb") as file:
        file.truncate(200 << 20)
    assert "does not start" in refuse(tmp_path / "smaller.dshq")


def test_pipes_and_devices_do_not_block(tmp_path):
    os.mkfifo(tmp_path / "fifo.dshq")
    (tmp_path / "link.dshq").symlink_to("/dev/zero")
    (tmp_path / "loop.dshq").symlink_to("loop.dshq")
    began = time.monotonic()
    assert "not a regular file" in refuse(tmp_path / "fifo.dshq")
    assert "not a regular file" in refuse(tmp_path / "link.dshq")
    refuse(tmp_path / "loop.dshq")
    refuse("bot\0.dshq")
    assert time.monotonic() - began < 300, "opening a pipe must not wait for a writer"


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """RLIMIT_FSIZE makes a real write fail half way, as a full disk does."""
    path = checkpoint.save(tmp_path / "bot.dshq", sample(version=1))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, old[1]))
    try:
        with pytest.raises(CheckpointError, match=os.strerror(errno.EFBIG)):
            checkpoint.save(path, sample(version=2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, before)
    assert checkpoint.load(path).version == 1
    assert os.listdir(tmp_path) == ["bot.dshq"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file(tmp_path, monkeypatch, step, code):
    path = checkpoint.save(tmp_path / "bot.dshq", sample(version=1))

    def fail(*_arguments, **_more):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, step, fail)
        with pytest.raises(CheckpointError, match=f"cannot save .*{os.strerror(code)}"):
            checkpoint.save(path, sample(version=2))
    assert checkpoint.load(path).version == 1
    assert os.listdir(tmp_path) == ["bot.dshq"]


def test_a_folder_that_cannot_be_synced_is_no_failed_save(tmp_path, monkeypatch):
    """The file is in its place by then."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", fsync)
    assert checkpoint.load(checkpoint.save(tmp_path / "bot.dshq", sample())).version == 7


def test_nothing_that_lies_there_is_followed_or_swept(tmp_path, monkeypatch):
    """A link under a name that could be guessed, and temporary files of another machine with the same home."""
    (tmp_path / "victim").write_text("mine")
    guessed = f".bot.dshq.{os.getpid()}.{threading.get_native_id()}.tmp"
    (tmp_path / guessed).symlink_to(tmp_path / "victim")
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "machine", lambda: "0a1b2c3d")
        theirs = atomic._temporary(tmp_path / "bot.dshq")
    theirs = theirs.with_name(theirs.name.replace(str(os.getpid()), "999999999"))
    theirs.write_bytes(b"half")
    checkpoint.save(tmp_path / "bot.dshq", sample())
    atomic.check_writable(tmp_path / "bot.dshq")
    assert (tmp_path / "victim").read_text() == "mine" and theirs.exists()
    assert len(os.listdir(tmp_path)) == 4
    assert len({atomic._temporary(tmp_path / "bot.dshq") for _ in range(9)}) == 9, "no name can be guessed"
    with monkeypatch.context() as patch:
        patch.setattr(atomic.secrets, "token_hex", lambda _: "0123abcd")
        atomic._temporary(tmp_path / "bot.dshq").symlink_to(tmp_path / "victim")
        with pytest.raises(CheckpointError, match=os.strerror(errno.EEXIST)):
            checkpoint.save(tmp_path / "bot.dshq", sample(version=9))
    assert (tmp_path / "victim").read_text() == "mine" and checkpoint.load(tmp_path / "bot.dshq").version != 9


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_whoever_could_not_read_a_file_cannot_read_the_next_one(tmp_path):
    path = checkpoint.save(tmp_path / "bot.dshq", sample())
    old = os.umask(0o022)
    try:
        for mode in (0o600, 0o660, 0o444):
            path.chmod(mode)
            with atomic.aside(path) as file:
                (temporary,) = (each for each in tmp_path.iterdir() if each != path)
                assert stat.S_IMODE(temporary.stat().st_mode) == mode, "before anything is in it"
                file.write(b"x")
            assert stat.S_IMODE(path.stat().st_mode) == mode
        assert stat.S_IMODE(atomic.write(tmp_path / "new", b"x").stat().st_mode) == 0o644
    finally:
        os.umask(old)


def test_what_is_left_beside_a_file_is_removed_and_what_is_written_stays(tmp_path):
    """Also beside a file that was reserved for another process: then the temporary file is that of a temporary file."""
    path, here, there = tmp_path / "bot.dshq", atomic.machine(), "0123abcd"
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, mine, ours = (f".{pid}.01234567.tmp" for pid in (child.pid, os.getpid(), os.getppid()))
    left = [f".bot.dshq.{here}{dead}", f"..bot.dshq.{here}{mine}.{here}{dead}", f".bot.dshq.{there}{ours}"]
    used = [f".bot.dshq.{here}{mine}", f"..bot.dshq.{here}{mine}.{here}{ours}", f".bot.dshq.{there}{mine}"]
    used += [f".other.dshq.{here}{dead}", f"..bot.dshq.{here}{dead}", ".bot.dshq.tmp"]
    for name in (*left, *used):
        (tmp_path / name).touch()
    os.utime(tmp_path / left[2], (1e9, 1e9))
    checkpoint.save(path, sample())
    assert sorted(os.listdir(tmp_path)) == sorted(["bot.dshq", *used])


def test_two_machines_of_one_name_are_two(monkeypatch):
    """As copies of one disk are: the other's process numbers say nothing here."""
    here = atomic.machine.__wrapped__()
    assert here == atomic.machine()
    monkeypatch.setattr(pids, "boot", lambda: "that of the other")
    assert atomic.machine.__wrapped__() != here


@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_while_saving(tmp_path, kills):
    """A process that saves without end is killed again and again: the file can be read, and leftovers are swept."""
    script = textwrap.dedent("""
        import sys
        from tests.policy.test_checkpoint import sample
        from dshq_widget.policy import checkpoint
        path = sys.argv[1]
        print("ready", flush=True)
        for version in range(1_000_000):
            checkpoint.save(path, sample(version))
    """)
    path = tmp_path / "bot.dshq"
    checkpoint.save(path, sample())
    rng = np.random.default_rng(0)
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(rng.uniform(0, 0.2))
        child.kill()
        child.wait()
        child.stdout.close()
        checkpoint.load(path)
        assert len(os.listdir(tmp_path)) <= 2
    checkpoint.save(path, sample())
    assert os.listdir(tmp_path) == ["bot.dshq"]
