"""Metrics as CSV and TensorBoard files: what was reported is what is read back."""

import contextlib
import csv
import dataclasses
import os
import sys
import tracemalloc

import pytest

from dshq_widget.cli.main import main
from dshq_widget.contract.game_spec import Term
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS
from dshq_widget.learning.telemetry import writers
from dshq_widget.learning.telemetry.metrics_file import read_metrics
from dshq_widget.learning.telemetry.writers import NO_EVENTS, CsvFile, Logs, columns, flat_name, full_name
from dshq_widget.policy import checkpoint
from dshq_widget.training.trainer import Trainer
from tests.harness.full_disk import Filling
from tests.harness.games.specs import NOTHING
from tests.harness.processes.faults import SMALL

pytestmark = pytest.mark.usefixtures("learners_in_threads")

SPEC = dataclasses.replace(NOTHING, terms=(Term("goal", 1.0, "reward"), Term("approach", 1.0, "potential")))


def lines(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def points(folder) -> dict[tuple[str, int], float]:
    """(tag, step) -> value in all event files of a folder, as TensorBoard itself reads them."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util.tensor_util import make_ndarray

    found = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            for event in EventFileLoader(str(folder / name)).Load():
                for value in event.summary.value:
                    found[value.tag, event.step] = float(make_ndarray(value.tensor))
    return found


def test_columns_are_grouped_and_complete():
    names = columns(["goal"])
    groups = [full_name(name).split("/")[0] for name in names]
    assert groups == sorted(groups, key=METRIC_CATEGORIES.index)
    assert set(names) == {*METRICS, "reward_goal"}
    assert full_name("reward_goal") == "ACTOR/reward_goal" and full_name("entropy") == "TRAINER/entropy"


def test_the_table_holds_the_rows(tmp_path):
    rows = [{"agent_steps": 100 * k, "entropy": 0.5 * k, "reward_goal": -1.0 * k} for k in range(1, 5)]
    for half in (rows[:2], rows[2:]):  # a run, and its continuation
        logs = Logs(str(tmp_path / "new" / "run"), SPEC)
        assert logs.write(half[0]) in ("", NO_EVENTS) and logs.write(half[1]) == ""
        logs.close()
    table = lines(tmp_path / "new" / "run")
    assert [float(line["TRAINER/entropy"]) for line in table] == [row["entropy"] for row in rows]
    assert [line["ACTOR/agent_steps"] for line in table] == ["100", "200", "300", "400"]
    assert {line["EVALUATOR/elo"] for line in table} == {""} and float(table[0]["time"]) > 1.7e9


@pytest.mark.peers
def test_tensorboard_reads_what_was_written(tmp_path):
    rows = [{"agent_steps": 100 * k, "entropy": 0.5 * k, "reward_goal": -1.0 * k} for k in range(1, 5)]
    for half in (rows[:2], rows[2:]):
        logs = Logs(str(tmp_path), SPEC)
        assert [logs.write(row) for row in half] == ["", ""]
        logs.close()
    found = points(tmp_path)
    assert found == {(full_name(name), row["agent_steps"]): value for row in rows for name, value in row.items()}


def test_without_tensorboard_there_is_the_table_and_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    logs = Logs(str(tmp_path), SPEC)
    assert [logs.write({"agent_steps": k, "entropy": 0.5}) for k in (1, 2)] == [NO_EVENTS, ""]
    logs.close()
    assert [line["ACTOR/agent_steps"] for line in lines(tmp_path)] == ["1", "2"]
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_files_of_another_drill_are_not_mixed(tmp_path):
    Logs(str(tmp_path), SPEC).close()
    with pytest.raises(ValueError, match="choose another log_dir"):
        Logs(str(tmp_path), NOTHING)


def test_a_reward_of_ones_own_begins_another_table_and_the_one_so_far_is_kept(tmp_path):
    own = dataclasses.replace(SPEC, terms=(*SPEC.terms, Term("own_reward", 1.0, "reward")))
    for spec, rows in ((SPEC, 1), (own, 2), (own, 3), (SPEC, 1)):
        logs = Logs(str(tmp_path), spec)
        logs.write({"agent_steps": 100, "reward_own_reward": 0.5} if spec is own else {"agent_steps": 100})
        logs.close()
        assert len(lines(tmp_path)) == (rows if spec is SPEC else rows - 1)
    assert {path.name for path in tmp_path.glob("*.csv")} == {"metrics.csv", "metrics-1.csv", "metrics-2.csv"}
    first, second = (read_metrics(tmp_path / f"metrics-{number}.csv") for number in (1, 2))
    assert len(first) == 1 and [row["reward_own_reward"] for row in second] == [0.5, 0.5]


@pytest.mark.parametrize("there", ["a link to nothing", "a link to a file", "a pipe"])
def test_a_table_is_written_through_no_link_and_into_no_pipe(tmp_path, there):
    """In a folder of somebody else's a link led out of it. A pipe is refused as before, and not waited for."""
    folder, outside = tmp_path / "logs", tmp_path / "outside.txt"
    folder.mkdir()
    if there == "a pipe":
        os.mkfifo(folder / "metrics.csv")
    else:
        (folder / "metrics.csv").symlink_to(outside)
        if there == "a link to a file":
            outside.touch()
    logs = Logs(str(folder), SPEC)
    assert "cannot write metrics to files" in logs.write({"agent_steps": 1})
    logs.close()
    assert not outside.exists() or not outside.read_bytes()


def test_a_table_of_holes_is_neither_searched_nor_held_nor_cut_off(tmp_path):
    """A terabyte of them takes some kilobytes of a disk."""
    with contextlib.closing(CsvFile(tmp_path / "metrics.csv", [])) as table:
        table.add(1.0, {"agent_steps": 1})
    size = (tmp_path / "metrics.csv").stat().st_size
    os.truncate(tmp_path / "metrics.csv", 1 << 40)
    with pytest.raises(ValueError, match="ends in a line of more than 1,048,576 bytes: choose another log_dir"):
        CsvFile(tmp_path / "metrics.csv", [])
    with pytest.raises(ValueError, match="line 2: wanted .* it has 1,048,576 letters or more"):
        read_metrics(tmp_path)
    assert (tmp_path / "metrics.csv").stat().st_size == 1 << 40 and size > 100
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OSError, match="no regular file"):
        read_metrics(tmp_path / "pipe.csv")
    (tmp_path / "cells.csv").write_text("x" * 200_000 + "\n1\n")
    with pytest.raises(ValueError, match="field larger than field limit"):
        read_metrics(tmp_path / "cells.csv")
    with pytest.raises(ValueError, match="different columns"):
        CsvFile(tmp_path / "cells.csv", [])


