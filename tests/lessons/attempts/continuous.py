from math import gamma, lgamma, pi

import numpy as np

from dshq_widget.lessons.checks.continuous import ROOT, log_of_beta
from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def bell(give):
    """A log-density with one slip, of the distance, the distance in deviations and the deviation."""
    return lambda u, mean, deviation: give(u - mean, (u - mean) / deviation, deviation)


def sloped(of_mean=lambda z, deviation: z / deviation, of_deviation=lambda z, deviation: z**2 - 1):
    """Slopes with one slip."""

    def slopes(u, mean, log_deviation):
        deviation = np.exp(log_deviation)
        z = (u - mean) / deviation
        return of_mean(z, deviation), of_deviation(z, deviation)

    return slopes


def nudged(u, mean, log_deviation, size=1e-5):
    def log_p(mean, log_deviation):
        return -0.5 * ((u - mean) / np.exp(log_deviation)) ** 2 - log_deviation

    return (
        (log_p(mean + size, log_deviation) - log_p(mean - size, log_deviation)) / (2 * size),
        (log_p(mean, log_deviation + size) - log_p(mean, log_deviation - size)) / (2 * size),
    )


def listed(u, mean, log_deviation):
    rows = [(a - m) * np.exp(-2 * log_deviation) for a, m in zip(u, mean, strict=True)]
    return rows, [row * (a - m) - 1 for row, a, m in zip(rows, u, mean, strict=True)]


def stretched(give):
    """A beta's log-density with one slip, of that between 0 and 1, log B and the length of the bounds."""

    def beta_log_density(u, alpha, beta, low, high):
        inner = log_of_beta((u - low) / (high - low), alpha, beta)
        return give(inner, lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta), high - low)

    return beta_log_density


def by_powers(u, alpha, beta, low, high):
    x = (u - low) / (high - low)
    constant = gamma(alpha + beta) / gamma(alpha) / gamma(beta)
    return np.log(constant * x ** (alpha - 1) * (1 - x) ** (beta - 1) / (high - low))


def by_integral(u, alpha, beta, low, high):
    middles = low + (np.arange(400_000) + 0.5) / 400_000 * (high - low)
    area = np.mean((middles - low) ** (alpha - 1) * (high - middles) ** (beta - 1)) * (high - low)
    return (alpha - 1) * np.log(u - low) + (beta - 1) * np.log(high - u) - np.log(area)


ATTEMPTS = {
    "density": Attempts(
        called(
            "log_density",
            {
                "as it is found": bell(lambda off, z, deviation: -0.5 * off**2),
                "no deviation": bell(lambda off, z, deviation: -0.5 * z**2 - ROOT),
                "no root": bell(lambda off, z, deviation: -0.5 * z**2 - np.log(deviation)),
                "the density": bell(lambda off, z, deviation: np.exp(-0.5 * z**2) / deviation / np.sqrt(2 * pi)),
                "the sum": bell(lambda off, z, deviation: np.sum(-0.5 * z**2 - np.log(deviation) - ROOT)),
            },
        ),
        called(
            "log_density",
            {
                "the density's logarithm": bell(
                    lambda off, z, deviation: np.log(np.exp(-(z**2) / 2) / (deviation * np.sqrt(2 * pi)))
                ),
                "a list": lambda u, mean, deviation: [
                    -((a - m) ** 2) / (2 * deviation**2) - np.log(deviation * np.sqrt(2 * pi))
                    for a, m in zip(u, np.broadcast_to(mean, u.shape), strict=True)
                ],
            },
        ),
    ),
    "slopes": Attempts(
        called(
            "slopes",
            {
                "as it is found": lambda u, mean, log_deviation: (u - mean, 0 * u),
                "one number": lambda u, mean, log_deviation: 0.5,
                "not squared": sloped(of_mean=lambda z, deviation: z),
                "turned": sloped(of_mean=lambda z, deviation: -z / deviation),
                "no 1": sloped(of_deviation=lambda z, deviation: z**2),
                "in the deviation": sloped(of_deviation=lambda z, deviation: (z**2 - 1) / deviation),
            },
        ),
        called("slopes", {"nudged": nudged, "lists": listed}),
    ),
    "beta": Attempts(
        called(
            "beta_log_density",
            {
                "as it is found": stretched(lambda inner, constant, length: inner + constant),
                "no length": stretched(lambda inner, constant, length: inner),
                "longer is denser": stretched(lambda inner, constant, length: inner + np.log(length)),
                "no B": stretched(lambda inner, constant, length: inner + constant - np.log(length)),
                "the density": stretched(lambda inner, constant, length: np.exp(inner) / length),
            },
        ),
        called("beta_log_density", {"by powers": by_powers, "by an integral": by_integral}),
    ),
}
