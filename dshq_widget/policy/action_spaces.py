"""The meaning of a policy's outputs in an environment: drawing actions, and converting them for the environment.

Discrete, MultiDiscrete and MultiBinary actions are *choices*: a softmax over the options of each. A Box is drawn from
one distribution per number, each of two outputs:

- `gaussian`: mean and log deviation, drawn without bounds, then clipped to -1..1 and stretched over the bounds; where
  a number has none, or they are too far apart, it is taken as it is. What was drawn, not what was clipped, is learned
  from.
- `beta`: alpha and beta, both above 1, on 0..1, stretched over the bounds. Chou, Maturana and Scherer, "Improving
  stochastic policy gradients in continuous control with deep reinforcement learning using the Beta distribution", 2017.

A drawn action is f32 `[N, k]`: the options' indices, or the numbers before they are clipped and stretched.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.finite import MOST_WHOLE

if TYPE_CHECKING:
    from gymnasium import Space

DISTRIBUTIONS = ("gaussian", "beta")
FIRST_LOG_DEVIATION = -0.5
"""Of a Gaussian whose output is 0: a deviation of 0.6 of the way from the middle to a bound (assumed)."""
LOG_DEVIATIONS = (-5.0, 1.0)
"""Bounds of it (assumed)."""
MOST_OUTPUTS = (1 << 16) - 1
"""Of a policy for these actions, all together: with the value 65,536, the widest layer of a policy file. A name, which
may come from a file, can ask for any number (`+DiscretizeAction(bins=4096)`)."""
WIDEST = 1e30
"""Bounds of a number that are further apart count as none: a share of the way between them says nothing, and in float32
the way itself is infinite (assumed)."""
FLOATS = ("float16", "float32", "float64")
EDGE = 1e-6
"""Draws of a beta distribution stay this far from 0 and 1, where its density may be infinite."""


class GymError(ValueError):
    """An environment that cannot be created or trained on. The message says why and how to fix it."""


@dataclasses.dataclass(frozen=True)
class Actions:
    """An environment's actions, as plain data."""

    kind: str
    """choice: one Discrete; choices: several; box."""
    sizes: tuple[int, ...] = ()
    """Options of each choice."""
    start: int = 0
    """The number of a Discrete's first option."""
    shape: tuple[int, ...] = ()
    """Shape of the environment's action; a Discrete takes a plain number."""
    low: tuple[float, ...] = ()
    """Bounds of each number of a box, flat; infinite where there is none."""
    high: tuple[float, ...] = ()
    dtype: str = "float32"
    """Of a box's numbers."""

    @classmethod
    def of(cls, space: Space[Any]) -> Actions:
        """Raises GymError for an unsupported space, and for one of more than `MOST_OUTPUTS` outputs."""
        found = cls._of(space)
        if found.outputs > MOST_OUTPUTS:
            raise GymError(
                f"these actions want a policy of {found.outputs:,} outputs, and one has {MOST_OUTPUTS:,} at most: give "
                "them fewer options (of DiscretizeAction: fewer bins, or multidiscrete=True)"
            )
        return found

    @classmethod
    def _of(cls, space: Space[Any]) -> Actions:
        from gymnasium import spaces

        if isinstance(space, spaces.Discrete):
            return cls("choice", (int(space.n),), int(space.start))
        if isinstance(space, spaces.MultiDiscrete) and not np.any(space.start):
            return cls("choices", tuple(int(n) for n in space.nvec.ravel()), shape=space.nvec.shape)
        if isinstance(space, spaces.MultiBinary):
            return cls("choices", (2,) * int(np.prod(space.shape)), shape=space.shape)
        if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
            low, high = (tuple(float(bound) for bound in bounds.ravel()) for bounds in (space.low, space.high))
            dtype = space.dtype.name if space.dtype.name in FLOATS else FLOATS[-1]
            return cls("box", shape=space.shape, low=low, high=high, dtype=dtype)
        raise GymError(
            f"actions must be Discrete, MultiDiscrete, MultiBinary or a Box of floats, got {space}: wrap the "
            "environment (gymnasium.wrappers.TransformAction)"
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Actions:
        """What `to_json` wrote; raises GymError for anything else."""
        try:
            sizes, shape = (tuple(values[key]) for key in ("sizes", "shape"))
            low, high = (tuple(float(bound) for bound in values[key]) for key in ("low", "high"))
            found = cls(values["kind"], sizes, values["start"], shape, low, high, values.get("dtype", "float32"))
            wrong = found._wrong()
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            wrong = f"{error!r:.60}"
        if wrong:
            raise GymError(f"the description of the actions is damaged: {wrong}")
        return found

    def _wrong(self) -> str:
        """What cannot be true of these actions; "" if nothing."""
        if not all(type(n) is int and 1 <= n <= MOST_OUTPUTS for n in (*self.sizes, *self.shape)):
            return f"sizes and shape must be whole numbers from 1 to {MOST_OUTPUTS}"
        if type(self.start) is not int or abs(self.start) > MOST_WHOLE:
            return "start must be a whole number"
        if self.dtype not in FLOATS:
            return f"dtype must be one of {', '.join(FLOATS)}"
        if self.outputs > MOST_OUTPUTS:
            return f"a policy has {MOST_OUTPUTS} outputs at most"
        several = math.prod(self.shape)
        bounds = len(self.low) == len(self.high) == several and all(map(operator.le, self.low, self.high))
        fits = {
            "choice": len(self.sizes) == 1 and not self.shape,
            "choices": len(self.sizes) == several,
            "box": not self.sizes and bounds,
        }
        return "" if fits.get(self.kind) else "its kind, sizes, shape and bounds do not fit one another"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; infinite bounds as text, and float32 is not said, as in older files."""
        values = dataclasses.asdict(self)
        if self.dtype == "float32":
            del values["dtype"]
        lists = {key: list(values[key]) for key in ("sizes", "shape")}
        return {**values, **lists, **{key: [_written(bound) for bound in values[key]] for key in ("low", "high")}}

    @property
    def outputs(self) -> int:
        """Number of outputs of a policy, besides the value."""
        return sum(self.sizes) if self.sizes else 2 * len(self.low)

    @property
    def bounded(self) -> NDArray[Any]:
        """bool `[k]`: which numbers of a box have both bounds, at most `WIDEST` apart."""
        return np.fromiter((high - low <= WIDEST for low, high in zip(self.low, self.high, strict=True)), bool)

    def bounds(self, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """The smallest and the largest number of a box that this dtype has, `[k]` each."""
        return _bounds(self.low, self.high, np.dtype(dtype))

    def check(self, distribution: str) -> None:
        """Raises GymError if the distribution does not suit these actions."""
        if self.kind == "box" and distribution == "beta" and not self.bounded.all():
            raise GymError("action_distribution=beta needs bounded actions: use gaussian")

    def draw(
        self, outputs: NDArray[Any], distribution: str, rng: np.random.Generator, greedy: bool = False
    ) -> NDArray[Any]:
        """Actions f32 `[N, k]` from outputs f32 `[N, outputs]`; `greedy` takes the likeliest option or the mean."""
        if self.kind != "box":
            noise = np.float32(0) if greedy else rng.gumbel(size=outputs.shape).astype(np.float32)
            cuts = np.cumsum(self.sizes)[:-1]
            return np.stack([part.argmax(-1) for part in np.split(outputs + noise, cuts, -1)], -1).astype(np.float32)
        first, second = np.split(outputs, 2, -1)
        if distribution == "gaussian":
            deviation = np.exp(np.clip(second + FIRST_LOG_DEVIATION, *LOG_DEVIATIONS))
            noise = np.zeros_like(first) if greedy else rng.standard_normal(first.shape, np.float32)
            return (first + deviation * noise).astype(np.float32)
        alpha, beta = 1 + np.logaddexp(0, first), 1 + np.logaddexp(0, second)
        drawn = alpha / (alpha + beta) if greedy else rng.beta(alpha, beta)
        return np.clip(drawn, EDGE, 1 - EDGE).astype(np.float32)

    def allowing(self, mask: NDArray[Any]) -> NDArray[Any]:
        """bool `[N, outputs]` with at least one option for each choice: where a mask allows none, all are."""
        cuts = np.cumsum(self.sizes)[:-1]
        return np.concatenate([part | ~part.any(1, keepdims=True) for part in np.split(mask, cuts, 1)], 1)

    def to_environment(self, drawn: NDArray[Any], distribution: str) -> NDArray[Any]:
        """Convert actions f32 `[N, k]` for N environments."""
        if self.kind == "choice":
            return drawn[:, 0].astype(np.int64) + self.start
        if self.kind == "choices":
            return drawn.astype(np.int64).reshape(len(drawn), *self.shape)
        low, high = (ends.astype(np.float64) for ends in self.bounds(self.dtype))
        drawn = drawn.astype(np.float64)
        share = drawn if distribution == "beta" else (np.clip(drawn, -1, 1) + 1) / 2
        bounded = self.bounded
        lowest = np.where(bounded, low, 0)
        stretched = lowest + share * (np.where(bounded, high, 0) - lowest)
        taken = np.clip(np.where(bounded, stretched, drawn), low, high)  # a sum may be rounded beyond a bound
        return taken.astype(self.dtype).reshape(-1, *self.shape)


@functools.lru_cache(maxsize=64)  # every step of an environment asks
def _bounds(
    lowest: tuple[float, ...], highest: tuple[float, ...], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    ends = np.array([lowest, highest], np.float64)
    most = np.finfo(dtype).max
    low, high = np.clip(ends, -most, most).astype(dtype)
    low = np.where(low < ends[0], np.nextafter(low, most, dtype=dtype), low)
    high = np.where(high > ends[1], np.nextafter(high, -most, dtype=dtype), high)
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _written(bound: float) -> float | str:
    return bound if np.isfinite(bound) else ("inf" if bound > 0 else "-inf")
