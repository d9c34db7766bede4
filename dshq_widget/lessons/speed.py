"""Rates of this machine and of PPO on it, and the baseline layout that the lesson about speed compares with."""

from dshq_widget.algorithms.ppo import bench as ppo
from dshq_widget.cli import bench
from dshq_widget.cli.baseline_layout import NaiveGame

__all__ = ["NaiveGame", "bench", "ppo"]
