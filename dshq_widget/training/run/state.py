"""The state of a run (policy, settings, metrics, scenes): saving it to policy files and loading it from them."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.contract.metrics import of_machine
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gyms.environment import Environment
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.scenes.arranged import Scenes
from dshq_widget.policy import checkpoint, compatibility, ladder
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.training.goals import Budget
from dshq_widget.training.latest_policy import LatestPolicy, PolicyVersion
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.run.files import REPLACED, RunFiles
from dshq_widget.training.shown import Shown
from dshq_widget.training.status import TrainingStatus

MOST_KEPT, MOST_KEPT_BYTES = 100, 1 << 30
"""Files of what was learned before a new network began or a file was loaded, and their bytes: a page does both without
end.
"""

log = logging.getLogger("dshq_widget")


class RunState:
    """Settings, newest policy, metrics and scenes of one run, changed together; used under the trainer's lock."""

    def __init__(
        self,
        drill: CompiledDrill | Environment,
        config: RunConfig,
        latest: LatestPolicy,
        status: TrainingStatus,
        scenes: Scenes,
        files: RunFiles,
    ) -> None:
        self._spec = drill.spec
        self._config, self._latest, self._status = config, latest, status
        self._scenes, self._files = scenes, files
        self._rung = "", 0  # the policy of the ladder that was loaded last, and its version
        self._arriving: tuple[Checkpoint, str] | None = None
        self.kept: list[Path] = []
        """Files of what was learned before a new network began."""
        self._replaced: list[Path] = []  # before a file was loaded

    @property
    def start_from(self) -> str | None:
        """What training starts from: bronze, silver or gold of the ladder, "" for an untrained network; None once
        something else has been learned or loaded.
        """
        rung, version = self._rung
        return rung if self._latest.newest().version == version else None

    def forget(self) -> None:
        """Go back to version 0. Scenes stay; their results are cleared."""
        self._arriving = None
        self._files.continue_from(None)
        self._rung = "", 0
        self._status.forget()
        self._scenes.forget()
        self._latest.replace(self._config.untrained(self._latest.newest()))

    def begin_anew(self) -> None:
        """Go back to version 0 for a network that does not fit what was learned; that stays as a file. Raises OSError
        or CheckpointError, and changes nothing, if it cannot be written.
        """
        newest = self._latest.newest()
        kept = self._set_aside(self._files.free_name(f"version-{newest.version}")) if newest.trained else None
        loaded = self._files.resume
        self.forget()
        if newest.trained and kept is None:
            where = f", which is in {loaded}," if loaded else ""
            self._status.warn(f"a new network begins; version {newest.version}{where} does not continue")
        if kept:
            self.kept.append(kept)
            self._status.warn(f"a new network begins; version {newest.version} is kept in {kept}")

    def _check_kept(self) -> None:
        """Raises OSError if so much of earlier runs is kept that no more should be."""
        there = [path for path in (*self.kept, *self._replaced) if path.exists()]
        nbytes = sum(path.stat().st_size for path in there)
        if len(there) >= MOST_KEPT or nbytes >= MOST_KEPT_BYTES:
            raise OSError(
                f"what was learned would be kept beside {len(there)} earlier runs, {nbytes >> 20} MB in "
                f"{there[0].parent}: remove some of them there first"
            )

    def check(self, saved: Checkpoint, name: str) -> None:
        """Raises CheckpointError, and changes nothing, unless `adopt` can continue from a file called `name`, of which
        only its network is left to be compared.
        """
        checkpoint.check_counts(saved)
        compatibility.check_weights(saved, name, self._config.algorithm.own if saved.network else None)
        try:
            saved_state.check(saved.state, saved.metrics, saved.weights.size, self._config.algorithm.tensors)
        except ValueError as error:
            raise CheckpointError(f"cannot continue from {name!r}: {error}") from None
        if saved.rules_hash == self._spec.rules_hash:
            try:
                Scenes(self._spec).restore(saved.state)
            except ValueError as error:
                raise CheckpointError(f"cannot use the scenes in {name!r}: {error}") from None

    def adopt(self, saved: Checkpoint, path: Path) -> None:
        """Continue from a file; raises CheckpointError, and changes nothing, if it does not fit the drill."""
        spec = self._spec
        network = self._config.network()
        compatibility.check_layers(saved, path.name, spec, network)
        self.check(saved, path.name)
        compatibility.check_weights(saved, path.name, network)
        if said := compatibility.other_rules(saved, path.name, spec):
            log.warning("%s", said)
        self._latest.replace(PolicyVersion(saved.version, saved.step, saved.layers, saved.activation, saved.weights))
        own = {key: value for key, value in saved.metrics.items() if not of_machine(key)}
        metrics = {**own, "agent_steps": saved.step, "version": saved.version}
        if (updates := checkpoint.updates_of(saved)) is not None:
            metrics["updates"] = updates
        self._status.loaded(metrics, f"loaded {path.name}")
        self._files.continue_from(path)
        if saved.rules_hash == spec.rules_hash:
            self._scenes.restore(saved.state)
        if said := self._config.afford():
            self._status.warn(said)

    def replace(self, saved: Checkpoint, name: str) -> None:
        """Replace everything learned so far by a checkpoint; the old state is kept in a file. Raises CheckpointError,
        and changes nothing, if it does not fit or cannot be written.
        """
        shape = self._config.network_of(saved, name)
        self.check(saved, name)
        arrived = self._files.put(saved)
        try:
            with self._config.changing(shape):
                kept = self._set_aside(self._files.free_name(REPLACED))
        except (OSError, ValueError) as error:
            arrived.unlink(missing_ok=True)
            raise CheckpointError(f"cannot load {name!r}: {error}") from error
        if kept:
            self._replaced.append(kept)
        self.forget()
        self.adopt(saved, self._files.take(arrived))
        if ladder.resolve(name):
            name = name.partition(":")[2]
            self._rung = name, saved.version
        where = f"; the previous training is saved in {kept}" if kept else ""
        self._status.set("stopped", f"playing {name}, version {saved.version}{where}")

    def expect(self, saved: Checkpoint, name: str) -> None:
        """Load this under its name once the learner that runs has ended."""
        self._arriving = saved, name

    def take_arriving(self) -> None:
        """Load what came while training ran. If that fails, what was learned stays, and the status says why."""
        if self._arriving is None:
            return
        (saved, name), self._arriving = self._arriving, None
        try:
            self.replace(saved, name)
        except CheckpointError as error:
            self._status.warn(f"{name} was not loaded: {error}")

    def _set_aside(self, name: str) -> Path | None:
        """Keep what was learned, which is being replaced, in a file of that name, with the settings that trained it."""
        newest = self._latest.newest()
        _, values, section = self._config.running()

        def published() -> Checkpoint:
            own = {} if section is None else section.to_json()
            made = self.whole(newest)
            return dataclasses.replace(made, config=values.to_json(), algorithm_settings=own)

        return self._files.set_aside(name, newest, published, self._check_kept)

    def handed_over(self, newest: PolicyVersion) -> dict[str, np.ndarray]:
        """What a file needs besides the policy to play as `newest` does: nothing, unless the policy is more than that.
        Then, before its learner has published anything, what the file to continue from has of it.
        """
        algorithm = self._config.algorithm
        if algorithm.plays_alone:
            return {}
        prefix, weights = f"train.{algorithm.name}.", self._latest.acting_weights()
        if weights is not None:
            return {f"{prefix}acting": weights}
        kept = (f"{prefix}acting", f"{prefix}agent.")
        return {name: row for name, row in self.rest_of(newest).items() if name.startswith(kept)}

    def rest_of(self, newest: PolicyVersion) -> dict[str, np.ndarray]:
        """All that a run continues with beside that policy."""
        return self._files.rest_of(newest, self.updates)

    def job(self, budget: Budget | None) -> dict[str, Any]:
        """What a learner that continues from here needs to know: the run so far, and what it may use up."""
        return {
            "limits": budget.limits(self._status.metrics) if budget else {},
            "resume": self._files.to_resume(),
            "autosave": str(self._files.autosave()),
            "log_dir": str(self._files.log_dir) if self._files.log_dir else None,
            "updates": self.updates,
            "seconds": self._status.metrics.get("seconds", 0.0),
            "scenes": self._scenes.packed(),
        }

    @property
    def updates(self) -> int:
        """Updates made: those of the last report, and the versions that a learner that died has published since."""
        metrics, version = self._status.metrics, self._latest.newest().version
        return int(metrics.get("updates", 0) + max(version - metrics.get("version", version), 0))

    def whole(self, newest: PolicyVersion) -> Checkpoint:
        """The run as it would continue without its learner: that policy, and the rest as its last file has it."""
        return self.checkpoint(newest, self.rest_of(newest) or self.handed_over(newest))

    def share_acting(self) -> None:
        """The run's memory is to hold what acts, where that is more than the policy."""
        played = self._config.algorithm.played
        if played is not None:
            self._latest.share(played.floats(self._spec, self._config.section))

    def shown(self) -> Shown:
        """What a process that plays for the page starts from. Raises RuntimeError for what is missing, MemoryError."""
        algorithm, section = self._config.algorithm, self._config.section
        assert algorithm.played is not None
        algorithm.played.needs()
        self.share_acting()
        block = self._latest.block()
        job = {
            "seed": self._config.values.seed,
            "settings": {} if section is None else section.to_json(),
            "resume": self._files.to_resume(),
            "offset": self._latest.offset,
            **({} if algorithm.own is None else {"network": algorithm.own.to_json()}),
        }
        return Shown(algorithm.played.role, block, job)

    def checkpoint(self, newest: PolicyVersion, state: dict[str, np.ndarray]) -> Checkpoint:
        """The policy and what else a file should have, `state`, as a Checkpoint."""
        return Checkpoint(
            self._spec.name,
            self._spec.rules_hash,
            newest.layers,
            newest.activation,
            newest.weights,
            newest.version,
            newest.step,
            self._config.values.seed,
            self._config.values.to_json(),
            self._status.metrics,
            self._scenes.put_into(state),
            self._spec.environment_json,
            self._config.algorithm.name,
            {} if self._config.section is None else self._config.section.to_json(),
            not self._config.algorithm.plays_alone,
            self._config.network().own,
        )
