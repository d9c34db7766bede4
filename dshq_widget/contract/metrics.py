"""The metrics of every run by their flat names: category, unit, help, and whether they should rise. An algorithm
declares its own beside them (`declare`). The chart of a new one is a line in js/panels/charts/curves.ts, an algorithm's
own a `Curve` (curves.py). Who reports it: learning/telemetry/report.py, a part of the run, or a learner's update.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Metric:
    """One measured number: category, unit, a sentence of help, and whether it should rise in good training."""

    category: str
    unit: str
    text: str
    should_rise: bool | None = None


METRICS: dict[str, Metric] = {
    "loss_policy": Metric(
        "TRAINER", "", "Loss that the policy update minimises; it stays near zero and says little by itself."
    ),
    "loss_value": Metric("TRAINER", "reward^2", "Mean squared error of the value estimate against the returns.", False),
    "entropy": Metric(
        "TRAINER", "nats", "Randomness of the policy; it should fall slowly, but not collapse to zero.", False
    ),
    "approx_kl": Metric(
        "TRAINER", "nats", "How far one update moved the policy (KL divergence); it should stay small and steady."
    ),
    "explained_variance": Metric(
        "TRAINER", "share", "Share of the returns' variance that the value estimate predicts; 1 is perfect.", True
    ),
    "grad_norm": Metric("TRAINER", "", "Gradient norm before clipping."),
    "learning_rate": Metric("TRAINER", "", "Current step size of Adam."),
    "entropy_coef": Metric("TRAINER", "", "Current weight of the entropy bonus."),
    "updates": Metric("TRAINER", "updates", "Number of updates since the start.", True),
    "updates_per_second": Metric("TRAINER", "updates/s", "Updates per second of training."),
    "version": Metric("TRAINER", "", "Newest policy version; 0 is untrained.", True),
    "agent_steps": Metric("ACTOR", "agent steps", "Decisions of learning sides since the start.", True),
    "agent_steps_per_second": Metric("ACTOR", "agent steps/s", "Decisions of learning sides per second of training."),
    "return_mean": Metric("ACTOR", "reward", "Mean return of a learning side in recently finished matches.", True),
    "return_min": Metric("ACTOR", "reward", "Smallest return in recently finished matches.", True),
    "return_max": Metric("ACTOR", "reward", "Largest return in recently finished matches.", True),
    "episode_length_mean": Metric("ACTOR", "decisions", "Mean length of recently finished matches."),
    "buffer_size": Metric("ACTOR", "decisions", "Decisions in the replay."),
    "policy_lag": Metric("ACTOR", "versions", "How many versions the playing policy was behind the learner."),
    "dropped_chunks": Metric("ACTOR", "chunks", "Rollout chunks discarded because the learner was busy."),
    "win_rate_ema": Metric(
        "EVALUATOR", "share", "Wins among decided matches against the drill's script, smoothed.", True
    ),
    "win_share": Metric(
        "EVALUATOR", "share", "Wins among all matches, draws included, against the drill's script, smoothed.", True
    ),
    "win_rate_random": Metric("EVALUATOR", "share", "Wins among decided matches against random play, smoothed.", True),
    "win_share_random": Metric(
        "EVALUATOR", "share", "Wins among all matches, draws included, against random play, smoothed.", True
    ),
    "evaluated_return": Metric(
        "EVALUATOR",
        "reward",
        "Mean return over the 100 episodes of the last evaluation, in a drill of one side; in a Gymnasium environment "
        "over the last 100 training episodes.",
        True,
    ),
    "beats_idle": Metric("EVALUATOR", "s", "Training time after which it beat an opponent that stands still."),
    "beats_random": Metric("EVALUATOR", "s", "Training time after which it beat random play."),
    "beats_script": Metric("EVALUATOR", "s", "Training time after which it beat the drill's script."),
    "beats_bronze": Metric("EVALUATOR", "s", "Training time after which it beat the policy bronze."),
    "beats_silver": Metric("EVALUATOR", "s", "Training time after which it beat the policy silver."),
    "beats_gold": Metric("EVALUATOR", "s", "Training time after which it beat the policy gold."),
    "target_share": Metric(
        "EVALUATOR", "share", "Wins among all matches, draws included, against the first target not beaten yet.", True
    ),
    "solved": Metric("EVALUATOR", "", "1 if the last evaluation reached the drill's target, else 0.", True),
    "elo": Metric("EVALUATOR", "Elo", "Elo rating, measured against pinned opponents.", True),
    "elo_low": Metric("EVALUATOR", "Elo", "Lower end of the 95 % interval of the rating.", True),
    "elo_high": Metric("EVALUATOR", "Elo", "Upper end of the 95 % interval of the rating.", True),
    "episodes": Metric("EVALUATOR", "matches", "Number of evaluation matches played.", True),
    "duration_ms": Metric("EVALUATOR", "ms", "Duration of the last evaluation."),
    "seconds": Metric("MISC", "s", "Training time since the start, without start-up and evaluation.", True),
    "rollout_ms": Metric("MISC", "ms", "Time to collect one rollout."),
    "update_ms": Metric("MISC", "ms", "Time to learn from one rollout."),
    "memory_mb": Metric("MISC", "MB", "Memory used by the learner and its workers."),
    "processors": Metric(
        "MISC",
        "processors",
        "Processors that the learner had in the last second; below 0.5, other programs use too much.",
    ),
    "show_fps": Metric("MISC", "frames/s", "Frames per second of the match on the page."),
}
"""Every metric that is known in this process by its flat name. Each reward term of the drill adds `reward_<term>`."""
REWARD_TERM = Metric("ACTOR", "reward", "Mean reward per match from this term.")
METRIC_CATEGORIES = ("TRAINER", "ACTOR", "EVALUATOR", "MISC")


OWN_REWARD = "own_reward"
"""The reward term that is one line of a person's own (drill/own_reward.py)."""


def metric_named(name: str) -> Metric | None:
    """The table's entry for a flat name, `reward_<term>` included; None for an unknown one."""
    return METRICS.get(name) or (REWARD_TERM if name.startswith("reward_") else None)


def declare(own: Mapping[str, Metric], whose: str) -> None:
    """Add the metrics of the algorithm `whose`. Raises ValueError for a name that means something else already."""
    for name, metric in own.items():
        if METRICS.setdefault(name, metric) != metric:
            raise ValueError(
                f"{whose} declares a metric {name!r}, and there is another one of that name: {METRICS[name].text!r}; "
                "choose another name"
            )


def of_machine(name: str) -> bool:
    """Whether a metric says how fast the machine is that trained, or how much memory it used. A policy file keeps it;
    loading the file does not show it.
    """
    known = metric_named(name)
    return known is not None and (known.unit in ("ms", "MB", "processors") or known.unit.endswith("/s"))
