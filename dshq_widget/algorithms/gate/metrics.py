"""Metrics of the gate and of what it let pass."""

from dshq_widget.contract.metrics import Metric

METRICS: dict[str, Metric] = {
    "training_reward": Metric(
        "TRAINER", "reward", "Mean training reward of a batch: of gate signals and actual rewards.", True
    ),
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
    "predicted_wait": Metric(
        "ACTOR", "reward", "Predicted training reward of waiting, mean over the states of the last 100 decisions."
    ),
    "predicted_energy": Metric(
        "ACTOR", "reward", "Predicted training reward of sending an energy parasite, over the same states."
    ),
    "predicted_combat": Metric(
        "ACTOR", "reward", "Predicted training reward of sending a combat parasite, over the same states."
    ),
    "loss_action_rewards": Metric(
        "TRAINER", "reward^2", "Weighted squared error of the predicted rewards of actions, over a batch."
    ),
    "exploration": Metric("ACTOR", "reward", "Current exploration bonus."),
    "pending_count": Metric("ACTOR", "decisions", "Sent decisions whose reward is not known yet."),
}
