"""Every drill: how fast its rules run on one core, beside other libraries' rules of the same game, and how it is
learned with its defaults.

`python -m benchmarks.drills` writes benchmarks/results/drills-*.json and draws docs/images/learning-curves.png
(matplotlib, the extra `plots`). `--python PATH` names the interpreter of an environment that has envpool or jumanji,
which this project does not need; Gymnasium is measured in any case. `--scale 0.1` takes a tenth of every time, `--only`
one of the two parts, `--draw FILE` draws the curves of a result once more. Rates are of one core to which each process
is bound, rounds in turn. A learning curve is made of the policies that were newest at some moments of one training;
they are judged when it is over, by actions that are sampled. Targets (stated before measuring) are those of `ASKED`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import hold_to_one_core, parser_of, said, spread
from dshq_widget.cli.bench import simulation
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills import drills
from dshq_widget.env.batch import compiled
from dshq_widget.env.making import make_vec
from dshq_widget.env.snapshots import Snapshots
from dshq_widget.policy import evaluate as matches
from dshq_widget.runtime.rates import rate
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.trainer import Trainer

SECONDS = {"maze": 180.0, "snake": 180.0, "binpack": 600.0}
"""Of training; 30 for those not named."""
ASKED: dict[str, dict[str, float]] = {
    "ball": {"random": 0.95, "scripted": 0.8},
    "sumo": {"random": 0.9, "scripted": 0.65},
    "chase": {"random": 0.9, "scripted": 0.65},
    "approach": {"return_mean": 0.98},
    "paddleball": {"return_mean": 0.95},
    "cartpole": {"return_mean": 475.0},
    "bandit": {"return_mean": 99.0},
    "maze": {"optimality": 0.95},
    "snake": {"return_mean": 20.0},
    "binpack": {"return_mean": 0.9},
}
"""Two sides: shares of decided matches against random play and the first baseline. One side: mean return of an episode,
or in the maze the length of the shortest way as a share of the way gone, 0 where it does not arrive.
"""
EPISODES, GAMES, PARTICLES = 500, 1024, 16
OCTAVES = 8
"""A curve's moments are the whole time, half an octave less, and so on over so many octaves."""
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "learning-curves.png"

OURS = "import json; from benchmarks.drills import rates; print(json.dumps(rates({drill!r}, {seconds})))"
CARTPOLE = """
import json, time, numpy as np, {library}
n = {games}
env = {make}
env.reset()
actions = np.random.default_rng(0).integers(0, 2, (64, n))
for k in range(64): env.step(actions[k])
begin, steps = time.perf_counter(), 0
while time.perf_counter() - begin < {seconds}:
    env.step(actions[steps % 64]); steps += 1
print(json.dumps(steps * n / (time.perf_counter() - begin)))
"""
JUMANJI = """
import json, time, jax, jax.numpy as jnp, jumanji
from jumanji.wrappers import VmapAutoResetWrapper
env, n, length = VmapAutoResetWrapper(jumanji.make({name!r})), {games}, 50
def step(carry, key):
    state, seen = carry
    mask = seen.observation.action_mask
    chosen = jax.random.categorical(key, jnp.where(mask.reshape(n, -1), 0.0, -1e9))
    action = chosen if mask.ndim == 2 else jnp.stack(jnp.unravel_index(chosen, mask.shape[1:]), -1)
    state, seen = env.step(state, action)
    return (state, seen), seen.reward
play = jax.jit(lambda carry, key: jax.lax.scan(step, carry, jax.random.split(key, length)))
carry, _ = jax.block_until_ready(play(env.reset(jax.random.split(jax.random.PRNGKey(0), n)), jax.random.PRNGKey(1)))
begin, rounds = time.perf_counter(), 0
while time.perf_counter() - begin < {seconds}:
    carry, rewards = jax.block_until_ready(play(carry, jax.random.PRNGKey(rounds))); rounds += 1
print(json.dumps(rounds * length * n / (time.perf_counter() - begin)))
"""
GYMNASIUM_MAKE = 'gymnasium.make_vec("CartPole-v1", n, vectorization_mode="vector_entry_point")'
ENVPOOL_MAKE = 'envpool.make("CartPole-v1", env_type="gymnasium", num_envs=n, num_threads=1)'
PEERS: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "cartpole": {
        "gymnasium": (CARTPOLE, {"library": "gymnasium", "make": GYMNASIUM_MAKE}),
        "envpool": (CARTPOLE, {"library": "envpool", "make": ENVPOOL_MAKE}),
    },
    "maze": {"jumanji": (JUMANJI, {"name": "Maze-v0"})},
    "snake": {"jumanji": (JUMANJI, {"name": "Snake-v1"})},
    "binpack": {"jumanji": (JUMANJI, {"name": "BinPack-v2"})},
}
"""By drill and library: a script that says environment steps per second of the same game, and what it is filled with.
Observations, rewards and resets are included, as in ours.
"""


