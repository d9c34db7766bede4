"""The policy of a run as it is shown: the newest weights that its learner published, else those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.saved import dreamer_of
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract import sections
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots


class ShownPolicy:
    """`dreamer` plays as `version`; `renew` takes over what has been published since. `job`: training/shown.py. Raises
    CheckpointError for a file without a world model, or of another size.
    """

    def __init__(self, job: Mapping[str, Any], block: SharedBlock, n_actions: int) -> None:
        self._slots, self._count = WeightSlots.attach(block, offset=job["offset"]), 0
        saved = checkpoint.load(job["resume"]) if job["resume"] else None
        if saved is not None:
            self.dreamer, self.version = dreamer_of(saved, n_actions), saved.version
        else:
            settings = sections.read(DreamerSettings, "dreamer", job["settings"])
            self.dreamer, self.version = Dreamer(settings, n_actions, job["seed"]), 0
        self.renew()

    def renew(self) -> None:
        """Play the newest version from now on. Never waits."""
        found = self._slots.read(self._count)
        if found is not None:
            self._count, self.version, weights = found
            self.dreamer.act_with(torch.from_numpy(weights))
