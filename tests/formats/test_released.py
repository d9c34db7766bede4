"""Files of every released version open; files of a newer one say so, and stay as they are (docs/reference/files.md)."""

import json
import shutil
import struct
from pathlib import Path

import pytest

from dshq_widget.contract import run_file
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from tests.formats.released_rules import released_ball

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())
released = pytest.mark.parametrize("release", RELEASES)


def newer(path: Path, folder: Path) -> Path:
    """A copy of a `.dshq` file whose header says the format's next version, with the hash that fits."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    metadata = header["__metadata__"]
    metadata["format_version"] = "2"
    metadata["sha256"] = checkpoint._digest(metadata, memoryview(content)[8 + length :])
    text = json.dumps(header).encode()
    target = folder / path.name
    target.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    return target


@released
def test_a_policy_with_its_learner(release: str):
    saved = checkpoint.load(HERE / release / "bot.dshq")
    assert saved.drill == "bandit" and saved.version == checkpoint.updates_of(saved) == 5
    assert {"adam_m", "adam_v", "adam_step"} <= set(saved.state)
    assert checkpoint.decode(checkpoint.encode(saved)).weights.tobytes() == saved.weights.tobytes()


@released
def test_a_runs_file(release: str):
    found = run_file.read(HERE / release / "bot.yaml")
    assert found.run["drill"] == "bandit" and found.run["updates"] == 5
    assert TrainConfig.from_values(found.core, {"opponents": "self=1"}).num_envs == 16


@released
def test_a_replay_and_a_match_of_the_league(release: str, reference_rules):
    """In the rules of that release they end in the same state, to the bit; those of today refuse them."""
    theirs, todays = released_ball(HERE / release), compile_drill(drills["ball"])
    for name in ("replay.json", "match.json"):
        recording = json.loads((HERE / release / name).read_text())
        assert recording["rules_hash"] == theirs.rules_hash
        assert state_hash(replay(theirs, recording)) == recording["sha256"]
        if todays.rules_hash != theirs.rules_hash:
            with pytest.raises(ValueError, match=f"was made with rules {theirs.rules_hash}"):
                replay(todays, recording)


def test_what_a_newer_release_made_says_so_and_stays_as_it_is(tmp_path: Path):
    release = RELEASES[-1]
    policy = newer(HERE / release / "bot.dshq", tmp_path)
    for name in ("bot.yaml", "match.json"):
        shutil.copy(HERE / release / name, tmp_path / name)
    run = (tmp_path / "bot.yaml").read_text()
    (tmp_path / "bot.yaml").write_text(run.replace("format: 1\n", "format: 2\n"))
    match = json.loads((tmp_path / "match.json").read_text()) | {"format": "2"}
    (tmp_path / "match.json").write_text(json.dumps(match))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="its format is version '2', this program reads 1: update dshq-widget"):
        checkpoint.load(policy)
    with pytest.raises(ConfigError, match="wanted a configuration of format 1 at most, got 2.*newer release"):
        run_file.read(tmp_path / "bot.yaml")
    with pytest.raises(ValueError, match="has the format '2' of a newer release, and this one reads 1"):
        replay(compile_drill(drills["ball"]), match)
    assert {path: path.read_bytes() for path in before} == before


def test_what_is_written_says_its_format(tmp_path: Path):
    assert run_file.text(tmp_path / "a.yaml", {}, TrainConfig(), 2).splitlines()[1] == f"format: {run_file.FORMAT}"
