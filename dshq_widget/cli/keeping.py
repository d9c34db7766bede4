"""What `dshq train` keeps: the policy in its file, or elsewhere if that fails or the run was interrupted."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.cli import interrupts
from dshq_widget.policy import checkpoint

if TYPE_CHECKING:
    from dshq_widget.training.trainer import Trainer

STOP_SECONDS, MODEL_SECONDS = 0.8, 8.0
"""How long an interrupted learner may take to finish its update and save; and one whose policy is in its files alone,
which is less than the ten seconds that container runtimes leave a program.
"""


def save(trainer: Trainer, target: Path | None) -> tuple[Path | None, str]:
    """Save the newest policy to `target`, or to a temporary file if that fails or is None. Returns where it is, and
    what went wrong as a sentence or "".
    """
    problem, made = "", None
    if target is not None:
        try:
            return trainer.save(target), ""
        except checkpoint.CheckpointError as error:
            problem = str(error)
    try:
        made = tempfile.mkdtemp(prefix=f"dshq-{os.path.basename(trainer.drill.name)}-")
        return trainer.save(Path(made) / "rescued.dshq"), problem
    except (OSError, checkpoint.CheckpointError) as error:
        if made is not None:
            with contextlib.suppress(OSError):
                os.rmdir(made)
        return None, f"{problem or 'the policy could not be kept'}; nor in a temporary file: {error}"


def rescue(trainer: Trainer, target: Path | None, first: int) -> tuple[Path | None, str]:
    """End an interrupted run within about a second and keep what it has learned since agent step `first`, in `target`
    or, if that is None or fails, in a temporary file. Where only its learner can write the policy, it may take longer,
    but not once the signal comes again. Returns where, and a sentence about it.
    """
    interrupts.hold()
    begun = bool(trainer.device)  # the learner reports it when training begins; before, there is nothing to save
    patience = STOP_SECONDS if trainer.plays_alone else MODEL_SECONDS
    before = trainer.latest_policy()
    trainer.stop(seconds=patience if begun else 0.0)
    if not trainer.join(STOP_SECONDS + 0.3):
        if begun and patience > STOP_SECONDS:
            print(f"dshq: saving, for up to {patience:g} s; Ctrl-C again ends it at once", file=sys.stderr, flush=True)
        _join(trainer, patience)
    if trainer.latest_policy().step <= first:
        lost = f"version {before.version} is lost: its learner had written no file"
        return None, lost if before.step > first else "nothing was learned yet, so no file was written"
    if target is not None and trainer.holds(target):
        return target, kept(target)
    where, problem = save(trainer, target)
    return where, "; ".join(filter(None, (problem, kept(where) if where else "")))


def _join(trainer: Trainer, patience: float) -> None:
    """Wait for the end of the learner, which is forced after `patience`, or when the signal comes again."""
    until = time.monotonic() + patience
    while time.monotonic() < until and not trainer.join(0.1):
        if interrupts.again():
            trainer.stop(seconds=0.0)
            trainer.join(STOP_SECONDS)
            return


def kept(path: Path | None) -> str:
    """What became of the policy, as a sentence."""
    return "the policy is lost" if path is None else f"version {_version(path)} is kept in {path}"


def latest(path: Path) -> dict[str, Any]:
    """What a file of the latest policy has, for the verb's answer."""
    return {"version": _version(path), "why": "the latest version"}


def _version(path: Path) -> int:
    found = checkpoint.version_of(path)
    return -1 if found is None else found
