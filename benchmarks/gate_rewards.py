"""The gate's predicted rewards: do they say anything of a state, and what are they worth to the policy?

`python -m benchmarks.gate_rewards` trains every arm of `ARMS` for 2,000 decisions with eight seeds, the defaults
otherwise (sixteen territories, a step for each of their seconds), and writes benchmarks/results/gate_rewards-*.json.
Arms:

    none                   rewards are compared with their running mean
    state head             one number a state from the policy's hidden units, `reward_head`; nothing reads it
    actions                a number for each action, `action_rewards`; nothing reads them
    state as baseline      one number a state from a network of its own, subtracted from rewards
    actions as baseline    the predictions of the actions, each by its share, subtracted from rewards

A baseline may be any function of the state: the mean of the gradient stays. Not so the prediction of the action that
was taken, since whether a proposal is sent depends on the proposal; so that is no arm.

Worth: the gate signal of proposals without the bonus and the share that is sent (`judged` in gate.py), as differences
to `none`, paired by seed, with 95 % intervals by Student's t. What predictions say: on games with seeds of their own,
played by the last policy without a bonus (`HELD_OUT` episodes), the correlation of the predicted with the training
reward and the root of the mean squared error, all actions together and one by one; beside it the error of constants:
the mean training reward of the same action in the buffer, and the best one in hindsight, the held-out mean itself.
`LATER` is for the second look of `actions`, which goes on to so many decisions.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.gate import difference, judged
from benchmarks.machine import describe, write
from dshq_widget.algorithms.gate.action_rewards import NAMES, ActionRewards, known, taken
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer, training_rewards
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.losses import Heads, ratios
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.training.sweep_results import interval

DECISIONS, LATER = 2000, 8000
HELD_OUT = 64
SHARE_MEMORY = 0.01
"""Weight of a batch in the running shares of the actions."""


class Baseline(ContinuousTrainer):
    """Subtracts the predicted rewards of the actions, each by its running share; `of_state`: one number a state."""

    of_state = False

    def __init__(self, buffer: ExperienceBuffer, settings: GateSettings, *, seed: int) -> None:
        super().__init__(buffer, settings, seed=seed)
        self.own, self.shares = ActionRewards(seed), np.full(len(NAMES), 1 / len(NAMES))

    def compared_with(self, batch: np.ndarray) -> np.ndarray:
        """See ContinuousTrainer; learns from the batch, too."""
        seen, rewards, actions = batch["observation"], self._rewards(batch), taken(batch) * (not self.of_state)
        baseline = self.own.predict(seen) @ (np.eye(len(NAMES))[0] if self.of_state else self.shares)
        heads = Heads.of(*self.get_model_for_inference().network.forward(seen)[:2])
        weights = ratios(heads, batch["spawn_chunk"], batch["spawn_type"], batch["nn_confidence"])
        self.own.learn(seen, actions, rewards, weights * known(batch), self.settings.learning_rate)
        counted = np.bincount(actions, weights=weights, minlength=len(NAMES)) / weights.sum()
        self.shares += SHARE_MEMORY * (counted - self.shares)
        return baseline


class StateBaseline(Baseline):
    of_state = True


ARMS: dict[str, tuple[type[ContinuousTrainer], dict[str, Any]]] = {
    "none": (ContinuousTrainer, {}),
    "state head": (ContinuousTrainer, {"reward_head": True}),
    "actions": (ContinuousTrainer, {"action_rewards": True}),
    "state as baseline": (StateBaseline, {}),
    "actions as baseline": (Baseline, {}),
}


class Learning:
    """A run of one arm."""

    def __init__(self, drill: CompiledDrill, arm: str, seed: int) -> None:
        kind, own = ARMS[arm]
        self.drill, self.seed, self.settings = drill, seed, GateSettings(**own)
        self.buffer, gate = ExperienceBuffer(self.settings.buffer_capacity), SimulationGate(self.settings)
        self.trainer = kind(self.buffer, self.settings, seed=seed)
        self.games = GateGames(Territories(drill, self.settings.territories, seed), gate, self.buffer, seed)

    def until(self, decisions: int) -> dict[str, float]:
        """Goes on to so many decisions; `judged`."""
        while self.games.decisions < decisions:
            if self.games.next(self.trainer, None, 0):  # type: ignore[arg-type]  # it reads no shared settings
                self.trainer.step()
        return judged(self.drill, self.trainer.get_model_for_inference().network, self.settings, self.seed)

    def held_out(self) -> np.ndarray:
        """Decisions of the present policy in games of their own, without a bonus and with what came of each."""
        decisions = HELD_OUT * self.drill.spec.time_limit // self.drill.spec.action_repeat
        buffer, gate = ExperienceBuffer(decisions + HELD_OUT), SimulationGate(GateSettings(exploration=0.0))
        games = GateGames(Territories(self.drill, HELD_OUT, 5000 + self.seed), gate, buffer, 5000 + self.seed)
        while games.decisions < decisions + HELD_OUT:  # the last one's outcomes come with one more
            games.decide(self.trainer)
        return buffer.newest(len(buffer))[:decisions]


def said(run: Learning) -> dict[str, Any]:
    """How well the predicted rewards of a run fit decisions that nobody has learned from, and how well constants do."""
    rewards = run.trainer.action_rewards
    assert rewards is not None
    seen, learned = run.held_out(), run.buffer.newest(len(run.buffer))
    learned = learned[known(learned)]
    rows = np.arange(len(seen))
    action, paid, predicted = taken(seen), training_rewards(seen), rewards.predict(seen["observation"])
    means = np.array([training_rewards(learned[taken(learned) == k]).mean() for k in range(len(NAMES))])
    best = np.array([paid[action == k].mean() for k in range(len(NAMES))])
    guesses = {"predicted": predicted[rows, action], "constant": means[action], "best_constant": best[action]}
    found: dict[str, Any] = {}
    groups = {"all": rows >= 0} | {name: action == k for k, name in enumerate(NAMES)}
    for name, of in groups.items():
        found[name] = {
            "decisions": int(of.sum()),
            "correlation": float(np.corrcoef(guesses["predicted"][of], paid[of])[0, 1]),
            **{f"error_{key}": float(np.sqrt(((guess - paid)[of] ** 2).mean())) for key, guess in guesses.items()},
        }
    return found


def summed_up(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds with intervals: correlations, and how much smaller the error is than a constant's."""
    found: dict[str, Any] = {}
    for name in ("all", *NAMES):
        rows = [run[name] for run in runs]
        correlations = [row["correlation"] for row in rows]
        found[name] = {"correlation": {"mean": float(np.mean(correlations)), "ci95": interval(correlations)}}
        for other in ("constant", "best_constant"):
            errors = [[row[f"error_{key}"] for row in rows] for key in (other, "predicted")]
            found[name][f"error_{other} - error_predicted"] = difference(*errors)
    return found


