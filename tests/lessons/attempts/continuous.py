from math import gamma, lgamma, pi

import numpy as np

from tests.lessons.attempts import exercise

ROOT, SLOPES = " - 0.5 * np.log(2 * np.pi)", "far / np.exp(log_deviation), far**2 - 1"
DENSITY = {
    "as it is found": ("((u - mean) / deviation) ** 2 - np.log(deviation)", "(u - mean) ** 2", ROOT, ""),
    "no deviation": (" - np.log(deviation)", ""),
    "no root": (ROOT, ""),
    "the density": ("return ", "return np.exp(", ROOT, f"{ROOT})"),
    "the sum": ("return ", "return np.sum(", ROOT, f"{ROOT})"),
}
SLOPE = {
    "as it is found": (SLOPES, "u - mean, 0 * u"),
    "one number": (SLOPES, "0.5"),
    "turned": ("return far", "return -far"),
    "no 1": ("far**2 - 1", "far**2"),
    "in the deviation": ("far**2 - 1", "(far**2 - 1) / np.exp(log_deviation)"),
}
LENGTH = " - np.log(high - low)"
BETA = {
    "as it is found": (f" - constant{LENGTH}", ""),
    "no length": (LENGTH, ""),
    "longer is denser": (LENGTH, " + np.log(high - low)"),
    "no B": (" - constant", ""),
    "the density": ("return ", "return np.exp(", LENGTH, f"{LENGTH})"),
}


def by_density(u, mean, deviation):
    return np.log(np.exp(-(((u - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * pi)))


def by_list(u, mean, deviation):
    means = np.broadcast_to(mean, u.shape)
    constant = np.log(deviation * np.sqrt(2 * pi))
    return [-((a - m) ** 2) / (2 * deviation**2) - constant for a, m in zip(u, means, strict=True)]


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


def by_powers(u, alpha, beta, low, high):
    x = (u - low) / (high - low)
    constant = gamma(alpha + beta) / gamma(alpha) / gamma(beta)
    return np.log(constant * x ** (alpha - 1) * (1 - x) ** (beta - 1) / (high - low))


def by_integral(u, alpha, beta, low, high):
    middles = low + (np.arange(400_000) + 0.5) / 400_000 * (high - low)
    area = np.mean((middles - low) ** (alpha - 1) * (high - middles) ** (beta - 1)) * (high - low)
    return (alpha - 1) * np.log(u - low) + (beta - 1) * np.log(high - u) - np.log(area)


RIGHT = {"the density's logarithm": by_density, "a list": by_list}
RIGHT_BETA = {"by powers": by_powers, "by an integral": by_integral}
ATTEMPTS = {
    "density": exercise("continuous", 0, "log_density", DENSITY, RIGHT),
    "slopes": exercise("continuous", 1, "slopes", SLOPE, {"nudged": nudged, "lists": listed}),
    "beta": exercise("continuous", 2, "beta_log_density", BETA, RIGHT_BETA, lgamma=lgamma),
}
