"""Rates of this machine, and the baseline layout that the lesson about speed compares with."""

from dshq_widget.cli import bench
from dshq_widget.cli.baseline_layout import NaiveGame

__all__ = ["NaiveGame", "bench"]
