"""The loop of decisions: observe, propose, judge, send or wait, remember; and later what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import Experience as Decision
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.proposal import WAIT, Proposal, propose
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.learning.saved import fingerprint
from dshq_widget.learning.saved.generator import pack_generator, unpack_generator
from dshq_widget.learning.telemetry.report import merge

LONGEST_WAIT = 0.05
"""Seconds that the real clock waits before it lets the run look for commands."""
LATEST = 1e12
"""Seconds on the clock of a run that continues; at 2^53 a step would not move it."""


class GateGames(SimpleSource):
    """A source of training steps: one every `training_interval`, and a decision in every territory every 15 s of the
    same clock. `on_decision(decision)` hears of each, `warn(sentence)` when the buffer begins empty.
    """

    def __init__(
        self,
        territories: Territories,
        gate: SimulationGate,
        buffer: ExperienceBuffer,
        seed: int,
        on_decision: Callable[[Decision], None] = lambda decision: None,
        warn: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.territories, self.gate, self.buffer, self.on_decision = territories, gate, buffer, on_decision
        self._warn = warn
        self.rng = np.random.default_rng([seed, 0x9A3E])
        self.clock = self.next_decision = 0.0  # seconds
        self.decisions = 0
        self._rewards = np.zeros(0)  # of the window that began with the last decision
        self._unreported: list[np.ndarray] = []
        self._new = 0
        self._due = 0.0  # real clock: time.monotonic() of the next step

    def next(self, learner: ContinuousTrainer, config: TrainConfig, version: int) -> Experience | None:
        """Advance the clock to the next training step; None if none is due yet."""
        settings = self.gate.settings
        if settings.clock == "real" and not self._arrived(settings):
            return None
        if not settings.enabled:
            self.clock = self.next_decision
        if self.clock >= self.next_decision:
            self.decide(learner)
            self.next_decision += self.territories.seconds
        self.clock += settings.training_interval
        if not learner.ready:
            return None
        latest = None if settings.enabled else self._latest(settings)
        due = Experience(
            latest, np.zeros(0, np.int64), merge(self._unreported or [self.territories.stats()]), decisions=self._new
        )
        self._unreported, self._new = [], 0
        return due

    def _latest(self, settings: GateSettings) -> np.ndarray:
        """What a step between two decisions learns from: the decisions just made, or, where only outcomes count, those
        whose outcome has just become known. RECORD `[n]`.
        """
        n = len(self.territories)
        if settings.mode == "gated":
            return self.buffer.newest(n)
        before = self.buffer.newest(2 * n)[:-n]
        return before[before["was_executed"] & ~np.isnan(before["actual_reward"])]

    def _arrived(self, settings: GateSettings) -> bool:
        """Whether the real clock has reached the next step; waits a moment if not."""
        now = time.monotonic()
        if self._due - now > settings.training_interval or self._due == 0.0:
            self._due = now  # the clock was switched, or begins
        if now < self._due:
            time.sleep(min(self._due - now, LONGEST_WAIT))
            return False
        step = settings.training_interval if settings.enabled else self.territories.seconds
        self._due = max(self._due + step, now)
        return True

    def decide(self, learner: ContinuousTrainer) -> None:
        """One decision in every territory, with the newest version of the policy, and the fifteen seconds after it."""
        for k, reward in enumerate(self._rewards):  # what the last fifteen seconds brought
            self.buffer.complete(k, float(np.clip(reward, -1.0, 1.0)))
        version, network = learner.get_model_for_inference()
        settings = self.gate.settings
        self.gate.explore(annealed(settings, self.decisions))
        features = self.territories.features()
        proposals = self.proposals(network, features)
        actions = np.full(len(proposals), WAIT, np.int64)
        for k, proposal in enumerate(proposals):
            seen = self.territories.observation(k)
            result = self.gate.evaluate(seen, proposal.chunk, proposal.kind, min(proposal.confidence, 1.0))
            blocked = result.components["capacity"] == 0 or (
                settings.mode != "ungated" and not sends(result.gate_signal)
            )
            if not blocked:
                actions[k] = proposal.action
            decision = Decision(
                observation=features[k],
                spawn_chunk=proposal.chunk,
                spawn_type=proposal.kind,
                nn_confidence=proposal.confidence,
                gate_signal=result.gate_signal,
                R_expected=result.R_expected,
                gate_components=result.components,
                was_executed=not blocked,
                timestamp=self.clock,
                territory_id=k,
                model_version=version,
                workers=seen["workers"],
                protectors=seen["protectors"],
                queen_energy=seen["queen_energy"],
            )
            self.buffer.add(decision)
            self.on_decision(decision)
        self._rewards, stats = self.territories.step(actions)
        self.decisions += len(proposals)
        self._new += len(proposals)
        self._unreported.append(stats)

    def proposals(self, network: GateNetwork, features: np.ndarray) -> list[Proposal]:
        """One proposal per territory, drawn from the policy."""
        return propose(network, features, self.rng)

    def change(self, settings: GateSettings) -> None:
        """Judge by other settings from now on; what is stored is judged again by them."""
        self.gate.change(settings)
        self.buffer.rejudge(self.gate.judge)

    def state(self) -> dict[str, np.ndarray]:
        """Games, buffer, clock and generator, for an exact continuation."""
        clock = np.array([self.clock, self.next_decision, self.decisions])
        own = {
            "train.gate.clock": clock,
            "train.gate.rewards": self._rewards,
            "train.gate.draws": pack_generator(self.rng),
        }
        made = fingerprint.packed(self.territories.made_with())
        return own | made | self.territories.state() | self.buffer.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned. Stored decisions are judged again, by the present gate; what they brought
        cannot be, so the buffer begins empty where other rewards were paid.
        """
        if "train.gate.clock" not in state:
            return
        if len(state["train.gate.rewards"]) in (0, len(self.territories)):
            self.territories.restore(state)
            self._rewards = state["train.gate.rewards"].astype(float)
        if said := fingerprint.difference(fingerprint.unpacked(state), self.territories.made_with()):
            self._warn(said)
        else:
            self.buffer.restore(state)
            self.buffer.rejudge(self.gate.judge)
        clock, next_decision, decisions = state["train.gate.clock"].tolist()
        self.clock, self.decisions = min(max(clock, 0.0), LATEST), max(0, int(decisions))
        self.next_decision = min(next_decision, self.clock + self.territories.seconds)  # or there may be none for ever
        self.rng = unpack_generator(state["train.gate.draws"])


def annealed(settings: GateSettings, decisions: int) -> float:
    """The exploration bonus after `decisions`: linear to 0."""
    if settings.exploration_decisions == 0:
        return settings.exploration
    return settings.exploration * max(1.0 - decisions / settings.exploration_decisions, 0.0)