def measure(seeds: int) -> dict[str, Any]:
    """Every arm with every seed."""
    drill = compiled("territory")
    worth: dict[str, list[dict[str, float]]] = {}
    saying: dict[int, list[dict[str, Any]]] = {DECISIONS: [], LATER: []}
    for arm in ARMS:
        worth[arm] = []
        for seed in range(seeds):
            run = Learning(drill, arm, seed)
            worth[arm].append(run.until(DECISIONS))
            if arm == "actions":
                saying[DECISIONS].append(said(run))
                run.until(LATER)
                saying[LATER].append(said(run))
        print(arm, {key: [round(row[key], 3) for row in worth[arm]] for key in worth[arm][0]}, flush=True)
    keys = ("gate_signal", "send_share")
    columns = {arm: {key: [row[key] for row in rows] for key in keys} for arm, rows in worth.items()}
    return {
        "decisions": DECISIONS,
        "worth": worth,
        "differences": {
            f"{arm} - none, {key}": difference(columns[arm][key], columns["none"][key])
            for arm in list(ARMS)[1:]
            for key in keys
        },
        "held_out": {str(n): {"seeds": rows, "together": summed_up(rows)} for n, rows in saying.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    result = {"machine": describe()} | measure(parser.parse_args().seeds)
    for key, row in result["differences"].items():
        print(key, row)
    for n, found in result["held_out"].items():
        print(n, found["together"])
    print(write("gate_rewards", result))


if __name__ == "__main__":
    main()
