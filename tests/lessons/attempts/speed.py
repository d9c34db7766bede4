import numpy as np

from dshq_widget.lessons.checks.speed import network_flops as flops
from dshq_widget.lessons.checks.speed import reference as floor
from tests.lessons.attempts import Attempts


def by_dot(layers):
    return 2 * np.dot(layers[:-1], layers[1:])


def by_names(flops, moved, peak, bandwidth):
    times = {"memory": moved / bandwidth, "arithmetic": flops / peak}
    longest = max(times, key=times.get)
    return [times[longest], longest]


ATTEMPTS = {
    "floors": Attempts(
        {
            "nearly": (lambda layers: flops(layers) + 0.5, floor),
            "with biases": (lambda layers: flops(layers) + sum(layers[1:]), floor),
            "the shorter": (flops, lambda *work: (min(work[0] / work[2], work[1] / work[3]), floor(*work)[1])),
            "rates for times": (flops, lambda *work: (max(work[2] / work[0], work[3] / work[1]), floor(*work)[1])),
            "nothing is returned by floor": (flops, lambda *work: None),
        },
        {"numpy's dot": (by_dot, floor), "a list from a dictionary": (flops, by_names)},
    )
}
