"""What a person reads of a trainer: what trains, status, settings, metrics, history, league; and what a page plays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.contract import sections
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.shown import Shown
from dshq_widget.training.shown_settings import shown_settings

if TYPE_CHECKING:
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.gyms.environment import Environment
    from dshq_widget.training.run.parts import RunParts


class Readings:
    """Everything here is safe to read from any thread. `run` has the parts that are read."""

    def __init__(self, run: RunParts) -> None:
        self._run = run

    @property
    def drill(self) -> CompiledDrill | Environment:
        """The game that is trained, with its reward terms of now."""
        return self._run.drill

    @property
    def algorithm(self) -> str:
        """The name of what trains."""
        return self._run.algorithm.name

    def lacks(self, feature: str) -> str:
        """Why the algorithm does not have a feature (algorithm.py, FEATURES), as a sentence; "" if it has it."""
        return self._run.algorithm.refuses.get(feature, "")

    def require(self, feature: str) -> None:
        """Raises ValueError if the algorithm does not have this feature (docs/reference/algorithms.md)."""
        self._run.algorithm.require(feature)

    @property
    def network(self) -> dict[str, str]:
        """Of a network of a person's own: how another process finds it, `name` and `folder`; else empty."""
        return {} if self._run.algorithm.own is None else self._run.algorithm.own.to_json()

    @property
    def engine(self) -> str:
        """Where it trains: `local`, `ray` or `page`."""
        return self._run.engine["engine"]

    @property
    def config(self) -> TrainConfig:
        """The current settings."""
        return self._run.config.values

    @property
    def algorithm_settings(self) -> dict[str, Any]:
        """The algorithm's own settings by key; empty if it has none."""
        return {} if self._run.config.section is None else self._run.config.section.to_json()

    @property
    def algorithm_schema(self) -> dict[str, dict[str, Any]]:
        """What each of them means (contract/sections.py)."""
        return {} if self._run.algorithm.settings is None else sections.schema(self._run.algorithm.settings)

    @property
    def version(self) -> int:
        """The newest policy version; 0 is untrained."""
        return self.latest_policy().version

    def latest_policy(self) -> PolicyVersion:
        """The newest complete policy. Never waits for the learner."""
        with self._run.lock:
            return self._run.latest.newest()

    def drawn_policy(self) -> PolicyVersion | None:
        """The same. None while the weights of a large untrained network are being drawn, of which `on_change` tells the
        end. Never waits.
        """
        newest = self.latest_policy()
        return newest if self._run.drawing.ready(newest) else None

    @property
    def status(self) -> str:
        """idle, starting, training, stopping, stopped or error."""
        return self._run.status.status

    @property
    def status_text(self) -> str:
        """The status as a sentence."""
        return self._run.status.text

    @property
    def error(self) -> str:
        """What went wrong, as a sentence; empty if nothing did."""
        return self._run.status.error

    @property
    def device(self) -> str:
        """The learner's device, cpu or cuda; empty until the learner reports it."""
        return self._run.status.device

    @property
    def workers(self) -> int:
        """Number of rollout processes."""
        return self._run.status.workers

    @property
    def tuning(self) -> dict[str, Any]:
        """The settings chosen for this machine and `why`: `processors`, `memory_gb`, `workers`, `threads`, `num_envs`,
        `rollout_length`, `minibatch_size` and the measured `rates` (agent steps/s). Empty before the first training.
        """
        return dict(self._run.status.tuning)

    @property
    def paused(self) -> bool:
        """Whether a learner runs and is paused between two updates."""
        return self._run.status.paused

    @property
    def metrics(self) -> dict[str, float | int]:
        """The newest metrics by flat name (docs/reference/settings.md); a copy."""
        with self._run.lock:
            return dict(self._run.status.metrics)

    @property
    def summary(self) -> dict[str, Any]:
        """What the algorithm says of the run so far, in numbers."""
        return self._run.algorithm.summary(self.metrics)

    @property
    def scenes(self) -> list[dict[str, Any]]:
        """The scenes that a share of the practice games starts from (setting `scene_share`), as plain rows.

        Each row has `key`, `places` (x, y of each movable thing, in world units), and `before` and `now`: the `share`
        of 128 games against the first baseline that side 0 wins from there, and the `version` that played; None until
        measured.
        """
        with self._run.lock:
            return self._run.scenes.rows()

    @property
    def history(self) -> list[dict[str, float | int]]:
        """All metrics since the last reset, oldest first; a very long history is thinned."""
        return self._run.status.history.rows()

    @property
    def history_number(self) -> int:
        """Another one with every history that begins: after a reset, with every policy that is loaded, and with curves
        that are put back.
        """
        return self._run.status.history.number

    @property
    def replaced(self) -> int:
        """How often everything learned was forgotten, or another policy took its place."""
        return self._run.status.replaced

    @property
    def league(self) -> list[dict[str, Any]]:
        """The self-play league's cross table, strongest first, as plain rows; do not change them.

        Each row has `name`, `elo` with its 95 % band `elo_low` to `elo_high`, `pinned`, and `against`: points and
        matches by opponent name. A snapshot also has `version`, `step`, `share` (points per match against the pinned
        opponents), `win_rate` (of the learner against it, smoothed), `hyper` and `champion`. Empty before the first
        round.
        """
        return self._run.status.league

    @property
    def start_from(self) -> str | None:
        """What training starts from: bronze, silver or gold of the ladder, "" for an untrained network; None once
        something else has been learned or loaded.
        """
        with self._run.lock:
            return self._run.state.start_from

    @property
    def kept(self) -> tuple[Path, ...]:
        """Files of what was learned before a setting asked for a new network, oldest first."""
        return tuple(self._run.state.kept)

    @property
    def plays_alone(self) -> bool:
        """Whether the network in its file is the policy; else that stands for what only the learner's files have."""
        return self._run.algorithm.plays_alone

    @property
    def played_by_process(self) -> bool:
        """Whether a process of the kernel has to play what is shown, because a page cannot."""
        return self._run.algorithm.played is not None

    def shown_settings(self) -> dict[str, Any]:
        """What the page needs to show the settings of the run (shown_settings.py)."""
        return shown_settings(self._run.config.drill.spec, self._run.algorithm)

    def shown(self) -> Shown:
        """What such a process plays now. Raises RuntimeError for what is missing on this machine, MemoryError."""
        with self._run.lock:
            return self._run.state.shown()

    def history_frame(self) -> Any:
        """The history as a pandas DataFrame: a row for each report, a column for each metric by flat name, NaN where a
        report lacks it. Raises ImportError if pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "history_frame() needs pandas: run pip install pandas, or use .history, a list of dicts"
            ) from error
        return pandas.DataFrame(self.history)
