"""The gate's claims, arm by arm: does it teach more than it costs?

`python -m benchmarks.gate` plays every arm for 2,000 decisions with five seeds, 15 training steps a decision, writes
benchmarks/results/gate-*.json and draws docs/images/gate-arms.png (matplotlib, the extra `plots`). Arms:

    A  gated       the source's design: every decision trains, by the gate signal of what was proposed and, if sent, by
                   what it brought
    B  ungated     everything affordable is sent; what it brought alone trains
    C  filter      the gate blocks, but only what was sent trains, by what it brought
    S  sent only   A without the blocked decisions
    D  random      uniform proposals, everything affordable is sent, nothing is learned
    E  oracle      the proposal with the largest expected reward, through the gate; nothing is learned
    P  PPO         of the same drill, trained for `--ppo` seconds on millions of decisions: a sceptic's yardstick

Figures are of the last quarter of an arm: reward per spawn and per unit of queen energy, share of SEND, and the gate
signal without the exploration bonus. Differences are paired by seed, with 95 % intervals by Student's t: a bootstrap of
five numbers covers less than it says. `--proposals` measures how proposals rise in a run that learns from what was
proposed, sixteen territories and a step for each of their seconds: signal and SEND share without the bonus and what an
episode brings, in `LOOKS` and before, of both networks and of what the source's design left open (`ASKED`); it writes
gate_proposals-*.json. `--judged` does so for the ways of `JUDGED`, and writes gate_judged-*.json.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.proposal import WAIT, Proposal, propose
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import CHUNKS
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.policy.policy import Policy
from dshq_widget.training.sweep_results import interval
from dshq_widget.training.trainer import Trainer

ARMS: dict[str, dict[str, Any]] = {
    "A gated": {"judged": "proposal"},
    "B ungated": {"mode": "ungated"},
    "C filter": {"mode": "filter"},
    "S sent only": {"mode": "sent_only"},
    "D random": {"mode": "ungated", "learning_rate": 0.0},
    "E oracle": {"exploration": 0.0, "learning_rate": 0.0},
}
LOOKS = (500, 1000, 2000)
"""Decisions after which proposals are judged."""
Asked = tuple[dict[str, Any], dict[str, Any]]
PROPOSAL = {"judged": "proposal"}
ASKED: dict[str, Asked] = {
    "places": (PROPOSAL, {}),
    "source": (PROPOSAL | {"network": "source"}, {}),
    "places, priority": (PROPOSAL | {"priority": True}, {}),
    "places, reward head": (PROPOSAL | {"reward_head": True}, {}),
    "places, threshold .5": (PROPOSAL | {"threshold": 0.5}, {}),
    "places, threshold .6, from half on .5": (PROPOSAL, {"threshold": 0.5}),
}
"""Settings, and what changes half way."""
SIGNALS_ALONE = {"gate_weight": 1.0, "actual_weight": 0.0}
JUDGED: dict[str, Asked] = {
    "proposal": (PROPOSAL, {}),
    "every": ({"judged": "every"}, {}),
    "every, signals alone": ({"judged": "every"} | SIGNALS_ALONE, {}),
    "proposal, signals alone": (PROPOSAL | SIGNALS_ALONE, {}),
}
WINDOW = 200
"""Decisions of a moving mean."""
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "gate-arms.png"


class Oracle(GateGames):
    """Proposes what the gate likes best."""

    def proposals(self, network: GateNetwork, features: np.ndarray) -> list[Proposal]:
        chosen = []
        for k in range(len(features)):
            judged = self.gate.evaluate_all(self.territories.observation(k)).gate_signal
            kind, chunk = np.unravel_index(judged.argmax(), judged.shape)
            chosen.append(Proposal(int(chunk), parts.TYPES[int(kind)], 1.0))
        return chosen


def play(drill: CompiledDrill, arm: str, seed: int, decisions: int) -> np.ndarray:
    """The records of one arm's decisions, oldest first."""
    settings = GateSettings(**ARMS[arm])
    buffer, gate = ExperienceBuffer(decisions), SimulationGate(settings)
    trainer = ContinuousTrainer(buffer, settings, seed=seed)
    if arm.startswith("D"):
        trainer.load(GateNetwork(np.zeros_like(trainer.get_model_for_inference().network.flat)))
    games = (Oracle if arm.startswith("E") else GateGames)(Territories(drill, 1, seed), gate, buffer, seed)
    learns = settings.learning_rate > 0
    while games.decisions < decisions:
        if games.next(trainer, None, 0) and learns:  # type: ignore[arg-type]  # it reads no shared settings
            trainer.step()
    return buffer.newest(decisions)