@pytest.mark.parametrize("left", [0, 7, 100_000])
def test_a_full_disk_is_said_once_and_the_table_goes_on_once_there_is_room(tmp_path, monkeypatch, left):
    """It is full before the header, within it, or within the first row."""
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    opened: list[Filling] = []

    def filling(path, mode, opener):
        opened.append(Filling(path, mode, opener=opener))
        opened[-1].left = left
        return opened[-1]

    with monkeypatch.context() as patch:
        patch.setattr(writers.io, "FileIO", filling)
        logs = Logs(str(tmp_path), SPEC)
        if left == 100_000:
            opened[-1].left = 9
        assert "No space left on device; training continues" in logs.write({"agent_steps": 1})
        assert logs.write({"agent_steps": 2}) == ""
        left = 100_000
        opened[-1].left = left
        assert logs.write({"agent_steps": 3}) == NO_EVENTS
    logs.close()
    assert [line["ACTOR/agent_steps"] for line in lines(tmp_path)] == ["3"]


def test_a_folder_that_cannot_be_made_yet_ends_no_training(tmp_path):
    (tmp_path / "logs").write_text("a file is in the way")
    logs = Logs(str(tmp_path / "logs"), SPEC)
    assert "cannot write metrics to files" in logs.write({"agent_steps": 1}) and logs.write({"agent_steps": 2}) == ""
    logs.close()
    (tmp_path / "logs").unlink()
    logs.write({"agent_steps": 3})
    logs.close()
    assert [line["ACTOR/agent_steps"] for line in lines(tmp_path / "logs")] == ["3"]


def test_a_folder_that_comes_late_with_another_drills_table_ends_no_training(tmp_path):
    (tmp_path / "logs").write_text("a file is in the way")
    logs = Logs(str(tmp_path / "logs"), SPEC)
    (tmp_path / "logs").unlink()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "metrics.csv").write_text("day,weight\nMon,71\n")
    assert "different columns" in logs.write({"agent_steps": 1}) and logs.write({"agent_steps": 2}) == ""
    logs.close()


