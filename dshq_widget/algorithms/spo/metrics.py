"""Metrics of SPO's searches, replay and dual variables."""

from dshq_widget.contract.metrics import Metric

METRICS: dict[str, Metric] = {
    "temperature": Metric("TRAINER", "reward", "How much better a particle must be to outweigh others; learned."),
    "alpha": Metric("TRAINER", "", "Weight of the trust region around the target network's policy; learned."),
    "loss_temperature": Metric("TRAINER", "", "Loss that the temperature minimises."),
    "loss_alpha": Metric("TRAINER", "", "Loss that alpha minimises; it stays near zero."),
    "simulated_steps": Metric("ACTOR", "decisions", "Decisions played in searches since the start.", True),
    "simulated_steps_per_second": Metric("ACTOR", "steps/s", "Steps played in searches per second of play."),
    "search_ess": Metric(
        "ACTOR", "share", "Effective share of a search's particles at its end; 1 means that all are alike."
    ),
    "search_entropy": Metric("ACTOR", "nats", "Entropy of the particles' weights at the end of a search."),
    "search_alive": Metric("ACTOR", "share", "Share of the particles whose game continues at the end of a search."),
    "searched_return": Metric(
        "ACTOR", "reward", "Mean return of 32 episodes in which search decides, beside the evaluated return.", True
    ),
    "searched_win_rate": Metric(
        "ACTOR", "share", "Wins among decided matches against the drill's script in which search decides.", True
    ),
}
