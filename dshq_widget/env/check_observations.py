"""The check of a drill's observations: finite, within scale and range, and none that tells nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dshq_kernels.language.ir import Const, Expr, For, If, Out, Stmt
from dshq_kernels.network.layers import parse
from dshq_widget.env.check_subject import Broken, Impossible, Subject

BOUND = 2.0
"""Largest allowed observation: `scale` is the value that reads 1; observations should stay below about twice that."""


def observations(it: Subject) -> str:
    """Every observation is finite, within its scale and range, and changes or is a flag that is rarely on or off."""
    state = it.game.new(8, seed=1, practice=True)
    most = np.zeros(it.spec.n_obs)
    lowest, highest = np.full(it.spec.n_obs, np.inf), np.full(it.spec.n_obs, -np.inf)
    for _ in it.moments(state, 500):
        seen = it.game.observe(state)
        lowest = np.minimum(lowest, seen.min(axis=(0, 1, 3)))
        highest = np.maximum(highest, seen.max(axis=(0, 1, 3)))
        most = np.maximum(most, abs(seen).max(axis=(0, 1, 3)))
    front, _ = parse((it.spec.n_obs, *it.spec.front, it.spec.n_actions + 1))
    alike = (
        front.inputs if front else 0
    )  # planes of a grid and pairs have one number per cell or pair, some of them constant
    low, high = it.spec.observation_range or (-np.inf, np.inf)
    rare: list[str] = []
    for k, row in enumerate(it.spec.observations):
        if not np.isfinite(most[k]):
            raise Broken(f"observation {row.name!r} is not a number", "avoid division by zero: max(divisor, 1e-6)")
        if most[k] > BOUND:
            raise Broken(
                f"observation {row.name!r} reached {most[k]:.3g}",
                f"divide by a larger scale, or write clamp(value, -{BOUND}, {BOUND})",
            )
        if lowest[k] < low or highest[k] > high:
            raise Broken(
                f"observation {row.name!r} was {lowest[k]:.3g} to {highest[k]:.3g}, outside observation_range",
                f"declare a wider range, or write clamp(value, {low:g}, {high:g})",
            )
        if lowest[k] == highest[k] and k >= alike:
            if lowest[k] in (0, 1) and _is_computed(it, k):
                rare.append(row.name)
                continue
            raise Broken(
                f"observation {row.name!r} is always {lowest[k]:.3g}",
                f"write o[{k}, i] = ... in `observe`, or remove it: a constant tells the policy nothing",
            )
    changing = "all of them changing"
    if rare:
        more = f" and {len(rare) - 3} more" if len(rare) > 3 else ""
        changing = (
            f"all changing but {', '.join(map(repr, rare[:3]))}{more}: computed, but the same in all of random play"
        )
    return f"{len(most)} observations within {-most.max():.2f} to {most.max():.2f}, {changing}"


def _is_computed(it: Subject, k: int) -> bool:
    """Whether the rules write observation k from something other than a plain number, as they do a one-hot flag."""
    if it.drill.program is None:
        raise Impossible("the rules came here translated: check the drill's class")
    return any(
        not isinstance(value, Const) and (not isinstance(index, Const) or index.value == k)
        for verb, block in it.drill.program.verbs.items()
        if verb.startswith("observe:")
        for index, value in _written(block)
    )


def _written(statements: Sequence[Stmt]) -> Iterator[tuple[Expr, Expr]]:
    """(index, value) of every observation that statements write."""
    for statement in statements:
        if isinstance(statement, Out):
            yield statement.index, statement.value
        elif isinstance(statement, If):
            yield from _written((*statement.body, *statement.orelse))
        elif isinstance(statement, For):
            yield from _written(statement.body)
