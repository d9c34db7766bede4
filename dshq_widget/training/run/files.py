"""The files of a run: its autosave, the file to continue from, and the policy it replaced."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.files import atomic, claims
from dshq_widget.policy import checkpoint
from dshq_widget.system import paths
from dshq_widget.training.latest_policy import PolicyVersion

if TYPE_CHECKING:
    from dshq_widget.runtime.scratch import Scratch
    from dshq_widget.training.saved_runs import Run

AUTOSAVE_NAME, LOADED_NAME, REPLACED = "autosave.dshq", "loaded.dshq", "replaced"
ARRIVED_NAME, SPARE_NAME = "arrived.dshq", "spare.dshq"
MOST_LEFT_BYTES = 32 << 20
"""Of what a closed trainer keeps in memory of its file (assumed): a cell that runs again closes one each time."""


class RunFiles:
    """Files of a run of the drill called `name`. Its autosave is in `log_dir`, else the file `autosave`, else in a
    folder in `keep_in` that outlives the kernel (saved_runs.py), or in a temporary one. `warn` is called if `keep_in`
    cannot be written. Raises OSError for a `log_dir` that cannot be created.
    """

    def __init__(
        self,
        name: str,
        log_dir: str | os.PathLike[str] | None,
        keep_in: Path | None,
        warn: Callable[[str], None],
        autosave: str | os.PathLike[str] | None = None,
    ) -> None:
        self.log_dir = None if log_dir is None else atomic.absolute(log_dir)
        if self.log_dir:
            self.log_dir.mkdir(parents=True, exist_ok=True)
        self._name, self._keep_in, self._warn = name, keep_in, warn
        self._folder: Run | Scratch | None = None
        self._beside: Scratch | None = None  # the folder of the spare file
        self._left: checkpoint.Checkpoint | None = None  # what the file had when it went, or became another run's
        self._autosave = None if autosave is None or self.log_dir else atomic.absolute(autosave)
        self.resume: str | None = None
        """The file of this run that the next learner continues from."""
        self._gone: str | None = None  # the file that it was to be, and that was another run's at the claim
        self._coming: str | None = None  # a file that takes the place of that one soon
        self._seen: tuple[Any, ...] | None = None  # as that file was when another run could write it
        self._awaited: dict[str, bool] = {}  # files that somebody waits for, and whether the learner has written them
        self._late: set[str] = set()
        self._claim: claims.Claim | None = None

    def claim(
        self, idle: Callable[[], bool], lock: contextlib.AbstractContextManager[Any], leave: Callable[[], None]
    ) -> None:
        """Before anything is written: the folder or file that was chosen is this run's alone from now on, until
        another one of this process takes it over, under `lock`, while this one is `idle`; then `leave` is called.
        Raises ClaimError.
        """
        place = self._autosave if self.log_dir is None else self.log_dir / AUTOSAVE_NAME
        if place is None or (self._claim is not None and self._claim.held):
            return
        try:
            self._claim = claims.Claim(place, idle, lock, leave)
        except OSError:  # whoever writes there hears why that is not possible
            return
        if self.resume and not self._is_as_seen(self.resume):
            self.resume, self._gone = None, self.resume

    def leave(self, newest: PolicyVersion, needed: bool) -> None:
        """Another run may write where this one's file is. What that has beside the newest policy can still be saved,
        where it is little, or `needed` to play.
        """
        path = self.to_resume()
        self._seen = None if path is None else _seen(path)
        saved = self.held(newest) if path and (needed or os.path.getsize(path) <= MOST_LEFT_BYTES) else None
        if saved and (needed or sum(row.nbytes for row in saved.state.values()) <= MOST_LEFT_BYTES):
            self._left = saved

    def autosave(self) -> Path:
        """The file that a learner writes when it ends; its folder is created when first needed."""
        if self.log_dir:
            return self.log_dir / AUTOSAVE_NAME
        if self._autosave:
            return self._autosave
        if self._folder is None or not self._folder.path.is_dir():  # somebody cleans the temporary folder, say
            from dshq_widget.runtime.scratch import Scratch
            from dshq_widget.training.saved_runs import Run

            try:
                self._folder = Run(self._keep_in, self._name, self.resume, self._coming) if self._keep_in else Scratch()
            except OSError as error:
                self._warn(
                    f"this run will be lost when the kernel ends: cannot write to {self._keep_in} ({error.strerror})"
                )
                self._folder = Scratch()
        return self._folder.path / AUTOSAVE_NAME

    @property
    def stays(self) -> bool:
        """Whether its files are still there once it is closed."""
        from dshq_widget.runtime.scratch import Scratch

        return not isinstance(self._folder, Scratch)

    @property
    def until(self) -> str:
        """How long files beside the autosave stay, as the end of a sentence: "" for as long as nobody removes them."""
        return "" if self.stays else " until this trainer is closed"

    @property
    def temporary(self) -> str | None:
        """What a learner may write in a temporary folder, which somebody may have cleaned by then; None for nothing."""
        from dshq_widget.runtime.scratch import Scratch

        if isinstance(self._folder, Scratch):
            return str(self._folder.path / AUTOSAVE_NAME)
        return None if self._beside is None else str(self._beside.path / SPARE_NAME)

    def spare(self) -> str | None:
        """A file for what a learner cannot write into its autosave, in a temporary folder; None if the autosave is in
        one, or none can be made.
        """
        from dshq_widget.runtime.scratch import Scratch

        self.autosave()
        if isinstance(self._folder, Scratch):
            return None
        if self._beside is None or not self._beside.path.is_dir():
            try:
                self._beside = Scratch()
            except OSError:
                return None
        return str(self._beside.path / SPARE_NAME)

    def written(self, path: str) -> None:
        """The learner has written a file: an awaited one, its autosave, or the spare one."""
        if path in self._awaited:
            self._awaited[path] = True
        elif path == str(self.autosave()) or self._is_spare(path):
            self.resume, self._left, self._seen, self._gone = path, None, _seen(path), None

    def saved(self, target: Path) -> None:
        """This run was written there: if that is the file to continue from, it still is."""
        if self.resume is not None and os.path.realpath(self.resume) == os.path.realpath(target):
            self._seen = _seen(target)

    def _is_spare(self, path: str | None) -> bool:
        return self._beside is not None and path == str(self._beside.path / SPARE_NAME)

    def by_learner(
        self, target: Path, ask: Callable[[str], None], wait: Callable[[Callable[[], bool]], object]
    ) -> bool:
        """Have the learner write `target`; whether it did. `ask` tells it the file beside `target` that it is to write,
        and `wait` waits until what it is given is true, or for as long as anybody would. Raises OSError where there is
        no place for a file.
        """
        beside = str(atomic.reserve(target))
        self._awaited[beside] = False
        try:
            ask(beside)
            wait(lambda: self._awaited[beside])
        finally:
            arrived = self._take_saved(beside, target)
        if arrived:
            self.saved(target)
        return arrived

    def _take_saved(self, beside: str, target: Path) -> bool:
        """Wait no more for the file beside `target`. Whether it is `target` now; else it is gone, also if it comes."""
        if self._awaited.pop(beside):
            try:
                paths.replace(beside, target)
            except OSError:
                pass
            else:
                paths.sync_folder(target.parent)
                return True
        else:
            self._late.add(beside)
        self._remove(beside)
        return False

    def came_late(self, path: str) -> bool:
        """Whether the learner has written a file that nobody waits for any more; then it is removed."""
        if path not in self._late:
            return False
        self._late.discard(path)
        self._remove(path)
        return True

    @staticmethod
    def _remove(path: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(path)

    def expect(self, path: Path) -> None:
        """The next learner is to continue from this file, if what there is now can be kept."""
        self._coming = str(path)

    def continue_from(self, path: Path | None) -> None:
        """The next learner continues from this file; None: from no file."""
        self.resume, self._left, self._gone = None if path is None else str(path.resolve()), None, None
        self._seen = None if path is None else _seen(path)

    def to_resume(self) -> str | None:
        """`resume`, if the file still exists, and is no other run's by now."""
        if self.resume is None or not os.path.exists(self.resume):
            return None
        return self.resume if self._is_mine(self.resume) or self._is_as_seen(self.resume) else None

    @property
    def taken(self) -> str | None:
        """The file that was to be continued from, if it is another run's by now."""
        if self.resume is not None and os.path.exists(self.resume) and self.to_resume() is None:
            return self.resume
        return self._gone

    def _is_mine(self, path: str) -> bool:
        """Whether nobody but this run writes that file."""
        place = self.log_dir / AUTOSAVE_NAME if self.log_dir else self._autosave
        if place is not None:
            mine = [place, _beside(place, LOADED_NAME)] if self._claim is not None and self._claim.held else []
        else:
            mine = [] if self._folder is None else [self._folder.path / name for name in (AUTOSAVE_NAME, LOADED_NAME)]
        return self._is_spare(path) or os.path.realpath(path) in map(os.path.realpath, mine)

    def _is_as_seen(self, path: str) -> bool:
        """Whether a file is as it was seen last, if only in what it has: somebody may have copied it."""
        if self._seen is None or (now := _stat(path)) is None:
            return False
        *then, digest = self._seen
        return [*now] == then or (digest != "" and checkpoint.digest_of(path) == digest)

    def held(self, newest: PolicyVersion) -> checkpoint.Checkpoint | None:
        """What the file to continue from holds, if it can be read and is of that policy's network."""
        path = self.to_resume()
        try:
            saved = checkpoint.load(path) if path else self._left
        except checkpoint.CheckpointError:
            return None
        return saved if saved and (saved.layers, saved.activation) == (newest.layers, newest.activation) else None

    def check_readable(self) -> None:
        """Raises OSError if the file to continue from is there and cannot be read."""
        try:
            if (path := self.to_resume()) is not None:
                checkpoint.load(path)
        except checkpoint.CheckpointError as error:
            raise OSError(f"the run's file cannot be read: {error}") from error

    def free_name(self, stem: str) -> str:
        """A name for a file beside the autosave that nothing there has: two networks may have learned as long."""
        folder = self.autosave().parent
        names = (f"{stem}{f'-{k}' if k > 1 else ''}.dshq" for k in itertools.count(1))
        return next(name for name in names if not os.path.lexists(folder / name))

    def set_aside(
        self,
        name: str,
        newest: PolicyVersion,
        published: Callable[[], checkpoint.Checkpoint | None],
        check_room: Callable[[], None],
    ) -> Path | None:
        """Keep the newest policy, which is being replaced, in a file of that name: its autosave, or what `published`
        makes of it where that is older. None if nothing was learned, or nothing since a file was loaded, or nothing of
        it is left. Raises OSError or CheckpointError, and what `check_room` raises, which is called before anything is
        kept.
        """
        autosave = self.autosave()
        kept = autosave.with_name(name)
        saved, path = self.held(newest), self.to_resume()
        if path and saved is not None and saved.version == newest.version and not self._is_spare(path):
            if os.path.realpath(path) != os.path.realpath(autosave):
                return None
            check_room()
            paths.replace(autosave, kept)
        elif newest.trained and (made := published()) is not None:
            check_room()
            checkpoint.save(kept, made)
        else:
            return None
        return kept

    def put(self, saved: checkpoint.Checkpoint) -> Path:
        """Write a loaded checkpoint beside the autosave, under a name of its own; raises CheckpointError. `take` makes
        it the file to continue from.
        """
        try:
            return checkpoint.save(_beside(self.autosave(), ARRIVED_NAME), saved)
        except OSError as error:  # there is no folder
            raise checkpoint.CheckpointError(f"cannot keep the loaded policy: {error}") from error

    def take(self, arrived: Path) -> Path:
        """The same file under the name of what was loaded, in the place of what was loaded before."""
        try:
            return arrived.replace(_beside(self.autosave(), LOADED_NAME))
        except OSError:  # it continues from there as well
            return arrived

    def close(self, newest: PolicyVersion, needed: bool) -> None:
        """Release the folder: a kept one stays for a later kernel, a temporary one is removed, of which `leave` says
        what can still be saved.
        """
        from dshq_widget.training.saved_runs import Run

        folders = [folder for folder in (self._folder, self._beside) if folder is not None]
        gone = [folder for folder in folders if not (isinstance(folder, Run) and folder.stays)]
        going = [os.path.realpath(folder.path) for folder in gone]
        path = self.to_resume()
        if path and os.path.realpath(os.path.dirname(path)) in going:
            self.leave(newest, needed)
        elif path:
            self._seen = _seen(path)
        if self._claim is not None:
            self._claim.close()
        for folder in folders:
            folder.close()


def _beside(autosave: Path, name: str) -> Path:
    """A file of that name beside the autosave, for this run alone: in its folder may be other runs' autosaves."""
    return autosave.with_name(name if autosave.name == AUTOSAVE_NAME else f"{autosave.stem}-{name}")


def _seen(path: str | os.PathLike[str]) -> tuple[Any, ...] | None:
    """`_stat` and the digest of what the file has; None if there is none."""
    found = _stat(path)
    return None if found is None else (*found, checkpoint.digest_of(path))


def _stat(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """What another file in the place of this one, or later writing, would change; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
