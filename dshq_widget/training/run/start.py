"""How a run starts: with which settings, from which policy, and with what job for its learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.training.latest_policy import LatestPolicy
from dshq_widget.training.room import check_room
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.run.state import RunState

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import OnExit, OnMessage, Processes, Start


class RunStart:
    """Starts the processes of runs, under the trainer's lock. `engine` says where they take place
    (algorithms/__init__.py); `brought` starts them where whoever shows the match brings the engine along. `gentle`:
    somebody may watch. `track` names experiment trackers.
    """

    def __init__(
        self,
        config: RunConfig,
        latest: LatestPolicy,
        state: RunState,
        engine: Mapping[str, str],
        brought: Start | None,
        gentle: bool,
        track: str,
    ) -> None:
        self._config, self._latest, self._state = config, latest, state
        self._engine, self.brought = engine, brought
        self._gentle, self._track = gentle, track

    def processes(self, orders: Mapping[str, Any], on_message: OnMessage, on_exit: OnExit) -> Processes:
        """Start a run from the newest policy, or from an untrained one if the settings need a different network. One
        that continues `again`, because its learner died, keeps the settings that wait for the next start as they were.
        `orders` are those of RunControl.
        """
        if not orders["again"]:
            self.begin()
        self._state.put_down()
        drill, config, section = self._config.running()
        algorithm, where = self._config.algorithm, self._engine["engine"]
        job = {
            **{key: order for key, order in orders.items() if key not in ("budget", "again")},
            **self._state.job(orders["budget"]),
            "gentle": self._gentle,
            "track": self._track,
            "algorithm": algorithm.name,
            "algorithm_settings": {} if section is None else section.to_json(),
            "stands_in": not algorithm.plays_alone,
            "acting": self._latest.offset,
            **({} if algorithm.own is None else {"network": algorithm.own.to_json()}),
            **self._engine,
        }
        if where == "local":
            check_room(algorithm, drill.spec, config, section)
        memory = self._latest.memory()
        start = self.brought or algorithm.start_on(where)
        return start(drill, config, memory, job, on_message, on_exit)

    def begin(self) -> None:
        """The settings of now are those of the next run; if they need a different network, an untrained one begins."""
        here = self.brought is None and isinstance(self._config.drill, CompiledDrill)
        if here and not self._latest.newest().trained:  # a run that has begun to learn keeps its settings
            self._config.fit(self._gentle)
        if not self._state.fits:
            self._state.begin_anew()
        self._config.begin()
        if self._gentle:  # somebody may watch
            self._state.share_acting()

    def prepare(self) -> None:
        """Compile in the background what the first run needs. Returns at once."""
        prepare = self._config.algorithm.prepare
        if prepare is not None and self.brought is None:
            prepare(self._config.drill, self._config.values)
