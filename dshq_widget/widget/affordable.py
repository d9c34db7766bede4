"""What a page may ask for: processes and memory cost, and a page may be anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_widget.gyms.environment import Environment
from dshq_widget.runtime import budget
from dshq_widget.training.room import check_room, needed
from dshq_widget.training.trainer import Trainer

LEAST_COPIES = 16
"""Copies of an environment that any page may ask for."""
SHARE = 1 / 2
"""Of the memory that is free (assumed: the rest is for the notebook, and for others)."""


def affordable(values: Mapping[str, Any], trainer: Trainer) -> dict[str, Any]:
    """A page's settings, as they are. Raises ValueError for more rollout processes than memory is planned for and than
    there are now, for more copies of an environment, which may have processes of their own, and for more memory than
    now, if that is more than half of what is free. Whoever writes Python may choose more.
    """
    now, then = trainer.run_config({}), trainer.run_config(values)
    least = {"workers": 0} | ({"num_envs": LEAST_COPIES} if isinstance(trainer.drill, Environment) else {})
    for key, few in least.items():
        most = max(budget.most_workers(budget.memory_limit()), few, getattr(now.values, key))
        if (asked := getattr(then.values, key)) > most:
            raise ValueError(f"{key}: a page may ask for {most} at most, got {asked!r:.60}; set more in Python")
    spec = trainer.drill.spec
    if needed(then.algorithm, spec, then.values, then.section) > needed(now.algorithm, spec, now.values, now.section):
        try:
            check_room(then.algorithm, spec, then.values, then.section, SHARE)
        except MemoryError as error:
            raise ValueError(str(error)) from None
    return dict(values)
