"""The state of a run (policy, settings, metrics, scenes): saving it to policy files and loading it from them."""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.contract.metrics import of_machine
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gyms.environment import Environment
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.saved.saved_state import with_fresh_moments
from dshq_widget.learning.scenes.arranged import Scenes
from dshq_widget.policy import checkpoint, compatibility, ladder
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.runtime.words import reason_of
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
        self._shape = config.shape()  # of the network that learned the newest policy
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
        self.draw_anew()

    def draw_anew(self) -> None:
        """The policy is an untrained one of the settings of now."""
        self._shape = self._config.shape()
        self._draw()

    def _draw(self) -> None:
        """The policy is an untrained one of the shape that the run has."""
        self._latest.replace(self._config.untrained(self._latest.newest(), self._shape))

    @property
    def fits(self) -> bool:
        """Whether the settings of now go on with the newest policy."""
        return self._shape == self._config.shape() and self._latest.newest().fits(self._config.network())

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
            until = self._files.until
            self._status.warn(f"a new network begins; version {newest.version} is kept in {kept}{until}")

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
        self._config.check_own_shape(saved, path.name)
        self.check(saved, path.name)
        compatibility.check_weights(saved, path.name, network)
        if said := compatibility.other_rules(saved, path.name, spec):
            log.warning("%s", said)
        self._shape = self._config.shape()
        self._latest.replace(_policy_of(saved))
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
        self.forget()
        self.adopt(saved, self._files.take(arrived))
        if ladder.resolve(name):
            name = name.partition(":")[2]
            self._rung = name, saved.version
        self._status.set("stopped", f"playing {name}, version {saved.version}{self._said_of(kept)}")

    def resume(self, saved: Checkpoint, path: Path) -> None:
        """Continue the run of a file that `check_run` has passed, with its settings; what was learned until now is kept
        in another one. Raises CheckpointError, and changes nothing, if it cannot be.
        """
        own = self._files.to_resume()
        is_own = own is not None and os.path.realpath(own) == os.path.realpath(path)
        kept = None
        self._files.expect(path)
        if not (is_own and saved.version == self._latest.newest().version):
            try:
                kept = self._set_aside(self._files.free_name(REPLACED))
            except OSError as error:
                raise CheckpointError(f"cannot continue from {path.name!r}: {reason_of(error)}") from error
        self._config.take(saved, path.name)
        self.forget()
        self.adopt(saved, path)
        self._status.set("stopped", f"at version {saved.version} of the saved run")
        if kept:
            self._status.warn(f"another run is resumed{self._said_of(kept)}")

    def check_run(self, saved: Checkpoint, name: str) -> None:
        """Raises CheckpointError, and changes nothing, unless `resume` can continue the run of a file called `name`."""
        self.check(saved, name)
        self._config.algorithm.check_file(saved, name)
        copy.copy(self._config).take(saved, name)

    def _said_of(self, kept: Path | None) -> str:
        """The end of a sentence about what was learned before."""
        if kept is None:
            return ""
        self._replaced.append(kept)
        return f"; the previous training is saved in {kept}{self._files.until}"

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
        except (CheckpointError, OSError, MemoryError) as error:
            self._status.warn(f"{name} was not loaded: {reason_of(error)}")

    def _set_aside(self, name: str) -> Path | None:
        """Keep what was learned, which is being replaced, in a file of that name, with the settings that trained it."""
        newest = self._latest.newest()
        _, values, section = self._config.running()

        def published() -> Checkpoint | None:
            own = {} if section is None else section.to_json()
            try:
                made = self.whole(newest)
            except CheckpointError as error:
                self._status.warn(f"nothing is kept: {error}")
                return None
            return dataclasses.replace(made, config=values.to_json(), algorithm_settings=own)

        return self._files.set_aside(name, newest, published, self._check_kept)

    def job(self, budget: Budget | None) -> dict[str, Any]:
        """What a learner that continues from here needs to know: the run so far, and what it may use up."""
        return {
            "limits": budget.limits(self._status.metrics) if budget else {},
            "resume": self._files.to_resume(),
            "autosave": str(self._files.autosave()),
            "spare": None if self._config.algorithm.plays_alone else self._files.spare(),
            "temporary": self._files.temporary,
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

    def to_play(self, newest: PolicyVersion) -> Checkpoint:
        """That policy as a file that plays. Where it is more than its network, with what acts; before the learner has
        published any, that is the policy of the run's file. Raises CheckpointError if there is neither.
        """
        algorithm = self._config.algorithm
        if algorithm.plays_alone:
            return self.checkpoint(newest, {})
        if (acting := self._latest.acting()) is not None:
            return self.checkpoint(newest, {self._acting_name: acting[1]})
        saved = self._held(newest)
        if saved is None:
            return self._untrained(newest)
        kept = (self._acting_name, self._agent_names)
        return self._of(saved, {name: row for name, row in saved.state.items() if name.startswith(kept)})

    def whole(self, newest: PolicyVersion) -> Checkpoint:
        """The run as it would continue without its learner: that policy, and the rest as the run's file has it. Where
        the policy is more than its network, what acts is known of that version, or the run is as that file has it, also
        its version. Raises CheckpointError if there is neither.
        """
        saved = self._held(newest)
        if self._config.algorithm.plays_alone:
            return self.checkpoint(newest, self._rest_of(saved, newest))
        return self._left(newest, saved)

    def _held(self, newest: PolicyVersion) -> Checkpoint | None:
        """What the run's file holds. Where the policy is more than its network, it was published before it was saved: a
        newer one is another run's. A page's policies may come later than its file.
        """
        saved = self._files.held(newest)
        newer = saved is not None and saved.version > newest.version
        return None if newer and not self._config.algorithm.plays_alone else saved

    def _rest_of(self, saved: Checkpoint | None, newest: PolicyVersion) -> dict[str, np.ndarray]:
        """What the run's file has beside that policy. Where the policy is newer, since its learner was ended by force,
        it is what the next learner continues with: all but the optimiser's moments, and the updates made.
        """
        if saved is None:
            return {}
        if saved.version == newest.version:
            return saved.state
        state = with_fresh_moments(saved.state)
        if "train.updates" in state:
            state["train.updates"] = np.array(max(self.updates, int(state["train.updates"])), np.int64)
        return state

    def _left(self, newest: PolicyVersion, saved: Checkpoint | None) -> Checkpoint:
        """`whole`, where the policy is more than its network, and `saved` is the run's file."""
        acting = self._latest.acting()
        if acting is not None and acting[0] == newest.version and (saved is None or saved.version != acting[0]):
            rest = {key: row for key, row in self._rest_of(saved, newest).items() if key != self._acting_name}
            return self.checkpoint(newest, self._with_room(rest, acting[1], newest))
        if saved is not None:
            return self._of(saved, saved.state)
        return self._untrained(newest)

    def _with_room(
        self, rest: dict[str, np.ndarray], acting: np.ndarray, newest: PolicyVersion
    ) -> dict[str, np.ndarray]:
        """What acts, and what a file has room for beside it: all the rest, or that of the learner without its games, or
        nothing.
        """
        agent = {name: row for name, row in rest.items() if name.startswith(self._agent_names)}
        room = checkpoint.MOST_TENSOR_BYTES - acting.nbytes - newest.weights.nbytes
        ways: tuple[tuple[str, dict[str, np.ndarray]], ...]
        ways = ("", rest), ("its games and its replay", agent), ("all but what plays", {})
        without, kept = next(way for way in ways if sum(row.nbytes for row in way[1].values()) <= room or not way[1])
        if without:
            most = checkpoint.MOST_TENSOR_BYTES >> 20
            self._status.warn(f"version {newest.version} is kept without {without}: a policy file holds {most} MB")
        return {**kept, self._acting_name: acting}

    def _untrained(self, newest: PolicyVersion) -> Checkpoint:
        """A policy of which there is no more than its network. Raises CheckpointError if it was trained."""
        if newest.trained:
            why = f"there is no file of {self._config.algorithm.name}'s learner"
            if taken := self._files.taken:
                why = f"{taken} is another run's by now"
            raise CheckpointError(f"of version {newest.version} there is no more than a stand-in, since {why}")
        return self.checkpoint(newest, {})

    def take_back(self) -> None:
        """The learner has ended, maybe by force: `put_down`, or a sentence where that is not possible."""
        try:
            self.put_down()
        except OSError as error:
            self._status.warn(f"{error}")
        except Exception as error:  # of no memory for the file, say: the run ends all the same
            log.exception("what the learner of %s has left is not in a file", self._spec.name)
            version = self._latest.newest().version
            self._status.warn(f"version {version} may be in this process alone: {reason_of(error)}")

    def put_down(self) -> None:
        """The newest policy is in the run's file, where it is more than its network; else the run is what is left of
        it, so that its version is one that is there, and a sentence says so. Where the policy is its network, what
        another run's file took the place of is written again. Raises OSError where what is left cannot be written, or
        read: the next learner would replace it.
        """
        newest = self._latest.newest()
        alone, path = self._config.algorithm.plays_alone, self._files.to_resume()
        if not newest.trained or (path and (alone or checkpoint.version_of(path) == newest.version)):
            return
        saved = self._held(newest)
        if alone:
            if saved is not None:
                self._write(self.checkpoint(newest, self._rest_of(saved, newest)))
            return
        if saved is None:
            self._files.check_readable()
        try:
            left = self._left(newest, saved)
        except CheckpointError as error:
            self._files.continue_from(None)
            self._draw()  # the next learner may take the place of one that died, with its settings
            self._status.forget()
            self._status.warn(f"training is back at its beginning: {error}")
            return
        if left.version == newest.version or path is None:
            self._write(left)
        if left.version == newest.version:
            return
        self._latest.replace(_policy_of(left))
        self._status.go_back(left.step, left.metrics)
        self._status.warn(
            f"training is back at version {left.version}: its learner ended before it had saved version "
            f"{newest.version}"
        )

    def _write(self, left: Checkpoint) -> None:
        """Write the run's own file, or the spare one, as its learner would."""
        try:
            path = str(self._files.autosave())
            try:
                checkpoint.save(path, left)
            except CheckpointError:
                spare = self._files.spare()
                if spare is None:
                    raise
                path = spare
                checkpoint.save(path, left)
        except (OSError, CheckpointError) as error:
            raise OSError(f"version {left.version} is in this process alone: {reason_of(error)}") from error
        self._files.written(path)

    @property
    def _acting_name(self) -> str:
        """The name in files of what acts."""
        return f"train.{self._config.algorithm.name}.acting"

    @property
    def _agent_names(self) -> str:
        """How the names in files begin of what learns."""
        return f"train.{self._config.algorithm.name}.agent."

    def _of(self, saved: Checkpoint, state: dict[str, np.ndarray]) -> Checkpoint:
        """The policy of the run's file, with this of its state, and the settings of now."""
        return dataclasses.replace(self.checkpoint(_policy_of(saved), state), metrics=saved.metrics)

    def share_acting(self) -> None:
        """The run's memory is to hold what acts, where that is more than the policy."""
        played = self._config.algorithm.played
        if played is not None:
            self._latest.share(played.floats(self._spec, self._config.shaped(self._shape)[1]))

    def shown(self) -> Shown:
        """What a process that plays for the page starts from. Raises RuntimeError for what is missing, MemoryError."""
        algorithm, (values, section) = self._config.algorithm, self._config.shaped(self._shape)
        assert algorithm.played is not None
        algorithm.played.needs()
        self.share_acting()
        block = self._latest.block()
        job = {
            "seed": values.seed,
            "settings": {} if section is None else section.to_json(),
            "resume": self._files.to_resume(),
            "offset": self._latest.offset,
            **({} if algorithm.own is None else {"network": algorithm.own.to_json()}),
        }
        return Shown(algorithm.played.role, block, job)

    def checkpoint(self, newest: PolicyVersion, state: dict[str, np.ndarray]) -> Checkpoint:
        """The policy and what else a file should have, `state`, as a Checkpoint; its settings are those of now, but
        where they need another network at the next start.
        """
        values, section = self._config.shaped(self._shape)
        metrics = dict(self._status.metrics)
        if newest.trained:  # of a learner that was ended by force they are older
            updates = {"updates": self.updates} if "updates" in metrics else {}
            metrics |= {"agent_steps": newest.step, "version": newest.version, **updates}
        return Checkpoint(
            self._spec.name,
            self._spec.rules_hash,
            newest.layers,
            newest.activation,
            newest.weights,
            newest.version,
            newest.step,
            values.seed,
            values.to_json(),
            metrics,
            self._scenes.put_into(state),
            self._spec.environment_json,
            self._config.algorithm.name,
            {} if section is None else section.to_json(),
            not self._config.algorithm.plays_alone,
            self._config.network().own,
        )


def _policy_of(saved: Checkpoint) -> PolicyVersion:
    """The policy in a file."""
    return PolicyVersion(saved.version, saved.step, saved.layers, saved.activation, saved.weights)
