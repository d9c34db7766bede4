"""Training never blocks a decision: whoever acts reads finished weights, and waits for no update that is going on."""

import threading

import numpy as np

from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.env.batch import compiled
from dshq_widget.training.trainer import Trainer

PATIENCE = 120.0
"""Seconds; nothing here waits so long unless it blocks."""


class Held:
    """In the place of a method: its second call stops in the middle, until it is let go."""

    def __init__(self, method, calls=1):
        self.method, self.calls = method, calls
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *arguments, **named):
        self.calls -= 1
        if self.calls < 0:
            self.inside.set()
            assert self.go_on.wait(PATIENCE)
        return self.method(*arguments, **named)


def in_time(work):
    """What `work` returns, on a thread of its own; fails if it does not return."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it waited for the update"
    return found[0]


def test_the_kernel_acts_and_steers_while_an_update_is_going_on(learners_in_threads, monkeypatch):
    held = Held(FusedPPO.update, calls=4)  # warming up learns, too
    monkeypatch.setattr(FusedPPO, "update", lambda *given: held(*given))
    with Trainer("bandit", num_envs=32, rollout_length=8, hidden_sizes=(8,), workers=0) as trainer:
        trainer.start()
        assert held.inside.wait(PATIENCE)

        def act():
            newest = trainer.latest_policy()
            trainer.set_hyper(learning_rate=1e-3)
            return newest.version, trainer.config.learning_rate, trainer.metrics

        try:
            version, rate, _ = in_time(act)
        finally:
            held.go_on.set()
        assert version > 0 and rate == 1e-3
        trainer.stop()
        assert trainer.join(PATIENCE)


def test_the_gate_decides_while_a_training_step_is_going_on():
    settings = GateSettings(territories=2, clock="virtual")
    buffer, gate = ExperienceBuffer(settings.buffer_capacity), SimulationGate(settings)
    trainer = ContinuousTrainer(buffer, settings)
    games = GateGames(Territories(compiled("territory"), 2, 0), gate, buffer, 0)
    while len(buffer) < settings.min_batch_size:
        games.next(trainer, None, 0)
    held = Held(trainer._rewards, calls=0)
    trainer._rewards = held
    step = threading.Thread(target=trainer.step, daemon=True)
    step.start()
    assert held.inside.wait(PATIENCE)
    before, model = games.decisions, trainer.get_model_for_inference()
    try:
        in_time(lambda: games.decide(trainer) or True)
    finally:
        held.go_on.set()
    step.join(PATIENCE)
    assert games.decisions == before + 2 and model.version == 0
    assert trainer.get_model_for_inference().version == 1 and np.isfinite(trainer.baseline)
