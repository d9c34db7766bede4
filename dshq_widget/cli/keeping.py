"""What `dshq train` keeps: the policy in its file, or elsewhere if that fails or the run was interrupted."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dshq_widget.cli import interrupts
from dshq_widget.policy import checkpoint

if TYPE_CHECKING:
    from dshq_widget.training.trainer import Trainer

STOP_SECONDS = 0.8
"""How long an interrupted learner may take to finish its update and save."""


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
    or, if that is None or fails, in a temporary file. Returns where, and a sentence about it.
    """
    interrupts.hold()
    begun = bool(trainer.device)  # the learner reports it when training begins; before, there is nothing to save
    trainer.stop(seconds=STOP_SECONDS if begun else 0.0)
    trainer.join(STOP_SECONDS + 0.3)
    if trainer.latest_policy().step <= first:
        return None, "nothing was learned yet, so no file was written"
    if target is not None and _version(target) == trainer.version:
        return target, f"version {trainer.version} is kept in {target}"
    where, problem = save(trainer, target)
    kept = f"version {trainer.version} is kept in {where}" if where else ""
    return where, "; ".join(filter(None, (problem, kept)))


def _version(path: Path) -> int:
    try:
        return checkpoint.load(path).version
    except checkpoint.CheckpointError:
        return -1