def test_an_event_file_that_cannot_be_made_takes_no_row_from_the_table(tmp_path):
    class Half(Logs):
        def _open_events(self):
            raise OSError("no place for it")

    logs = Half(str(tmp_path), SPEC)
    assert "no place for it" in logs.write({"agent_steps": 1}) and logs.write({"agent_steps": 2}) == ""
    logs.close()
    assert [row["agent_steps"] for row in read_metrics(tmp_path)] == [1, 2]


def test_a_line_that_a_killed_learner_began_is_taken_away(tmp_path):
    logs = Logs(str(tmp_path), SPEC)
    logs.write({"agent_steps": 1})
    logs.close()
    with open(tmp_path / "metrics.csv", "a") as table:
        table.write("1764238563.1,,0.")
    logs = Logs(str(tmp_path), SPEC)
    logs.write({"agent_steps": 2})
    logs.close()
    assert [row["agent_steps"] for row in read_metrics(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    "content", [b"day,weight\r\nMon,71\r\nTue,72", b"one line of notes", b"\xff\0", b"x" * 200_000 + b"\n"]
)
def test_a_file_of_somebody_else_keeps_every_byte(tmp_path, content):
    path = tmp_path / "metrics.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="different columns"):
        Logs(str(tmp_path), SPEC)
    assert path.read_bytes() == content


def test_a_long_table_is_not_read_as_a_whole(tmp_path):
    Logs(str(tmp_path), SPEC).close()
    with open(tmp_path / "metrics.csv", "ab") as table:
        table.write(b"1764238563.1\n" * 1_000_000 + b"17")
    size = (tmp_path / "metrics.csv").stat().st_size
    tracemalloc.start()
    Logs(str(tmp_path), SPEC).close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20 and (tmp_path / "metrics.csv").stat().st_size == size - 2


def test_training_writes_what_it_reports(tmp_path):
    with Trainer("cartpole", log_dir=tmp_path / "run", **SMALL) as trainer:
        trainer.start()
        assert trainer.wait(seconds=1.5, progress=False)
        trainer.stop()
        assert trainer.join(60)
        history = trainer.history
    table = lines(tmp_path / "run")
    assert [int(line["TRAINER/updates"]) for line in table] == [row["updates"] for row in history]
    last = {full_name(name): value for name, value in history[-1].items()}
    assert {name: float(text) for name, text in table[-1].items() if text and name != "time"} == pytest.approx(last)
    assert checkpoint.load(tmp_path / "run" / "autosave.dshq").version == trainer.version, "the autosave is kept there"


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        Trainer("cartpole", log_dir=tmp_path / "file" / "run")
    assert main(["train", "cartpole", "--log-dir", str(tmp_path / "file" / "run")]) == 2
    assert "cannot create the folder" in capsys.readouterr().err


def test_the_reader_takes_both_spellings_and_gives_flat_names(tmp_path):
    logs = Logs(str(tmp_path), SPEC)
    for k in range(3):
        logs.write({"agent_steps": 100 * k, "return_mean": 0.5 * k, "reward_goal": -1.0 * k})
    logs.close()
    rows = read_metrics(tmp_path)
    assert rows == read_metrics(tmp_path / "metrics.csv") and {*rows[0]} == {
        *("time", "agent_steps", "return_mean", "reward_goal")
    }
    assert [row["return_mean"] for row in rows] == [0, 0.5, 1] and rows[2]["agent_steps"] == 200
    (tmp_path / "flat.csv").write_text("time,return_mean,ACTOR/agent_steps,mine/other\n1,,2,3\n")
    assert read_metrics(tmp_path / "flat.csv") == [{"time": 1, "agent_steps": 2, "mine/other": 3}]
    long = "1" * 200_000  # Python reads no cell of more than 131,072 letters
    for text, words in [
        ("time,elo\n1,x\n", "line 2: wanted 2 numbers"),
        ("time,elo\n1,2\n1\n", "line 3: wanted 2"),
        (f"time,elo\n1,{long}\n", "line 2: wanted 2 numbers"),
        (f"time,{long}\n", "line 1: wanted 0 numbers"),
    ]:
        (tmp_path / "wrong.csv").write_text(text)
        with pytest.raises(ValueError, match=words):
            read_metrics(tmp_path / "wrong.csv")
    for missing in (tmp_path / "none.csv", "~nobody-of-this-name/metrics.csv"):
        with pytest.raises(FileNotFoundError):
            read_metrics(missing)
    assert all(flat_name(full_name(name)) == name == flat_name(name) for name in [*METRICS, "reward_goal"])
