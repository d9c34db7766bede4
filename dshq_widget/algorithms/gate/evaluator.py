"""How good the gated policy is: the mean return of whole episodes, by its proposals and the gate."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.proposal import WAIT, propose
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import seeds
from dshq_widget.learning.evaluator import Judge

EPISODES = 32
"""Episodes per evaluation (assumed); 1,280 decisions."""


class GateEvaluator(Judge):
    """Plays without an exploration bonus, with the gate's present settings."""

    def __init__(self, drill: CompiledDrill, gate: SimulationGate, seed: int) -> None:
        super().__init__(drill, seed)
        self.gate = gate

    def play(self, blob: np.ndarray) -> None:
        """One round."""
        begin = time.monotonic()
        network, seed = GateNetwork.from_blob(blob), seeds.apart(self.seed, seeds.EVALUATION, self.episodes)
        returns = play_gated(self.drill, network, self.gate, EPISODES, seed=seed).returns
        self.episodes += EPISODES
        self.metrics["evaluated_return"] = float(returns.mean())
        self.played(begin)


class Played(NamedTuple):
    """Whole episodes, f64 `[episodes]` each: their returns, the mean gate signal of their proposals, the share sent."""

    returns: np.ndarray
    signals: np.ndarray
    sent: np.ndarray


def play_gated(
    drill: CompiledDrill,
    network: GateNetwork,
    gate: SimulationGate,
    episodes: int,
    *,
    seed: int = 0,
    greedy: bool = False,
) -> Played:
    """Whole episodes of the policy's proposals that the gate lets pass (all that is payable in mode "ungated"), drawn
    or the likeliest if `greedy`. There is no exploration bonus.
    """
    judge = SimulationGate(gate.settings)
    judge.epsilon = 0.0
    rng = None if greedy else np.random.default_rng([seed, 0xE7A1])
    territories = Territories(drill, episodes, seed)
    returns, signals, sent = np.zeros(episodes), np.zeros(episodes), np.zeros(episodes)
    decisions = drill.spec.time_limit // drill.spec.action_repeat
    for _ in range(decisions):
        actions = np.full(episodes, WAIT, np.int64)
        for k, proposal in enumerate(propose(network, territories.features(), rng)):
            result = judge.evaluate(territories.observation(k), proposal.chunk, proposal.kind)
            signals[k] += result.gate_signal / decisions
            payable = result.components["capacity"] != 0
            if payable and (gate.settings.mode == "ungated" or sends(result.gate_signal)):
                actions[k] = proposal.action
                sent[k] += 1 / decisions
        rewards, _ = territories.step(actions)
        returns += rewards
    return Played(returns, signals, sent)


def proposed(drill: CompiledDrill, network: GateNetwork, gate: SimulationGate, *, seed: int = 0) -> dict[str, float]:
    """Of a policy's proposals in EPISODES episodes, without a bonus: mean `gate_signal` and `send_share`."""
    played = play_gated(drill, network, gate, EPISODES, seed=seed)
    return {"gate_signal": float(played.signals.mean()), "send_share": float(played.sent.mean())}
