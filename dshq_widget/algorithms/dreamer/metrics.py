"""Metrics of the world model, of imagination and of replay."""

from dshq_widget.contract.metrics import Metric

METRICS: dict[str, Metric] = {
    "loss_world_model": Metric("TRAINER", "", "Loss of the world model: all its parts, weighted.", False),
    "loss_image": Metric("TRAINER", "shade^2", "Squared error of reconstructed frames, summed over a frame.", False),
    "loss_reward": Metric("TRAINER", "nats", "Cross entropy of the world model's reward.", False),
    "loss_continue": Metric("TRAINER", "nats", "Cross entropy of whether an episode continues.", False),
    "loss_critic": Metric("TRAINER", "nats", "Cross entropy of the critic against imagined returns.", False),
    "surprise": Metric("TRAINER", "nats", "How far a frame moves the world model's prediction (KL divergence).", False),
    "posterior_entropy": Metric("TRAINER", "nats", "Uncertainty of the latent once its frame is seen."),
    "prior_entropy": Metric("TRAINER", "nats", "Uncertainty of the latent before its frame is seen."),
    "imagined_return": Metric("TRAINER", "reward", "Mean return that the actor earns in imagination."),
    "return_scale": Metric("TRAINER", "reward", "Spread of imagined returns, by which advantages are divided."),
    "replay_ratio": Metric("ACTOR", "", "Steps replayed for each step played, so far."),
    "evaluated_return_random": Metric(
        "EVALUATOR", "reward", "Mean return of random play in the same drill, measured once."
    ),
}
