"""Experiment trackers: rows of metrics to MLflow or Weights & Biases, through their own clients, or to an OpenTelemetry
collector. None is needed for anything else. Each has a thread of the learner, so a server that is slow or never answers
holds up neither the notebook nor training.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.parse import unquote

from dshq_widget.contract.setting import printable
from dshq_widget.learning.telemetry.otlp import Otlp
from dshq_widget.learning.telemetry.writers import full_name
from dshq_widget.runtime.words import reason_of

PROJECT = "dshq"
"""Where runs go unless a project is named."""
WANDB_SETTINGS = ("wandb/settings", ".wandb/settings")
"""Files in the working folder that Weights & Biases reads: they may name a server, which gets the person's key."""
MOST_ROWS = 600
"""That wait for a tracker, two a second; one that takes fewer for so long is left out."""
END_SECONDS = 30.0
"""How long the end of a run waits for what its trackers still have to send, all of them together."""


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

        # It would ask git about the working folder, and a `.git/config` there says which programs git runs.
        self._run = wandb.init(project=place or PROJECT, name=name, config=dict(config), settings={"disable_git": True})

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
    """All trackers of one run. One that fails, or does not keep up, is left out from then on, with a warning; training
    continues.
    """

    def __init__(self, text: str, name: str, config: Mapping[str, Any], warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._open = [_Beside(tracker, place, name, config) for tracker, place in parse(text)]

    def write(self, row: Mapping[str, float]) -> None:
        """One row of flat names."""
        points = {full_name(key): float(value) for key, value in row.items()}
        for tracker in self._open:
            tracker.put(points, int(row.get("agent_steps", 0)))
        self._leave_out()

    def close(self) -> None:
        """The run is over. Waits `END_SECONDS` at most."""
        until = time.monotonic() + END_SECONDS
        for tracker in self._open:
            tracker.close()
        for tracker in self._open:
            tracker.wait(until - time.monotonic())
        self._leave_out()
        self._open = []

    def _leave_out(self) -> None:
        for tracker in [tracker for tracker in self._open if tracker.problem]:
            self._open.remove(tracker)
            self._warn(f"stopped sending metrics to {tracker.name}: {printable(tracker.problem[:200])}")


class _Beside:
    """A tracker on a thread of its own: its server may take as long as it likes. Nothing here waits, but `wait`."""

    def __init__(self, name: str, place: str, run: str, config: Mapping[str, Any]) -> None:
        self.name, self.problem = name, ""
        """What it is left out for, "" while it is not."""
        self._place, self._run, self._config = place, run, config
        self._rows: queue.Queue[tuple[Mapping[str, float], int] | None] = queue.Queue(MOST_ROWS)
        self._thread = threading.Thread(target=self._send, name=f"dshq-{name}", daemon=True)
        self._thread.start()

    def put(self, points: Mapping[str, float], step: int) -> None:
        """One row."""
        self._add((points, step))

    def close(self) -> None:
        """No more rows."""
        self._add(None)

    def wait(self, seconds: float) -> None:
        """Until all is sent, or its time is over."""
        self._thread.join(max(0.0, seconds))
        if self._thread.is_alive():
            self.problem = self.problem or f"it had not finished {END_SECONDS:g} s after the end"

    def _add(self, row: tuple[Mapping[str, float], int] | None) -> None:
        try:
            self._rows.put_nowait(row)
        except queue.Full:
            self.problem = self.problem or f"{MOST_ROWS} rows wait, and it takes none"

    def _send(self) -> None:
        """Whatever a server or its client raises, training continues."""
        try:
            tracker = TRACKERS[self.name](self._place, self._run, self._config)
            while (row := self._rows.get()) is not None:
                tracker.add(*row)
            tracker.close()
        except (Exception, SystemExit) as error:
            self.problem = self.problem or _without_secrets(self._place, reason_of(error))


def _without_secrets(place: str, text: str) -> str:
    """A client's error without the password, and what stands behind a `?`, of the place that it may name."""
    user = re.split(r"[/?#]", place.partition("//")[2])[0].rpartition("@")[0]
    password = user.partition(":")[2]
    for secret in (user, password, unquote(password), place.partition("?")[2]):
        text = text.replace(secret, "***") if secret else text
    return text
