"""What `dshq train` is asked to do: defaults, overridden by a YAML file, overridden by flags; and the YAML file that it
writes, which repeats the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms
from dshq_widget.cli import outputs
from dshq_widget.cli.arguments import SECONDS, UsageError, flag_of
from dshq_widget.contract import run_file, setting, settings
from dshq_widget.files import atomic

if TYPE_CHECKING:
    from dshq_widget.training.trainer import Trainer

RUN_YAML = "run.yaml"
"""The file's name in the folder of `--log-dir`."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """One run. `start` is a drill's name or file, or a `.dshq` file; `own` are the algorithms' settings by name."""

    start: str
    drill_file: str | None
    algorithm: str | None
    network: str | None
    budget: dict[str, Any]
    out: str | None
    latest: bool
    log_dir: str | None
    track: str | None
    hyper: dict[str, Any]
    own: dict[str, Any]
    engine: str
    ray_address: str


def of(options: argparse.Namespace) -> Plan:
    """The plan of these options. Raises UsageError or ConfigError."""
    file = run_file.read(options.config, _with_settings()) if options.config is not None else run_file.RunFile()
    flags = {"drill": options.start, "drill_file": options.drill}
    named = ("algorithm", "network", "out", "latest", "log_dir", "track", "engine", "ray_address")
    flags |= {key: getattr(options, key) for key in named}
    run = {**file.run, **{key: value for key, value in flags.items() if value is not None}}
    if options.config is not None and not options.trust_config:
        _check_reach(options.config, {key: value for key, value in file.run.items() if flags.get(key) is None})
    if "drill" not in run:
        raise UsageError(
            "name what to train: a drill, or --config with a run section that has one; see `dshq train --help`"
        )
    budget = _budget(options) or {key: file.run[key] for key in run_file.BUDGETS if key in file.run}
    keys = [*settings.FIELDS, *settings.OTHER_VALUES, settings.DIVISOR]
    hyper = {key: value for key in keys if (value := getattr(options, key, None)) is not None}
    flagged = settings.canonical(hyper, None)
    algorithm = run.get("algorithm")
    if algorithm is not None:
        if options.algorithm is None and ":" in algorithm:
            raise UsageError(
                f"{options.config!r} names the algorithm {algorithm}, whose module would run: give that yourself, "
                f"--algorithm {shlex.quote(algorithm)}"
            )
        algorithm = algorithms.chosen(algorithm).name
    own: dict[str, Any] = {}
    for name in _with_settings() if algorithm is None else [algorithm]:
        own[name] = {**file.algorithms.get(name, {}), **_own_flags(options, name)}
    return Plan(
        run["drill"],
        run.get("drill_file"),
        algorithm,
        run.get("network"),
        budget,
        run.get("out"),
        bool(run.get("latest")),
        run.get("log_dir"),
        run.get("track"),
        settings.overridden(file.core, flagged),
        own,
        run.get("engine", "local"),
        run.get("ray_address", ""),
    )


FLAGS = {"drill": "", "drill_file": "--drill ", "out": "--out ", "log_dir": "--log-dir "}
"""How a person says on the command line what these keys of a file say."""


def _check_reach(path: str, followed: dict[str, Any]) -> None:
    """Raises UsageError if what is taken from the file at `path` reaches beyond data."""
    found = run_file.reaches(path, followed)
    if found:
        values = {key: shlex.quote(str(followed[key])) for key in found}  # who copies it does not run what stands there
        given = (FLAGS.get(key, f"--{key.replace('_', '-')} ") + values[key] for key in found if key != "track")
        flags = " ".join([*given, *(["--track WHERE"] if "track" in found else [])])
        raise UsageError(
            f"{path!r} {' and '.join(found.values())}: give that yourself ({flags}), or add --trust-config if the file "
            "is yours"
        )


def _with_settings() -> list[str]:
    return [name for name, each in algorithms.algorithms.items() if each.settings is not None]


def _own_flags(options: argparse.Namespace, name: str) -> dict[str, Any]:
    given = {key: value for key, value in vars(options).items() if key.startswith(f"{name}.") and value is not None}
    return {key.removeprefix(f"{name}."): value for key, value in given.items()}


def _budget(options: argparse.Namespace) -> dict[str, Any]:
    """The one budget that was given, or none. Raises UsageError for two, or for one that is not positive."""
    given = {key: value for key in run_file.BUDGETS if (value := getattr(options, key)) is not None}
    for key, value in given.items():
        outputs.positive(flag := flag_of(key), value)
        setting.parse_value(flag, value, run_file.RUN_KEYS[key])  # the run's file has it, too
    if len(given) > 1:
        flags = " and ".join(map(flag_of, given))
        raise UsageError(f"a run has one budget, got {flags}: leave out all but one")
    return given


def places(out: Path | None, log_dir: Path | None) -> list[Path]:
    """Where the YAML files of a run go. Raises UsageError where they cannot be written, or would take the place of a
    person's own file, comments and all.
    """
    found = {"--out": out and out.with_suffix(".yaml"), "--log-dir": log_dir and log_dir / RUN_YAML}
    files = {flag: file for flag, file in found.items() if file}
    for flag, file in files.items():
        with outputs.written(flag, str(file)):
            atomic.check_writable(file)
            if run_file.is_a_persons(file):
                raise UsageError(
                    f"{flag}: the settings of the run go to {str(file)!r}, which is there and not written by dshq "
                    f"train: rename it, or give {flag} another name"
                )
    return [*files.values()]


class Written:
    """The YAML files of a run: written when training begins, and again in the end, when everything is known."""

    def __init__(self, plan: Plan, trainer: Trainer, files: list[Path]) -> None:
        self._plan, self._trainer, self._files = plan, trainer, files
        self._begun = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Called after every change: write once training has begun and its settings are fitted to the machine."""
        if self._trainer.status == "training" and not self._begun:
            self._begun = True
            self._write()

    def end(self, kept: bool) -> str:
        """Write them again, if the run has kept anything. Returns what went wrong, or ""."""
        return self._write() if kept else ""

    def _write(self) -> str:
        plan, trainer = self._plan, self._trainer
        budget = plan.budget or ({} if trainer.drill.spec.target is not None else {"seconds": SECONDS})
        run: dict[str, Any] = {"drill": plan.start, "drill_file": plan.drill_file, "algorithm": trainer.algorithm}
        run |= {"network": trainer.network.get("name")}
        run |= {**budget, "out": plan.out, "latest": plan.latest or None, "log_dir": plan.log_dir}
        run |= {"track": plan.track, "ray_address": plan.ray_address or None}
        run |= {"engine": plan.engine} if plan.engine != "local" else {}
        own = trainer.algorithm_settings or None
        sides = trainer.drill.spec.sides
        with self._lock:
            for file in self._files:
                content = run_file.text(file, run, trainer.config, sides, trainer.algorithm, own)
                try:
                    atomic.write(file, content.encode())
                except OSError as error:
                    return f"cannot write {str(file)!r}: {error.strerror or error}"
        return ""
