"""A trainer's run in files: saving, loading, and continuing with another one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.callbacks import Callbacks
from dshq_widget.training.league_policy import of_league
from dshq_widget.training.run.control import STOP_SECONDS


class Keeping(Callbacks):
    """What a person saves and loads."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy to a `.dshq` file and return its absolute path; raises CheckpointError.

        While training, the learner writes it between two updates, with everything needed to continue exactly. While
        training stops, this waits for its end, which leaves the same. Of a learner that was ended by force, or does not
        write it within 10 s, the file has the newest weights, and the rest as it was saved last; of a policy that is
        more than its network it may be the version that was saved last, and a warning says so.
        """
        target = atomic.absolute(path)
        run, control = self._run, self._run.control
        with run.changed:
            run.changed.wait_for(lambda: self.status != "stopping", control.patience)
            learner = control.processes if self.status == "training" else None

            def ask(beside: str) -> None:
                control.send({"type": "SAVE", "path": beside})

            def wait(written: Callable[[], bool]) -> None:
                run.changed.wait_for(lambda: written() or control.processes is not learner, STOP_SECONDS)

            try:
                if learner is not None and run.files.by_learner(target, ask, wait):
                    return target
            except OSError as error:
                why = error.strerror or error
                raise checkpoint.CheckpointError(f"cannot save {str(target)!r}: {why}") from error
        newest = self.latest_policy()
        try:
            whole = run.state.whole(newest)
        except checkpoint.CheckpointError as error:
            raise checkpoint.CheckpointError(f"cannot save {str(target)!r}: {error}") from None
        saved = checkpoint.save(target, whole)
        run.files.saved(saved)
        if whole.version != newest.version:
            late = f"the learner did not write version {newest.version} within {STOP_SECONDS:g} s"
            gone = f"of version {newest.version} there is no more than a stand-in"
            self._warned(f"{target} has version {whole.version}: {gone if learner is None else late}")
        return saved

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether that file is this run's own and has its newest policy."""
        with self._run.lock:
            own = self._run.files.to_resume()
            if own is None or os.path.realpath(own) != os.path.realpath(path):
                return False
            return checkpoint.version_of(own) == self.latest_policy().version

    def autosave(self) -> None:
        """Ask a training learner to write the autosave soon. Returns at once."""
        with self._run.lock:
            if self.status == "training":
                self._run.control.send({"type": "SAVE", "path": str(self._run.files.autosave())})

    def policy_file(self) -> bytes:
        """The newest policy without the optimiser's state, as the bytes of a `.dshq` file. Waits for nothing but its
        weights, if it is untrained. Raises CheckpointError where it is more than its network, and that is in no file.
        """
        while True:
            self.latest_policy().draw()
            with self._run.lock:
                if self._run.latest.newest().drawn:  # it may be another one by now
                    return checkpoint.encode(self._run.newest())

    def run_file(self) -> bytes:
        """The run as the bytes of a `.dshq` file, with optimiser and league. A learner writes it between two updates;
        one that does not within 10 s leaves them out. Where the policy is more than its network it is the policy alone:
        a replay ring is large.
        """
        if not self._run.algorithm.plays_alone:
            return self.policy_file()
        from dshq_widget.runtime.scratch import Scratch

        with contextlib.closing(Scratch()) as folder:  # which goes, also where this kernel is killed meanwhile
            return self.save(folder.path / "run.dshq").read_bytes()

    def league_policy(self, version: int | None = None) -> checkpoint.Checkpoint:
        """The policy of a version of the run's league; of None the champion's. A learner that trains writes its league
        first. Raises CheckpointError if there is none.
        """
        return of_league(with_rules(self.drill), checkpoint.decode(self.run_file()), version)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load the policy of a `.dshq` file, or bronze, silver or gold of the drill's ladder; the next start continues
        from it. Raises CheckpointError and changes nothing if it does not fit or the drill has no ladder.
        """
        name = os.fspath(ladder.full_name(self.drill.name, path))
        self.load_checkpoint(checkpoint.load(name), os.path.basename(name))

    def restore_history(self, rows: Iterable[Mapping[str, float]]) -> None:
        """Put back the curves of a policy that was just loaded, oldest first. Ignored once training continues."""
        with self._run.lock:
            self._run.status.put_back(rows)

    def load_checkpoint(self, saved: checkpoint.Checkpoint, name: str) -> None:
        """Load the policy of a checkpoint called `name`; the next start continues from it. Returns at once.

        Of its settings only the network's shape is used. Running training is stopped and saved first; its policy is
        kept next to the autosave. Raises CheckpointError and changes nothing if it does not fit.
        """
        run = self._run
        with run.change():
            run.config.network_of(saved, name)
            run.state.check(saved, name)
            run.algorithm.check_file(saved, name)
            run.claim()
            if run.control.processes is None:
                run.state.replace(saved, name)
            else:
                run.state.expect(saved, name)
                run.stop()
                run.status.say(f"finishing this update and saving; then loading {name}")

    def resume_from(self, path: str | os.PathLike[str]) -> None:
        """Load the run saved in a `.dshq` file with its settings, like `resume=`; the next start continues from it.
        An algorithm's own settings come from a file of that algorithm. What was learned until now is kept beside the
        autosave, and a warning says where. Raises CheckpointError, ClaimError while another run writes there, or
        RuntimeError while training runs; then nothing changes.
        """
        run = self._run
        with run.change():
            if run.control.processes is not None:
                raise RuntimeError("training is running: call stop() first, then load the other run")
            saved = checkpoint.load(path)
            run.state.check_run(saved, os.path.basename(os.fspath(path)))
            run.claim()
            run.state.resume(saved, atomic.absolute(path))
