"""How many processes a page may ask for: each costs memory, and a page may be anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshq_widget.contract import settings
from dshq_widget.contract.setting import parse_value
from dshq_widget.runtime import budget

LEAST_COPIES = 16
"""Copies of an environment that any page may ask for."""


def affordable(values: Mapping[str, Any], now: Mapping[str, Any], copies: bool) -> dict[str, Any]:
    """A page's settings, as they are. Raises ValueError for more rollout processes than memory is planned for and than
    there are `now`, and for more copies of an environment, where these may have processes of their own (`copies`).
    Whoever writes Python may choose more.
    """
    least = {"workers": 0} | ({"num_envs": LEAST_COPIES} if copies else {})
    for given, value in values.items():
        key = str(given).replace("-", "_")
        if key not in least:
            continue
        most = max(budget.most_workers(budget.memory_limit()), least[key], now[key])
        if parse_value(key, value, settings.FIELDS[key]) > most:
            raise ValueError(f"{key}: a page may ask for {most} at most, got {value!r:.60}; set more in Python")
    return dict(values)
