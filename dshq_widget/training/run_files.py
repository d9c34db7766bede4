"""Where a run is kept on disk: its autosave, the file to go on from, and what was trained before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dshq_widget.policy import checkpoint
from dshq_widget.training.latest_policy import PolicyVersion

if TYPE_CHECKING:
    from dshq_widget.runtime.scratch import Scratch
    from dshq_widget.training.saved_runs import Run

AUTOSAVE_NAME, LOADED_NAME, REPLACED_NAME = "autosave.dshq", "loaded.dshq", "replaced.dshq"


class RunFiles:
    """Of the drill called `name`: in `log_dir`, else in a folder below `keep_in` that outlives the kernel (runs.py), or
    in a temporary one. `warn` is told where that is not possible. Raises OSError for a `log_dir` that cannot be made.
    """

    def __init__(
        self, name: str, log_dir: str | os.PathLike[str] | None, keep_in: Path | None, warn: Callable[[str], None]
    ) -> None:
        self.log_dir = None if log_dir is None else Path(os.path.abspath(os.path.expanduser(log_dir)))
        if self.log_dir:
            self.log_dir.mkdir(parents=True, exist_ok=True)
        self._name, self._keep_in, self._warn = name, keep_in, warn
        self._folder: Run | Scratch | None = None
        self.resume: str | None = None
        """The file of this run from which the next learner goes on."""
        self.awaited: dict[str, bool] = {}
        """Files that somebody waits for, and whether the learner has written them."""

    def autosave(self) -> Path:
        """The file that a learner writes when it ends; its folder is made when it is first needed."""
        if self.log_dir:
            return self.log_dir / AUTOSAVE_NAME
        if self._folder is None:
            from dshq_widget.runtime.scratch import Scratch
            from dshq_widget.training.saved_runs import Run

            try:
                self._folder = Run(self._keep_in, self._name) if self._keep_in else Scratch()
            except OSError as error:
                self._warn(f"this run will end with its kernel: cannot write to {self._keep_in} ({error.strerror})")
                self._folder = Scratch()
        return self._folder.path / AUTOSAVE_NAME

    def written(self, path: str) -> None:
        """The learner has written a file: one that somebody waits for, or its own autosave."""
        if path in self.awaited:
            self.awaited[path] = True
        elif path == str(self.autosave()):
            self.resume = path

    def to_resume(self) -> str | None:
        """`resume`, where it is still there."""
        return self.resume if self.resume and os.path.exists(self.resume) else None

    def state_of(self, newest: PolicyVersion) -> dict[str, np.ndarray]:
        """The optimiser's state of that policy, where the file to go on from holds the same version; else none."""
        path = self.to_resume()
        saved = checkpoint.load(path) if path else None
        wanted = (newest.version, newest.layers, newest.activation)
        return saved.state if saved and (saved.version, saved.layers, saved.activation) == wanted else {}

    def set_aside(self) -> Path | None:
        """Keep what was trained before another policy came, in a file of its own; None where there is nothing."""
        autosave = self.autosave()
        if self.resume != str(autosave) or not autosave.exists():
            return None
        kept = autosave.with_name(REPLACED_NAME)
        os.replace(autosave, kept)
        return kept

    def put(self, saved: checkpoint.Checkpoint) -> Path:
        """Write what has come from elsewhere, to go on from; raises CheckpointError."""
        return checkpoint.save(self.autosave().with_name(LOADED_NAME), saved)

    def close(self) -> None:
        """Leave the folder to whoever goes on with the run; a temporary one goes."""
        if self._folder is not None:
            self._folder.close()
