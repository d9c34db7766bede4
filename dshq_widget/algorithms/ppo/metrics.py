"""Metrics that only PPO reports."""

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
