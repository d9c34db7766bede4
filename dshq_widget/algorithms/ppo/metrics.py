"""Metrics that only PPO reports, and the charts of an update's diagnostics."""

from dshq_widget.contract.curves import Curve
from dshq_widget.contract.metrics import Metric

METRICS: dict[str, Metric] = {
    "clip_fraction": Metric("TRAINER", "share", "Share of agent steps whose probability ratio was clipped."),
    "validation_absolute_error": Metric(
        "TRAINER", "", "Largest absolute difference of a gradient entry from the torch reference, when checked."
    ),
    "validation_relative_error": Metric(
        "TRAINER",
        "share",
        "The same difference relative to the entry, or to the scale of the whole gradient if that is larger.",
    ),
    "clip_epsilon": Metric("TRAINER", "", "Current clip range."),
    "gpu_time_ms": Metric("MISC", "ms", "GPU time of one update."),
}

CURVES = (
    Curve(
        "Change of the policy",
        "KL divergence between the policies before and after an update. Should stay low, about 0.001 to 0.02: far above"
        " that the learning rate is too high.",
        {"approx_kl": "KL divergence"},
        colour=5,
        zero=True,
    ),
    Curve(
        "Clipped",
        "Share of agent steps whose probability ratio was clipped. A third or more means that an update goes too far.",
        {"clip_fraction": "clipped"},
        format="percent",
        colour=6,
    ),
    Curve(
        "Explained variance",
        "Share of the variance of the returns that the critic explains. Should rise towards 1. At 0 or below, the mean"
        " would predict as well.",
        {"explained_variance": "critic"},
        colour=3,
    ),
)