def figures(records: np.ndarray) -> dict[str, float]:
    """Of a stretch of decisions."""
    sent = records[records["was_executed"] & ~np.isnan(records["actual_reward"])]
    spent = np.where(sent["spawn_type"] == parts.COMBAT, parts.COSTS[parts.COMBAT], parts.COSTS[parts.ENERGY]).sum()
    payable = records["gate_components"][:, parts.CAPACITY] > 0
    bonus = np.where(payable, records["gate_components"][:, parts.EXPLORATION], 0)
    total = float(sent["actual_reward"].sum())
    return {
        "reward_per_spawn": total / max(len(sent), 1),
        "reward_per_energy": total / max(float(spent), 1e-9),
        "spawns": len(sent),
        "send_share": float(records["was_executed"].mean()),
        "gate_signal": float((records["gate_signal"] - bonus).mean()),
    }


def difference(a: list[float], b: list[float]) -> dict[str, Any]:
    """Mean of a - b, paired, and its 95 % interval by Student's t."""
    gap = np.array(a) - np.array(b)
    return {"mean": float(gap.mean()), "ci95": interval(gap.tolist())}


def looks(asked: Mapping[str, Asked], seeds: int, workers: int) -> dict[str, list[list[dict[str, float]]]]:
    """`learned` with every seed, by name, in so many processes."""
    with ProcessPoolExecutor(workers) as pool:
        runs = {name: [pool.submit(learned, seed, *one) for seed in range(seeds)] for name, one in asked.items()}
        for name, futures in runs.items():
            for seed, future in enumerate(futures):
                print(name, seed, [{key: round(value, 3) for key, value in look.items()} for look in future.result()])
    return {name: [future.result() for future in futures] for name, futures in runs.items()}


def proposals(seeds: int, workers: int) -> dict[str, Any]:
    """Looks at the proposals of runs with the defaults, and what each of `ASKED` differs by in the last look."""
    rows = looks(ASKED, seeds, workers)
    pairs = (*(("places", other) for other in list(ASKED)[1:4]), tuple(list(ASKED)[4:]))
    return {
        "looks": [0, *LOOKS],
        "runs": rows,
        "differences": {f"{a} - {b}": apart(rows[a], rows[b], "gate_signal") for a, b in pairs},
    }


def ways(seeds: int, workers: int) -> dict[str, Any]:
    """The same looks for the ways of `JUDGED`, and what each differs by from the first in the last look."""
    rows = looks(JUDGED, seeds, workers)
    first, *others = JUDGED
    keys = rows[first][0][0]
    apart_by = {f"{a} - {first}": {key: apart(rows[a], rows[first], key) for key in keys} for a in others}
    return {"looks": [0, *LOOKS], "runs": rows, "differences": apart_by}


def apart(one: list[list[dict[str, float]]], other: list[list[dict[str, float]]], key: str) -> dict[str, Any]:
    """The difference of the last looks."""
    return difference([run[-1][key] for run in one], [run[-1][key] for run in other])


def learned(seed: int, own: dict[str, Any], later: dict[str, Any]) -> list[dict[str, float]]:
    """`judged`, before learning and at each of `LOOKS`."""
    drill, settings = compiled("territory"), GateSettings(**own)
    buffer, gate = ExperienceBuffer(settings.buffer_capacity), SimulationGate(settings)
    trainer = ContinuousTrainer(buffer, settings, seed=seed)
    games = GateGames(Territories(drill, settings.territories, seed), gate, buffer, seed)
    found = [judged(drill, trainer.get_model_for_inference().network, settings, seed)]
    for look in LOOKS:
        while games.decisions < look:
            if later and games.decisions >= LOOKS[-1] // 2 and settings == trainer.settings:
                trainer.settings = dataclasses.replace(settings, **later)
                games.change(trainer.settings)
            if games.next(trainer, None, 0):  # type: ignore[arg-type]  # it reads no shared settings
                trainer.step()
        found.append(judged(drill, trainer.get_model_for_inference().network, trainer.settings, seed))
    return found


