"""Whether somebody's log-densities and slopes are those of a Gaussian and of a stretched beta distribution."""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import Judges, first_wrong, hint, same, unlike

DONE = "It is right for actions, means and bounds that were made for this check."

U = np.array([-1.3, 0.2, 0.9, 2.0])
MEAN = np.array([-0.5, 0.4, 0.4, 1.1])
INSIDE = np.array([-0.8, 0.1, 0.75])
ROOT = 0.5 * np.log(2 * np.pi)


def log_of_beta(x: NDArray[Any], alpha: float, beta: float) -> NDArray[Any]:
    """The logarithm of the density between 0 and 1."""
    constant = lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta)
    return np.asarray((alpha - 1) * np.log(x) + (beta - 1) * np.log(1 - x) - constant)


def missing(**given: Any) -> list[str]:
    """What the answers to the three exercises lack, as far as they are given."""
    slopes = (_slopes, "`return of_mean, of_deviation`")
    judges: Judges = {"log_density": _log_density, "slopes": slopes, "beta_log_density": _beta}
    return first_wrong(
        given, judges, "Give what you wrote by its name: `check('continuous', log_density=log_density)`."
    )


def _log_density(log_density: Callable[..., Any]) -> list[str]:
    for mean, deviation in ((MEAN, 0.6), (MEAN, 1.7), (0.3, 0.25)):
        answer = log_density(U.copy(), mean, deviation)
        if found := unlike(answer, U.shape, "log_density"):
            return found
        z = (U - mean) / deviation
        slips = {
            "Divide by the deviation before you square.": -0.5 * (U - mean) ** 2 - np.log(deviation) - ROOT,
            "Only the square is there. Take the logarithm of the deviation and of the root of 2 pi off.": -0.5 * z**2,
            "The distance should be divided by the deviation, and two terms are missing.": -0.5 * (U - mean) ** 2,
            "`log(deviation)` is missing: a narrow bell is higher.": -0.5 * z**2 - ROOT,
            "The last term is missing: half the logarithm of 2 pi.": -0.5 * z**2 - np.log(deviation),
            "This is the density. Its logarithm is wanted.": np.exp(-0.5 * z**2 - np.log(deviation) - ROOT),
            "The half before the square is missing.": -(z**2) - np.log(deviation) - ROOT,
            "Half the logarithm of 2 pi, not all of it.": -0.5 * z**2 - np.log(deviation) - 2 * ROOT,
            "The sign of `log(deviation)` is turned.": -0.5 * z**2 + np.log(deviation) - ROOT,
            "The square counts against: a minus before the half.": 0.5 * z**2 - np.log(deviation) - ROOT,
            "It divides by the deviation's root: `((u - mean) / deviation) ** 2`.": (
                -0.5 * (U - mean) ** 2 / deviation - np.log(deviation) - ROOT
            ),
        }
        if not same(answer, -0.5 * z**2 - np.log(deviation) - ROOT):
            return hint(answer, slips) or [
                f"With deviation {deviation:g} and a distance of {U[0] - np.ravel(mean)[0]:.1f} it should give "
                f"{(-0.5 * z**2 - np.log(deviation) - ROOT)[0]:.4f}; it gives {np.asarray(answer, float)[0]:.4f}."
            ]
    return []


def _slopes(slopes: Callable[..., Any]) -> list[str]:
    for log_deviation in (-0.7, 0.5):
        answer = slopes(U.copy(), MEAN.copy(), log_deviation)
        if (n := len(answer) if hasattr(answer, "__len__") else 1) != 2:
            return [f"Two arrays are wanted, the slope in the mean and that in the logarithm; got {n}."]
        deviation = np.exp(log_deviation)
        z = (U - MEAN) / deviation
        for part, wanted, name, slips in (
            (
                answer[0],
                z / deviation,
                "mean",
                {
                    "The slope in the mean: divide the distance by the SQUARE of the deviation.": U - MEAN,
                    "The slope in the mean: by the square of the deviation, not by the deviation.": z,
                    "The slope in the mean has its sign turned: it points to the action.": -z / deviation,
                    "`log_deviation` is a logarithm: the deviation is `np.exp(log_deviation)`.": (
                        (U - MEAN) / log_deviation**2
                    ),
                },
            ),
            (
                answer[1],
                z**2 - 1,
                "logarithm of the deviation",
                {
                    "The slope in the logarithm is missing: `((u - mean) / deviation) ** 2 - 1`.": 0 * U,
                    "The slope in the logarithm: take 1 off.": z**2,
                    "The slope in the logarithm has its sign turned.": 1 - z**2,
                    "This is the slope in the deviation. In its LOGARITHM it is `deviation` times that.": (
                        (z**2 - 1) / deviation
                    ),
                    "The slope in the logarithm: square the distance in deviations.": z - 1,
                    "The slope in the logarithm: divide by the deviation before you square.": (U - MEAN) ** 2 - 1,
                },
            ),
        ):
            if found := unlike(part, U.shape, f"the slope in the {name}"):
                return found
            if not same(part, wanted):
                return hint(part, slips) or [
                    f"With a log-deviation of {log_deviation:g} the slope in the {name} should be "
                    f"{np.round(wanted, 3).tolist()}; it is {np.round(np.asarray(part, float), 3).tolist()}."
                ]
    return []


def _beta(beta_log_density: Callable[..., Any]) -> list[str]:
    for alpha, beta, low, high in ((2.0, 3.5, 0.0, 1.0), (4.0, 1.5, -1.0, 1.0), (1.3, 2.2, -2.0, 3.0)):
        u = np.abs(INSIDE) if low == 0 else INSIDE
        answer = beta_log_density(u.copy(), alpha, beta, low, high)
        if found := unlike(answer, u.shape, "beta_log_density"):
            return found
        x = (u - low) / (high - low)
        inner, constant = log_of_beta(x, alpha, beta), lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta)
        wanted = inner - np.log(high - low)
        slips = {
            "log B is missing: without it the area under the curve is not 1.": wanted + constant,
            "log B and the length of the bounds are missing.": inner + constant,
            "The length is missing: stretching makes the density smaller, `- np.log(high - low)`.": inner,
            "The length has its sign turned: stretching makes the density smaller.": inner + np.log(high - low),
            "log B is taken off, not added.": wanted + 2 * constant,
            "`alpha` and `beta` have changed places.": log_of_beta(x, beta, alpha) - np.log(high - low),
            "The powers are `alpha - 1` and `beta - 1`.": wanted + np.log(x) + np.log(1 - x),
            "This is the density. Its logarithm is wanted.": np.exp(wanted),
            "`lgamma(alpha + beta)` is taken off in log B, so it is added in the end.": (
                wanted - 2 * lgamma(alpha + beta)
            ),
        }
        if not same(answer, wanted):
            return hint(answer, slips) or [
                f"With alpha {alpha:g}, beta {beta:g} and bounds {low:g} and {high:g} the actions {u.tolist()} should "
                f"give {np.round(wanted, 3).tolist()}; they give {np.round(np.asarray(answer, float), 3).tolist()}."
            ]
    return []
