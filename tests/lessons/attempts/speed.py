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


def turned(work, moved, peak, bandwidth):
    least, binds = floor(work, moved, peak, bandwidth)
    return least, {"memory": "arithmetic", "arithmetic": "memory"}[binds]


ATTEMPTS = {
    "floors": Attempts(
        {
            "the first layer only": (lambda layers: 2 * layers[0] * layers[1], floor),
            "one operation a weight": (lambda layers: flops(layers) // 2, floor),
            "all widths multiplied": (lambda layers: 2 * int(np.prod(layers)), floor),
            "nearly": (lambda layers: flops(layers) + 0.5, floor),
            "widths added": (lambda layers: 2 * sum(layers), floor),
            "with biases": (lambda layers: flops(layers) + sum(layers[1:]), floor),
            "nothing is returned": (lambda layers: None, floor),
            "the sum": (flops, lambda *work: (work[0] / work[2] + work[1] / work[3], floor(*work)[1])),
            "the shorter": (flops, lambda *work: (min(work[0] / work[2], work[1] / work[3]), floor(*work)[1])),
            "arithmetic always": (flops, lambda *work: (work[0] / work[2], "arithmetic")),
            "memory always": (flops, lambda *work: (work[1] / work[3], "memory")),
            "names turned round": (flops, turned),
            "only seconds": (flops, lambda *work: floor(*work)[0]),
            "rates for times": (flops, lambda *work: (max(work[2] / work[0], work[3] / work[1]), floor(*work)[1])),
            "nothing is returned by floor": (flops, lambda *work: None),
        },
        {"numpy's dot": (by_dot, floor), "a list from a dictionary": (flops, by_names)},
    )
}
