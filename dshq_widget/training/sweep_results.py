"""The results of a sweep: one JSON file for each run, a table of all runs, and what they say of each setting."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.contract.finite import MOST_WHOLE
from dshq_widget.contract.setting import printable
from dshq_widget.contract.statistics import Z95
from dshq_widget.files import atomic, reading

PLAN_NAME, RUNS_FOLDER, TABLE_NAME = "sweep.json", "runs", "runs.csv"
TABLE_BEGINS = b"setting,seed,"
"""How each table of runs begins."""
STUDENT_95 = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622)
"""Two-sided 95 % quantiles of Student's t for 1 to 9 degrees of freedom."""
CURVE_POINTS = 200
NAME = r"[\w.]{1,100}"
"""Of a setting or a metric."""
FORMULA = re.compile(r"[=+@\t\r-]")
"""How a cell of the table would begin that a spreadsheet computes; no sentence or setting of a sweep does."""
MOST_BYTES = 64 << 20
"""Of a file of a sweep: more than a curve of days has."""


def t95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t; from 10 degrees of freedom on by the expansion in Abramowitz &
    Stegun, 1964, 26.7.5.
    """
    if degrees <= len(STUDENT_95):
        return STUDENT_95[degrees - 1]
    z = Z95
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / degrees ** (k + 1) for k, term in enumerate(terms))


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - half, mean + half


@dataclasses.dataclass(frozen=True)
class SweepRun:
    """One training: its number of setting, the settings that vary, the seed, the metric's last `value` (None if the
    run failed or no value came; then `error` says why), all last metrics by flat name, and the curve: `agent_steps`,
    `seconds` and the metric's values, equally long.
    """

    setting: int
    settings: dict[str, Any]
    seed: int
    value: float | None
    error: str
    metrics: dict[str, float | int]
    curve: dict[str, list[float]]

    @property
    def is_one(self) -> bool:
        """Whether everything is of the type that a sweep writes: it comes from a file."""
        names = [*self.settings, *self.metrics, *self.curve]
        plain = all(_is_plain(value) for value in self.settings.values())
        texts = [self.error, *(value for value in self.settings.values() if isinstance(value, str))]
        numbers = [self.setting, self.seed, *self.metrics.values(), *itertools.chain(*self.curve.values())]
        numbers += [] if self.value is None else [self.value]
        return (
            type(self.setting) is type(self.seed) is int
            and isinstance(self.error, str)
            and plain
            and not any(map(FORMULA.match, texts))
            and all(re.fullmatch(NAME, name) for name in names)
            and all(isinstance(one, float) or (isinstance(one, int) and abs(one) <= MOST_WHOLE) for one in numbers)
            and len({*map(len, self.curve.values())}) <= 1
        )


def _is_plain(value: Any) -> bool:
    """Whether it is a setting's value, as a file has it: shares and weights are numbers by name."""
    if isinstance(value, dict):
        return all(re.fullmatch(NAME, name) and isinstance(one, (int, float)) for name, one in value.items())
    return isinstance(value, (bool, int, float, str, list))


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the runs of one setting say: the metric's `values` by seed, their mean and its 95 % interval (None for fewer
    than two); `mean` is None if no run has a value.
    """

    number: int
    settings: dict[str, Any]
    values: dict[int, float]
    mean: float | None
    ci95: tuple[float, float] | None

    @property
    def label(self) -> str:
        """The settings as one line."""
        return printable(", ".join(f"{key}={_short(value)}" for key, value in self.settings.items()))


@dataclasses.dataclass(frozen=True)
class SweepResult:
    """The runs of a sweep so far. `rises`: whether more of `metric` is better."""

    directory: Path
    metric: str
    rises: bool
    runs: tuple[SweepRun, ...]

    @property
    def settings(self) -> list[Setting]:
        """Each setting that was tried, in the order of trying."""
        found = []
        for number in sorted({run.setting for run in self.runs}):
            runs = [run for run in self.runs if run.setting == number]
            values = {run.seed: run.value for run in runs if run.value is not None}
            mean = statistics.fmean(values.values()) if values else None
            found.append(Setting(number, runs[0].settings, values, mean, interval(list(values.values()))))
        return found

    def setting(self, number: int) -> Setting:
        """The setting of this number; raises KeyError."""
        return {each.number: each for each in self.settings}[number]

    @property
    def best(self) -> Setting:
        """The setting with the best mean. Of few seeds that is partly luck: compare the intervals. Raises RuntimeError
        if no run has a value.
        """
        if not self.ranked:
            why = next((run.error for run in self.runs if run.error), "there are no runs yet")
            raise RuntimeError(f"no run of this sweep has a value of {self.metric}: {printable(why)}")
        return self.ranked[0]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each run: `setting`, `seed`, the settings that vary, `value`, `error`, and the last metrics."""
        return [
            {"setting": run.setting, "seed": run.seed, **run.settings, "value": run.value, "error": run.error}
            | {f"metrics.{name}": value for name, value in run.metrics.items()}
            for run in self.runs
        ]

    def frame(self) -> Any:
        """The rows as a pandas DataFrame; raises ImportError if pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "frame() needs pandas: run pip install pandas, or use .rows(), a list of dicts"
            ) from error
        return pandas.DataFrame(self.rows())

    @property
    def ranked(self) -> list[Setting]:
        """The settings that have a mean, best first."""
        known = [each for each in self.settings if each.mean is not None]
        return sorted(known, key=lambda each: each.mean or 0.0, reverse=self.rises)

    def plot(self, against: str = "agent_steps", most: int = 8) -> Any:
        """A matplotlib Figure of the best settings, at most `most`: the mean over the seeds and its 95 % interval
        (Student's t) against `agent_steps` or `seconds`, from where all seeds have a value to where the first ends.
        Raises ImportError if matplotlib is not installed, ValueError for another axis.
        """
        if against not in ("agent_steps", "seconds"):
            raise ValueError(f"against must be agent_steps or seconds, got {against!r}")
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot() needs matplotlib: run pip install 'dshq-widget[plots]'") from error
        figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        pyplot.close(figure)  # it is shown once, by whoever asked for it
        for each in self.ranked[:most]:
            drawn = self.band(each.number, against)
            if drawn is None:
                continue
            at, mean, low, high = drawn
            (line,) = axes.plot(at, mean, label=each.label)
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set_xlabel("agent steps" if against == "agent_steps" else "seconds of training")
        axes.set_ylabel(self.metric)
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", fontsize="small", frameon=False)
        return figure

    def band(self, number: int, against: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Places on the axis, the mean over the seeds of a setting, and the ends of its 95 % interval there, each f64
        `[CURVE_POINTS]`; the ends are NaN for one seed. Values between reports are interpolated. None without curves.
        """
        own = [run.curve for run in self.runs if run.setting == number and self.metric in run.curve]
        curves = [curve for curve in own if len(curve.get(against, ())) > 1]
        if not curves:
            return None
        begin, end = max(curve[against][0] for curve in curves), min(curve[against][-1] for curve in curves)
        if not begin < end:
            return None
        at = np.linspace(begin, end, CURVE_POINTS)
        each = np.stack([np.interp(at, curve[against], curve[self.metric]) for curve in curves])
        mean = each.mean(0)
        if len(curves) == 1:
            return at, mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
        half = t95(len(curves) - 1) * each.std(0, ddof=1) / math.sqrt(len(curves))
        return at, mean, mean - half, mean + half


class Store:
    """The files of a sweep in `directory`. `plan` is what is asked for; raises ValueError if the directory holds the
    sweep of another plan, a `runs.csv` that is not this sweep's, or a link in the place of its runs, OSError if it
    cannot be created.
    """

    def __init__(self, directory: Path, plan: Mapping[str, Any]) -> None:
        self.directory, self._varied = atomic.absolute(directory), {*plan["settings"]}
        path = self.directory / PLAN_NAME
        self._check_table(begun=path.exists())
        self._runs = self.directory / RUNS_FOLDER
        if self._runs.is_symlink():  # the folder may be somebody else's
            raise ValueError(
                f"{str(self._runs)!r} is a link, and the runs of a sweep are written inside its own folder: put a "
                "folder there, or choose another directory"
            )
        self._runs.mkdir(parents=True, exist_ok=True)
        wanted = json.loads(json.dumps(plan, default=str))
        if not path.exists():
            atomic.write(path, (json.dumps(wanted, indent=1) + "\n").encode())
            return
        there = _read(path)
        differ = [key for key in sorted({*there, *wanted}) if there.get(key) != wanted.get(key)]
        if differ:
            said = "; ".join(f"{key} was {there.get(key)!r:.80}, now {wanted.get(key)!r:.80}" for key in differ)
            raise ValueError(f"{str(self.directory)!r} holds another sweep: {said}. Choose another directory")

    def _check_table(self, begun: bool) -> None:
        """Raises ValueError for a `runs.csv` that a sweep here would write over, though none here has written it."""
        table = self.directory / TABLE_NAME
        if not table.exists() or (begun and table.is_file() and reading.begins_with(table, TABLE_BEGINS)):
            return
        raise ValueError(
            f"{str(table)!r} is no table of this sweep, which would write over it: give it another name, or choose "
            "another directory"
        )

    def runs(self) -> tuple[SweepRun, ...]:
        """The finished runs, by setting and seed. Raises ValueError for a file that is not one of ours."""
        found = []
        for path in self._runs.glob("*.json"):
            try:
                run = SweepRun(**_read(path))
                is_one = run.is_one and {*run.settings} == self._varied
            except (AttributeError, TypeError):
                is_one = False
            if not is_one:
                raise ValueError(f"{str(path)!r} is not a run of a sweep: remove it, and it is made again")
            found.append(run)
        return tuple(sorted(found, key=lambda run: (run.setting, run.seed)))

    def add(self, run: SweepRun) -> None:
        """Write a finished run, then the table of all runs."""
        path = self._runs / f"{run.setting:04d}-seed{run.seed}.json"
        atomic.write(path, json.dumps(dataclasses.asdict(run)).encode())

    def write_table(self, result: SweepResult) -> Path:
        """Write `runs.csv`: the rows of the result, settings that are not numbers as JSON."""
        rows = result.rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        table = csv.DictWriter(text, names, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()})
        return atomic.write(self.directory / TABLE_NAME, text.getvalue().encode())


def planned(directory: Path) -> dict[str, Any]:
    """What the sweep in `directory` was asked for, nothing where there is none: a sweep is continued as it began.
    Raises ValueError for a file that is not one of ours.
    """
    path = atomic.absolute(directory) / PLAN_NAME
    return _read(path) if path.exists() else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(reading.content_of(path, MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is not valid JSON: remove it, or choose another directory") from error
    if not isinstance(content, dict):
        raise ValueError(f"{str(path)!r} is not a file of a sweep: remove it, or choose another directory")
    return content


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