# -- rates


def rates(name: str, seconds: float) -> dict[str, float]:
    """Of this process: `ticks`, the bare rules with random actions held; `steps`, environment steps of the vector
    environment, random allowed actions, observations, rewards and resets included; `particles`, copies of kept states
    that play one decision, 16 of each, all of it included that `steps` includes. Each per second.
    """
    drill = compiled(name)
    env = make_vec(drill, GAMES, opponent="self", autoreset="same_step", practice=True, shaping=True)
    env.reset(seed=0)
    batch = env.batch
    kept = Snapshots(env, capacity=2 * GAMES)
    roots = np.repeat(kept.snapshot(np.arange(GAMES // PARTICLES)), PARTICLES)
    actions = batch.scripted("random")

    def search() -> None:
        kept.release_batch(kept.simulate_batch(roots, actions).state_ids)

    return {
        "ticks": simulation(drill, seconds),
        "steps": rate(lambda: env.step(batch.scripted("random").ravel()), GAMES, seconds),
        "particles": rate(search, GAMES, seconds),
    }


def alone(python: str, code: str) -> Any:
    """What a script prints last, run on one core."""
    return said([python, "-c", code], preexec_fn=hold_to_one_core)


def peers_of(name: str, other: str | None, seconds: float) -> dict[str, tuple[str, str, str]]:
    """By library: interpreter, version and script; those that no interpreter can import are said and left out."""
    found = {}
    for library, (script, words) in PEERS.get(name, {}).items():
        python = sys.executable if library == "gymnasium" else other
        if python is None:
            print(f"{name}: {library} is left out, --python names an interpreter that has it", flush=True)
            continue
        ask = f"import {library}, importlib.metadata as m; print(m.version({library!r}))"
        asked = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if asked.returncode:
            print(f"{name}: {library} is left out, {python} cannot import it", flush=True)
            continue
        found[library] = python, asked.stdout.split()[-1], script.format(games=GAMES, seconds=seconds, **words)
    return found


def measure_rates(names: list[str], other: str | None, rounds: int, seconds: float) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        peers = peers_of(name, other, seconds)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(alone(sys.executable, OURS.format(drill=name, seconds=seconds)))
            theirs.append({who: alone(python, script) for who, (python, _, script) in peers.items()})
        row: dict[str, Any] = {"drill": name} | {key: spread([found[key] for found in ours]) for key in ours[0]}
        row["peers"] = {who: spread([found[who] for found in theirs]) | {"version": peers[who][1]} for who in peers}
        rows.append(row)
        beside = "".join(f"  {who} {found['median']:,.0f} steps/s" for who, found in row["peers"].items())
        ticks, steps, particles = (row[key]["median"] for key in ("ticks", "steps", "particles"))
        print(
            f"{name:10} {ticks:>13,.0f} ticks/s {steps:>11,.0f} steps/s {particles:>11,.0f} particles/s{beside}",
            flush=True,
        )
    return rows


# -- curves


class Watch(threading.Thread):
    """Keeps the policies that are the newest at the moments asked for, seconds after training began."""

    def __init__(self, trainer: Trainer, moments: list[float]):
        super().__init__(daemon=True)
        self.trainer, self.moments = trainer, moments
        self.kept: list[tuple[float, PolicyVersion]] = [(0.0, trainer.latest_policy())]
        self.over = threading.Event()

    def run(self) -> None:
        while self.trainer.status != "training":
            if self.over.wait(0.01):
                return
        began = time.monotonic()
        for moment in self.moments:
            if self.over.wait(max(0.0, began + moment - time.monotonic())):
                return
            policy = self.trainer.latest_policy()
            if policy.version > self.kept[-1][1].version:
                self.kept.append((time.monotonic() - began, policy))


def curve(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """One training, its policies judged."""
    with Trainer(name, seed=seed) as trainer:
        watch = Watch(trainer, [seconds * 2 ** (-k / 2) for k in range(2 * OCTAVES, 0, -1)])
        watch.start()
        trainer.train_for(seconds=seconds, progress=False)
        trainer.stop()
        trainer.join()
        watch.over.set()
        watch.join()
        watch.kept.append((seconds, trainer.latest_policy()))
        drill, metrics = with_rules(trainer.drill), trainer.metrics
    points = [
        {"seconds": moment, "agent_steps": policy.step, "version": policy.version, **judge(drill, policy)}
        for moment, policy in watch.kept
    ]
    reached = {key: bool(value(points[-1], key) >= asked) for key, asked in ASKED.get(name, {}).items()}
    row: dict[str, Any] = {
        "drill": name,
        "seed": seed,
        "seconds": seconds,
        "agent_steps": metrics["agent_steps"],
        "points": points,
    }
    row |= {"asked": ASKED.get(name, {}), "reached": reached}
    if drill.spec.sides == 1:
        row["references"] = {
            who: matches.evaluate_alone(drill, matches.opponent(who, drill), EPISODES, seed=1)["return_mean"]
            for who in ("random", "scripted")
        }
    figures = ", ".join(f"{key} {value(points[-1], key):.3f} (asked {asked:g})" for key, asked in row["asked"].items())
    print(f"{name:10} seed {seed}: {seconds:g} s, {row['agent_steps']:>12,} agent steps: {figures}", flush=True)
    return row


def judge(drill: CompiledDrill, policy: PolicyVersion) -> dict[str, Any]:
    """Matches against random play and the first baseline, or the episodes of a drill of one side."""
    player = matches.network(policy.layers, policy.activation, policy.weights)
    if drill.spec.sides == 2:
        return {
            who: matches.evaluate(drill, player, matches.opponent(who, drill), EPISODES, seed=1, name=who)
            for who in ("random", "scripted")
        }
    return matches.evaluate_alone(drill, player, EPISODES, seed=1)


def value(point: dict[str, Any], key: str) -> float:
    """A figure of `ASKED`; a win rate that too few wins stand behind is none."""
    found = point[key]
    return (found["win_rate"] if found["counts"] else 0.0) if isinstance(found, dict) else found


# -- the picture


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One field per drill: what was asked for over agent steps, one line per seed; dashed what was asked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    names = list(dict.fromkeys(row["drill"] for row in rows))
    columns = min(5, len(names))
    lines = -(-len(names) // columns)
    figure, fields = pyplot.subplots(lines, columns, figsize=(3.1 * columns, 2.5 * lines), squeeze=False)
    labels = {
        "random": ("won against random play", "#2a9d5c"),
        "scripted": ("won against the script", "#c8553d"),
        "return_mean": ("mean return", "#2a6fbb"),
        "optimality": ("shortest way by way gone", "#2a6fbb"),
    }
    for field, name in zip(fields.flat, names, strict=False):
        of_drill = [row for row in rows if row["drill"] == name]
        for key, asked in of_drill[0]["asked"].items():
            label, colour = labels[key]
            for row in of_drill:
                steps = [max(point["agent_steps"], 1) for point in row["points"][1:]]
                field.plot(steps, [value(point, key) for point in row["points"][1:]], color=colour, lw=1.2, label=label)
                label = "_"  # one entry of the legend for all seeds
            field.axhline(asked, color=colour, ls="--", lw=0.8)
        field.set_xscale("log")
        field.xaxis.set_major_locator(ticker.LogLocator(numticks=5))
        field.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        field.xaxis.set_minor_formatter(ticker.NullFormatter())
        if drills[name].sides == 2:
            field.set_ylim(-0.02, 1.04)
        field.set_title(drills[name].title or name, fontsize=10)
        field.tick_params(labelsize=7)
        field.legend(fontsize=7, loc="best", frameon=False)
        field.spines[["top", "right"]].set_visible(False)
    for field in fields.flat[len(names) :]:
        field.set_visible(False)
    figure.supxlabel("agent steps", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drills", nargs="*", choices=tuple(drills), default=list(drills), metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--scale", type=float, default=1.0, help="of all training times")
    parser.add_argument("--python", help="an interpreter with envpool or jumanji")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate-seconds", type=float, default=1.0, help="how long each rate is measured, per round")
    parser.add_argument("--only", choices=("rates", "curves"))
    parser.add_argument("--draw", type=Path, metavar="FILE", help="measure nothing, draw this result")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    if arguments.draw:
        draw(json.loads(arguments.draw.read_text())["curves"], arguments.picture)
        return
    result: dict[str, Any] = {"scale": arguments.scale, "episodes": EPISODES}
    if arguments.only != "curves":
        result["rates"] = measure_rates(arguments.drills, arguments.python, arguments.rounds, arguments.rate_seconds)
    if arguments.only != "rates":
        result["curves"] = [
            curve(name, seed, arguments.scale * SECONDS.get(name, 30.0))
            for name in arguments.drills
            for seed in arguments.seeds
        ]
    print(write("drills", result))
    if "curves" in result:
        draw(result["curves"], arguments.picture)
        print(arguments.picture)


if __name__ == "__main__":
    main()