def judged(drill: CompiledDrill, network: GateNetwork, settings: GateSettings, seed: int) -> dict[str, float]:
    """Mean gate signal of a policy's proposals in 64 episodes, without a bonus, the share that is sent, and what an
    episode brings.
    """
    gate, games = SimulationGate(settings), Territories(drill, 64, 1000 + seed)
    gate.epsilon, rng, signals, paid = 0.0, np.random.default_rng([seed, 7]), [], 0.0
    for _ in range(drill.spec.time_limit // drill.spec.action_repeat):
        proposed = propose(network, games.features(), rng)
        now = [gate.evaluate(games.observation(k), one.chunk, one.kind).gate_signal for k, one in enumerate(proposed)]
        chosen = [one.action if sends(signal) else WAIT for one, signal in zip(proposed, now, strict=True)]
        paid += float(games.step(np.array(chosen))[0].sum())
        signals += now
    return {
        "gate_signal": float(np.mean(signals)),
        "send_share": float(np.mean([sends(one) for one in signals])),
        "return": paid / len(games),
    }


def spawns_to_reach(records: np.ndarray, level: float) -> int | None:
    """Spawns until the mean reward of the last 100 spawns first reaches `level`; None if it never does."""
    rewards = records["actual_reward"][records["was_executed"] & ~np.isnan(records["actual_reward"])]
    means = np.convolve(rewards, np.ones(100) / 100, "valid")
    reached = np.flatnonzero(means >= level)
    return int(reached[0]) + 100 if len(reached) else None


def ppo(drill: CompiledDrill, seed: int, seconds: float, decisions: int) -> dict[str, Any]:
    """PPO's policy after `seconds`, judged on `decisions` decisions of its own."""
    with Trainer(drill, algorithm="ppo", seed=seed) as trainer:
        trainer.train_for(seconds=seconds, progress=False)
        newest, steps = trainer.latest_policy(), trainer.metrics.get("agent_steps", 0)
    policy, rng = Policy(newest.layers, newest.activation, newest.weights), np.random.default_rng(seed)
    games = Territories(drill, 16, seed)
    rewards, actions = [], []
    for _ in range(decisions // 16):
        chosen = policy.act(games.features(), rng, mask=games.batch.mask()[:, 0])
        actions.append(chosen)
        rewards.append(games.step(chosen)[0])
    reward, action = np.concatenate(rewards), np.concatenate(actions)
    sent = action >= CHUNKS
    spent = np.where(action >= 2 * CHUNKS, parts.COSTS[1], parts.COSTS[0])[sent].sum()
    return {
        "trained_on": int(steps),
        "reward_per_spawn": float(reward[sent].mean()) if sent.any() else 0.0,
        "reward_per_energy": float(reward[sent].sum() / max(spent, 1e-9)),
        "spawns": int(sent.sum()),
        "send_share": float(sent.mean()),
    }


def measure(seeds: int, decisions: int, ppo_seconds: float) -> dict[str, Any]:
    """Every arm with every seed."""
    drill = compiled("territory")
    runs: dict[str, list[np.ndarray]] = {}
    arms: dict[str, Any] = {}
    for arm in ARMS:
        begin = time.monotonic()
        runs[arm] = [play(drill, arm, seed, decisions) for seed in range(seeds)]
        last = [figures(records[-decisions // 4 :]) for records in runs[arm]]
        arms[arm] = {
            "seconds": time.monotonic() - begin,
            "first_tenth": [figures(records[: decisions // 10]) for records in runs[arm]],
            "last_quarter": last,
            "curve": [curve(records) for records in runs[arm]],
        }
        print(arm, {key: round(float(np.mean([row[key] for row in last])), 4) for key in last[0]}, flush=True)
    if ppo_seconds:
        arms["P PPO"] = {"last_quarter": [ppo(drill, seed, ppo_seconds, decisions) for seed in range(min(seeds, 2))]}
        print("P PPO", arms["P PPO"]["last_quarter"], flush=True)

    def column(arm: str, key: str) -> list[float]:
        return [row[key] for row in arms[arm]["last_quarter"]]

    gaps = {
        f"{a[0]} - {b[0]}, {key}": difference(column(a, key), column(b, key))
        for a, b in (("A gated", other) for other in ARMS if not other.startswith("A"))
        for key in ("reward_per_spawn", "reward_per_energy")
    }
    untrained = [row["gate_signal"] for row in (figures(records[: decisions // 10]) for records in runs["D random"])]
    gaps["A - untrained, gate_signal"] = difference(column("A gated", "gate_signal"), untrained)
    levels = column("B ungated", "reward_per_spawn")
    reach = {
        arm: [spawns_to_reach(records, level) for records, level in zip(runs[arm], levels, strict=True)]
        for arm in ("A gated", "B ungated", "C filter", "S sent only")
    }
    return {"arms": arms, "differences": gaps, "spawns_to_reach_the_level_of_B": reach}


def speeds(rounds: int = 4, decisions: int = 2000) -> dict[str, Any]:
    """Candidates judged a second on one core, and the latency of an inference (propose, observe, judge) in milliseconds
    with a training at full speed beside it and without one, in turns.
    """
    drill, gate = compiled("territory"), SimulationGate()
    games, network, rng = Territories(drill, 1, 0), GateNetwork.initial(0), np.random.default_rng(0)
    seen = games.observation(0)
    gate.evaluate_all(seen)
    begin = time.perf_counter()
    for _ in range(2000):
        gate.evaluate_all(seen)
    rate = 2000 * len(parts.TYPES) * CHUNKS / (time.perf_counter() - begin)
    took: dict[str, list[float]] = {"alone": [], "training beside": []}
    with Trainer("territory") as trainer:
        trainer.start()
        trainer.wait(updates=100, progress=False)
        for _ in range(rounds):
            for name in took:
                (trainer.pause_training if name == "alone" else trainer.resume_training)()
                time.sleep(0.5)
                for _ in range(decisions // rounds):
                    start = time.perf_counter()
                    proposal = propose(network, games.features(), rng)[0]
                    gate.evaluate(games.observation(0), proposal.chunk, proposal.kind)
                    took[name].append(1000 * (time.perf_counter() - start))
    quantiles = {name: {f"p{q}": float(np.percentile(row, q)) for q in (50, 99)} for name, row in took.items()}
    return {"candidates_per_second_per_core": rate, "inference_ms": quantiles}


def curve(records: np.ndarray) -> dict[str, list[float]]:
    """Moving means over WINDOW decisions, every 50 decisions."""
    rows = [figures(records[end - WINDOW : end]) for end in range(WINDOW, len(records) + 1, 50)]
    return {key: [row[key] for row in rows] for key in ("reward_per_spawn", "send_share", "gate_signal")}


def draw(result: dict[str, Any], path: Path = PICTURE) -> None:
    """Mean over seeds, with the seeds' range."""
    import matplotlib.pyplot as plt

    titles = {
        "reward_per_spawn": "Reward per spawn",
        "send_share": "Share of SEND",
        "gate_signal": "Gate signal, no bonus",
    }
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), constrained_layout=True)
    for axis, (key, title) in zip(axes, titles.items(), strict=True):
        for k, arm in enumerate(ARMS):
            rows = np.array([run[key] for run in result["arms"][arm]["curve"]])
            x = WINDOW + 50 * np.arange(rows.shape[1])
            axis.plot(x, rows.mean(0), color=f"C{k}", label=arm)
            axis.fill_between(x, rows.min(0), rows.max(0), color=f"C{k}", alpha=0.12, linewidth=0)
        axis.set_title(title)
        axis.set_xlabel("decisions")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--ppo", type=float, default=60.0, help="seconds of PPO; 0 leaves it out")
    parser.add_argument("--draw", type=Path, help="draw a result once more")
    parser.add_argument("--proposals", action="store_true", help="measure how proposals rise")
    parser.add_argument("--workers", type=int, default=1, help="processes for these looks")
    parser.add_argument("--judged", action="store_true", help="measure the same where every candidate is judged")
    parser.add_argument("--speeds", action="store_true", help="measure speeds alone")
    options = parser.parse_args()
    if options.speeds:
        print(write("gate_speeds", result := speeds()), result)
        return
    if options.judged:
        print(write("gate_judged", ways(options.seeds, options.workers)))
        return
    if options.proposals:
        print(write("gate_proposals", proposals(options.seeds, options.workers)))
        return
    if options.draw:
        draw(json.loads(options.draw.read_text()))
        return
    result = measure(options.seeds, options.decisions, options.ppo)
    print(json.dumps({key: result[key] for key in ("differences", "spawns_to_reach_the_level_of_B")}, indent=1))
    print(write("gate", result))
    draw(result)


if __name__ == "__main__":
    main()
