"""Writes rows of metrics to `metrics.csv` and, where TensorBoard is installed, to its event files, with names
CATEGORY/name. The learner writes them, so a slow disk never blocks the notebook.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS, OWN_REWARD, metric_named
from dshq_widget.files import reading

CSV_NAME = "metrics.csv"
LONGEST_LINE, BLOCK = 1 << 20, 1 << 16
"""Bytes of a table's line, and of what is read of it at once."""
TIME = "time"
"""The first column: Unix time in seconds."""
AGAIN_SECONDS = 60.0
"""Between two tries to begin an event file: each leaves one."""
NO_EVENTS = (
    f"metrics are written to {CSV_NAME} alone: TensorBoard's event files need pip install 'dshq-widget[tensorboard]'"
)


def full_name(name: str) -> str:
    """A metric's name with its category before it: `TRAINER/entropy`."""
    known = metric_named(name)
    return f"{known.category if known else 'MISC'}/{name}"


def flat_name(name: str) -> str:
    """`return_mean` of `ACTOR/return_mean`; a flat name stays."""
    category, slash, rest = name.partition("/")
    return rest if slash and category in METRIC_CATEGORIES else name


def columns(terms: list[str]) -> list[str]:
    """Flat names of every metric of a drill with these reward terms, category by category."""
    names = [*METRICS, *(f"reward_{term}" for term in terms)]
    return sorted(names, key=lambda name: METRIC_CATEGORIES.index(full_name(name).split("/")[0]))


class CsvFile:
    """One line per row, appended whole or not at all; a missing metric is an empty cell. A file that differs only in
    the reward of one's own is set aside: metrics-1.csv, or the next number that is free. Raises OSError, or ValueError
    if `path` has other columns, from another drill or release.
    """

    def __init__(self, path: Path, terms: list[str]) -> None:
        self._names = columns(terms)
        header = [TIME, *map(full_name, self._names)]
        self._file, found, rest = _opened(path, header)
        if found and sorted(found) != sorted(header) and _without_own(found) == _without_own(header):
            self._file.close()
            _set_aside(path)
            self._file, found, rest = _opened(path, header)
        if not found:
            try:
                self._without(rest)
                self._line(header)
            except OSError:
                self._file.close()
                raise
        elif sorted(found) == sorted(header):
            self._names = [flat_name(name) for name in found[1:]]
            self._without(rest)
        else:
            self._file.close()
            raise ValueError(f"{str(path)!r} has different columns from this training: choose another log_dir")

    def add(self, now: float, row: Mapping[str, float]) -> None:
        """One line."""
        self._line([f"{now:.3f}", *(row.get(name, "") for name in self._names)])

    def _without(self, rest: int) -> None:
        """Take this number of bytes off the end."""
        if rest:
            self._file.truncate(self._file.seek(0, os.SEEK_END) - rest)

    def _line(self, cells: Sequence[object]) -> None:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        line, size = text.getvalue().encode(), self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) or 0 :]
        except OSError:
            self._file.truncate(size)
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _opened(path: Path, header: list[str]) -> tuple[io.FileIO, list[str], int]:
    """The file, to be appended to; its header, [] of a new one and of one whose writer was killed within `header`; and
    the bytes at its end that are no whole line, which go once it is certain that the file is ours.
    """
    file = io.FileIO(path, "a+", opener=reading.no_link)
    try:
        size, whole = _lengths(file)
    except ValueError:
        file.close()
        raise
    file.seek(0)
    first = file.readline(LONGEST_LINE)
    if not whole and ",".join(header).encode().startswith(first.rstrip(b"\r")):
        return file, [], size
    try:
        found = next(csv.reader([first.decode("utf-8", "replace")]), [])
    except csv.Error:  # a cell is longer than any name
        found = [""]
    return file, found, size - whole


def _lengths(file: io.FileIO) -> tuple[int, int]:
    """Bytes of a file, and of its whole lines; it is read from its end, since a long run's table is large. Raises
    ValueError for a last line that is longer than any: one of holes may be a terabyte.
    """
    size = end = file.seek(0, os.SEEK_END)
    while end:
        if size - end > LONGEST_LINE:
            raise ValueError(
                f"{str(file.name)!r} ends in a line of more than {LONGEST_LINE:,} bytes: choose another log_dir"
            )
        begin = max(end - BLOCK, 0)
        file.seek(begin)
        if (found := (file.read(end - begin) or b"").rfind(b"\n")) >= 0:
            return size, begin + found + 1
        end = begin
    return size, 0


def _without_own(header: list[str]) -> list[str]:
    """The columns in the order of the alphabet, but that of a reward of one's own."""
    return sorted(name for name in header if flat_name(name) != f"reward_{OWN_REWARD}")


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_stem(f"{path.stem}-{number}")).exists():
        number += 1
    path.replace(aside)


class EventFile:
    """A new event file of TensorBoard in `folder`, by TensorBoard's own writer, which imports neither torch nor
    TensorFlow. Raises ImportError without TensorBoard, and OSError.
    """

    def __init__(self, folder: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary = Event, Summary
        self._file = EventFileWriter(str(folder))

    def add(self, now: float, step: int, values: Mapping[str, float]) -> None:
        """One point per value at `step`, flushed."""
        points = [self._summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._file.add_event(self._event(wall_time=now, step=step, summary=self._summary(value=points)))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Logs:
    """Both files of one learner in `folder`, which is created if missing. Raises ValueError for a table of another
    drill. Training continues where they cannot be written, on a full disk for example, and so do they once they can.
    """

    def __init__(self, folder: str, spec: GameSpec) -> None:
        self._folder, self._terms = Path(folder), [term.name for term in spec.terms]
        self._csv: CsvFile | None = None
        self._events: EventFile | None = None
        self._events_from = 0.0  # of time.monotonic()
        self._remark, self._said = "", False
        with contextlib.suppress(OSError):  # the first row says it
            self._open_table()
            self._open_events()

    def _open_table(self) -> CsvFile:
        if self._csv is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._csv = CsvFile(self._folder / CSV_NAME, self._terms)
        return self._csv

    def _open_events(self) -> EventFile | None:
        if self._events is None and time.monotonic() >= self._events_from:
            self._events_from = time.monotonic() + AGAIN_SECONDS
            try:
                self._events = EventFile(self._folder)
            except ImportError:
                self._remark, self._events_from = NO_EVENTS, math.inf
        return self._events

    def write(self, row: Mapping[str, float]) -> str:
        """Add one row of flat names. Returns "" or, once each, that there is no TensorBoard and why rows are lost."""
        now = time.time()
        try:
            self._open_table().add(now, row)
            if events := self._open_events():
                points = {full_name(name): value for name, value in row.items()}
                self._write_event(events, now, int(row.get("agent_steps", 0)), points)
        except (OSError, ValueError) as error:  # a folder that was not there before may hold another drill's table
            said, self._said = self._said, True
            reason = (error.strerror if isinstance(error, OSError) else "") or error
            why = f"cannot write metrics to files: {reason}; training continues, and so do they in time"
            return "" if said else why
        remark, self._remark = self._remark, ""
        return remark

    def _write_event(self, events: EventFile, now: float, step: int, points: Mapping[str, float]) -> None:
        try:
            events.add(now, step, points)
        except OSError:  # its thread may be lost, which its end would wait for: the next one is another file
            self._events = None
            raise

    def close(self) -> None:
        """Close the files."""
        with contextlib.suppress(OSError):
            if self._csv:
                self._csv.close()
            if self._events:
                self._events.close()
