"""Every metric by its flat name: category, unit, help, and whether it should rise. A new one is a line here; its
chart, a line in js/panels/charts/curves.ts.
"""

from __future__ import annotations

import dataclasses


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
    "clip_fraction": Metric("TRAINER", "share", "Share of agent steps whose probability ratio was clipped."),
    "explained_variance": Metric(
        "TRAINER", "share", "Share of the returns' variance that the value estimate predicts; 1 is perfect.", True
    ),
    "training_reward": Metric(
        "TRAINER", "reward", "Mean training reward of a batch: of gate signals and actual rewards.", True
    ),
    "temperature": Metric("TRAINER", "reward", "How much better a particle must be to outweigh others; learned."),
    "alpha": Metric("TRAINER", "", "Weight of the trust region around the target network's policy; learned."),
    "loss_temperature": Metric("TRAINER", "", "Loss that the temperature minimises."),
    "loss_alpha": Metric("TRAINER", "", "Loss that alpha minimises; it stays near zero."),
    "loss_world_model": Metric("TRAINER", "", "Loss of the world model: all its parts, weighted.", False),
    "loss_image": Metric("TRAINER", "shade^2", "Squared error of reconstructed frames, summed over a frame.", False),
    "loss_reward": Metric("TRAINER", "nats", "Cross entropy of the world model's reward.", False),
    "loss_continue": Metric("TRAINER", "nats", "Cross entropy of whether an episode goes on.", False),
    "loss_critic": Metric("TRAINER", "nats", "Cross entropy of the critic against imagined returns.", False),
    "surprise": Metric(
        "TRAINER", "nats", "How far a frame moves what the world model expected of it (KL divergence).", False
    ),
    "posterior_entropy": Metric("TRAINER", "nats", "Uncertainty of the latent once its frame is seen."),
    "prior_entropy": Metric("TRAINER", "nats", "Uncertainty of the latent before its frame is seen."),
    "imagined_return": Metric("TRAINER", "reward", "Mean return that the actor earns in imagination."),
    "return_scale": Metric("TRAINER", "reward", "Spread of imagined returns, by which advantages are divided."),
    "grad_norm": Metric("TRAINER", "", "Gradient norm before clipping."),
    "validation_absolute_error": Metric(
        "TRAINER", "", "Largest absolute difference of a gradient entry from the torch reference, when checked."
    ),
    "validation_relative_error": Metric(
        "TRAINER",
        "share",
        "The same difference relative to the entry, or to the scale of the whole gradient if that is larger.",
    ),
    "learning_rate": Metric("TRAINER", "", "Current step size of Adam."),
    "clip_epsilon": Metric("TRAINER", "", "Current clip range."),
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
    "send_share": Metric("ACTOR", "share", "Share of the last 100 proposals that the gate let pass.", True),
    "send_share_first": Metric("ACTOR", "share", "The same share over the first tenth of the run."),
    "send_share_last": Metric("ACTOR", "share", "The same share over the last tenth of the run.", True),
    "gate_signal_mean": Metric(
        "ACTOR", "reward", "Mean gate signal of the last 100 proposals: expected reward minus threshold.", True
    ),
    "gate_signal_net": Metric(
        "ACTOR", "reward", "Mean gate signal of the last 100 proposals without their exploration bonus.", True
    ),
    "gate_signal_first": Metric(
        "ACTOR", "reward", "The same mean, without the bonus, over the first tenth of the run."
    ),
    "gate_signal_last": Metric(
        "ACTOR", "reward", "The same mean, without the bonus, over the last tenth of the run.", True
    ),
    "gate_signal_untrained": Metric(
        "ACTOR", "reward", "The same mean, without the bonus, of an untrained policy's proposals."
    ),
    "send_share_untrained": Metric(
        "ACTOR", "share", "Share of an untrained policy's proposals that the gate lets pass, without a bonus."
    ),
    "actual_reward_mean": Metric(
        "ACTOR", "reward", "Mean actual reward of the proposals sent among the last 100.", True
    ),
    "exploration": Metric("ACTOR", "reward", "Current exploration bonus."),
    "buffer_size": Metric("ACTOR", "decisions", "Decisions in the replay."),
    "replay_ratio": Metric("ACTOR", "", "Steps replayed for each step played, so far."),
    "pending_count": Metric("ACTOR", "decisions", "Sent decisions whose reward is not known yet."),
    "simulated_steps": Metric("ACTOR", "decisions", "Decisions played in searches since the start.", True),
    "simulated_steps_per_second": Metric("ACTOR", "decisions/s", "Decisions played in searches per second of play."),
    "search_ess": Metric(
        "ACTOR", "share", "Effective share of a search's particles at its end; 1 means that all are alike."
    ),
    "search_entropy": Metric("ACTOR", "nats", "Entropy of the particles' weights at the end of a search."),
    "search_alive": Metric("ACTOR", "share", "Share of the particles whose game goes on at the end of a search."),
    "searched_return": Metric(
        "ACTOR", "reward", "Mean return of 32 episodes in which search decides, beside the evaluated return.", True
    ),
    "searched_win_rate": Metric(
        "ACTOR", "share", "Wins among decided matches against the drill's script in which search decides.", True
    ),
    "policy_lag": Metric("ACTOR", "versions", "How many versions the playing policy was behind the learner."),
    "dropped_chunks": Metric("ACTOR", "chunks", "Rollout chunks discarded because the learner was busy."),
    "nodes": Metric("ACTOR", "nodes", "Nodes of the Ray cluster that play."),
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
        "EVALUATOR", "reward", "Mean return over the 100 episodes of the last evaluation, in a drill of one side.", True
    ),
    "evaluated_return_random": Metric(
        "EVALUATOR", "reward", "Mean return of random play in the same drill, measured once."
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
    "gpu_time_ms": Metric("MISC", "ms", "GPU time of one update."),
    "memory_mb": Metric("MISC", "MB", "Memory used by the learner and its workers."),
    "processors": Metric(
        "MISC",
        "processors",
        "Processors that the learner had in the last second; below half of one, others take too much.",
    ),
    "show_fps": Metric("MISC", "frames/s", "Frames per second of the match on the page."),
}
"""Every metric by its flat name. Each reward term of the drill adds `reward_<term>`."""
MACHINE_METRICS = [
    name for name, metric in METRICS.items() if metric.unit in ("ms", "MB", "processors") or metric.unit.endswith("/s")
]
"""What says how fast the machine is that trained, and how much memory it used. A policy file keeps them; whoever loads
it does not show them.
"""
REWARD_TERM = Metric("ACTOR", "reward", "Mean reward per match from this term.")
METRIC_CATEGORIES = ("TRAINER", "ACTOR", "EVALUATOR", "MISC")


def metric_named(name: str) -> Metric | None:
    """The table's entry for a flat name, `reward_<term>` included; None for an unknown one."""
    return METRICS.get(name) or (REWARD_TERM if name.startswith("reward_") else None)
