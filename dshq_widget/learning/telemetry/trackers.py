"""Experiment trackers: rows of metrics to MLflow or Weights & Biases, through their own clients, or to an OpenTelemetry
collector. None is needed for anything else; the learner sends the rows, so a slow server never blocks the notebook.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol

from dshq_widget.learning.telemetry.otlp import Otlp
from dshq_widget.learning.telemetry.writers import full_name

PROJECT = "dshq"
"""Where runs go unless a project is named."""
WANDB_SETTINGS = ("wandb/settings", ".wandb/settings")
"""Files in the working folder that Weights & Biases reads: they may name a server, which gets the person's key."""


class Tracker(Protocol):
    """Somewhere that runs are compared."""

    def add(self, points: Mapping[str, float], step: int) -> None:
        """One row, names with their category, at this number of agent steps."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...


class Mlflow:
    """A run on an MLflow server, or in a folder or database: `place` is its tracking URI, default MLflow's own."""

    def __init__(self, place: str, name: str, config: Mapping[str, Any]) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        self._client, self._metric = MlflowClient(place or None), Metric
        found = self._client.get_experiment_by_name(PROJECT)
        experiment = found.experiment_id if found else self._client.create_experiment(PROJECT)
        self._run = self._client.create_run(experiment, run_name=name).info.run_id
        self._client.log_batch(self._run, params=[Param(key, str(value)[:500]) for key, value in config.items()])

    def add(self, points: Mapping[str, float], step: int) -> None:
        now = int(1000 * time.time())
        rows = [self._metric(name, float(value), now, step) for name, value in points.items()]
        self._client.log_batch(self._run, metrics=rows)

    def close(self) -> None:
        self._client.set_terminated(self._run)


class Wandb:
    """A run of Weights & Biases; `place` is the project."""

    def __init__(self, place: str, name: str, config: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(project=place or PROJECT, name=name, config=dict(config))

    def add(self, points: Mapping[str, float], step: int) -> None:
        self._run.log(dict(points), step=step)

    def close(self) -> None:
        self._run.finish()


TRACKERS: dict[str, Callable[[str, str, Mapping[str, Any]], Tracker]] = {
    "mlflow": Mlflow,
    "wandb": Wandb,
    "otlp": Otlp,
}
WITHOUT_CLIENT = ("otlp",)
"""Those that need no package."""


def parse(text: str) -> list[tuple[str, str]]:
    """Trackers and places of `mlflow:URI,wandb:PROJECT,otlp:URL`; the place may be left out. Raises ValueError for an
    unknown tracker, or one whose package is missing, and for settings of wandb that lie in the working folder.
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, place = part.partition(":")
        if name not in TRACKERS:
            raise ValueError(f"wanted {' or '.join(TRACKERS)}, such as wandb:my-project, got {part!r}")
        if name not in WITHOUT_CLIENT and find_spec(name) is None:
            raise ValueError(f"{name} is not installed: pip install {name}")
        if name == "wandb":
            _check_wandb()
        found.append((name, place))
    return found


def _check_wandb() -> None:
    """Raises ValueError for settings that lie in the working folder, which may be somebody else's, unless the person
    says where wandb's are.
    """
    found = next(filter(os.path.lexists, WANDB_SETTINGS), None)
    if found and not os.environ.get("WANDB_DIR"):
        raise ValueError(
            f"{found!r} in the working folder may say who gets your key of wandb: remove it or, if it is yours, set "
            "WANDB_DIR=."
        )


class Tracking:
    """All trackers of one run. One that fails is left out from then on, with a warning; training continues."""

    def __init__(self, text: str, name: str, config: Mapping[str, Any], warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._open: dict[str, Tracker] = {}
        for tracker, place in parse(text):
            self._try(tracker, partial(self._begin, tracker, place, name, config))

    def _begin(self, tracker: str, place: str, name: str, config: Mapping[str, Any]) -> None:
        self._open[tracker] = TRACKERS[tracker](place, name, config)

    def write(self, row: Mapping[str, float]) -> None:
        """One row of flat names."""
        points = {full_name(key): float(value) for key, value in row.items()}
        step = int(row.get("agent_steps", 0))
        for tracker, run in list(self._open.items()):
            self._try(tracker, partial(run.add, points, step))

    def close(self) -> None:
        """The run is over."""
        for tracker, run in list(self._open.items()):
            self._try(tracker, run.close)

    def _try(self, tracker: str, call: Callable[[], None]) -> None:
        """Whatever a server or its client raises, training continues."""
        try:
            call()
        except Exception as error:
            self._open.pop(tracker, None)
            self._warn(f"stopped sending metrics to {tracker}: {str(error)[:200] or type(error).__name__}")
