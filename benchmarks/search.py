"""Search: how fast it simulates, what it adds to a policy, and what learning from it brings.

`python -m benchmarks.search` writes benchmarks/results/search_{speed,gain,learning}-*.json and draws
docs/images/search-*.png (matplotlib, the extra `plots`). `--only speed gain learning` takes some of the parts.

speed     simulated decisions per second of one thread, K = 16, depth 4, beside the floor of the same run: the rules'
          ticks and one inference for each. `--python PATH` names the interpreter of an environment with jax, jumanji
          and mctx; then Jumanji's Maze is searched by mctx's Gumbel MuZero policy beside it: one decision of the rules
          and one inference of a dense network (`maze_dense`) for each simulation, in a batch of as many roots.
gain      a policy with search against the same policy alone, K = 1, 4, 16 and 64: on the Ball Drill matches of bronze,
          silver and gold against themselves; on others mean returns on the same seeds. Three seeds.
learning  SPO beside PPO at equal environment steps: decisions of the real games. Three seeds, defaults of both.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of, said
from dshq_kernels.network import mlp
from dshq_kernels.search.searcher import Search, how
from dshq_kernels.simd import vector
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.update import PPOUpdate
from dshq_widget.algorithms.spo import ALGORITHM as SPO
from dshq_widget.algorithms.spo.games import SearchedGames
from dshq_widget.algorithms.spo.learner import SpoLearner
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.cli.bench import simulation
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.parts import Progress
from dshq_widget.policy import checkpoint
from dshq_widget.policy.evaluate import evaluate, evaluate_alone, network, opponent
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.search import searching, searching_of
from dshq_widget.runtime.rates import rate

PICTURES = Path(__file__).parent.parent / "docs" / "images"
PARTICLES = (1, 4, 16, 64)
STEPS = {"maze": 200_000, "binpack": 60_000, "snake": 100_000}
"""Environment steps of a learning curve."""
POINTS = 8
EPISODES = 200


# ---- speed


def speed(name: str, seconds: float, roots: int = 64, layers: tuple[int, ...] = ()) -> dict[str, float]:
    """Simulated decisions per second of one thread, and of what it cannot do without; the drill's own network, or
    one of these layers.
    """
    drill = compiled(name)
    spec, game, shape = drill.spec, drill.game(), PolicySpec.for_config(drill.spec, of_drill(drill.spec))
    shape = PolicySpec(layers) if layers else shape
    tiles = roots // LANES
    search = Search(game, spec, shape.layers, mlp.ACTIVATIONS[shape.activation], tiles, 16, 4)
    params, chosen = mlp.pack(search.plan, shape.untrained(0)), how(16, 4)
    games, counts = game.new(tiles), iter(range(1 << 40))
    weights = drill.term_weights(None)

    def once() -> None:
        search.run(params, games, chosen, weights=weights, gamma=0.99, seed=0, count=next(counts))

    once()
    simulated = rate(once, roots * 16 * 4, seconds)
    units = [np.random.default_rng(0).normal(0, 1, (spec.n_obs, LANES)).astype(np.float32) for _ in range(2)]
    scratch = vector.aligned(mlp.play_scratch(search.plan) + 64)
    inputs = [unit.ctypes.data for unit in units]

    def infer() -> None:
        for _ in range(32):
            network = (search.plan, search.activation, params.ctypes.data)
            mlp.forward_lanes(*network, *inputs, 0, 0, mlp.NO_MEMORY, scratch.ctypes.data)

    infer()
    inferences, ticks = rate(infer, 32 * 32, seconds), simulation(drill, seconds)
    floor = 1 / (spec.action_repeat / ticks + 1 / inferences)
    return {
        "simulated_steps_per_second": simulated,
        "floor_steps_per_second": floor,
        "share_of_floor": simulated / floor,
        "ticks_per_second": ticks,
        "inferences_per_second": inferences,
        "ms_per_decision": 1000 * 64 / simulated,
    }


MCTX = """
import json, time, jax, jax.numpy as jnp, jumanji, mctx
env, n, simulations = jumanji.make("Maze-v0"), {roots}, 64
keys = jax.random.split(jax.random.PRNGKey(0), 8)
sizes = (301, 64, 64, 5)
net = [jax.random.normal(keys[k], (a, b)) * 0.1 for k, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))]
def see(o):
    walls = o.walls.reshape(-1).astype(jnp.float32)
    at = lambda p: jax.nn.one_hot(p.row * 10 + p.col, 100)
    return jnp.concatenate([walls, at(o.agent_position), at(o.target_position), o.step_count[None] / 100.0])
def ask(x):
    for w in net[:-1]: x = jnp.tanh(x @ w)
    x = x @ net[-1]
    return x[..., :4], x[..., 4]
def recurrent(params, key, action, state):
    new, seen = jax.vmap(env.step)(state, action)
    logits, value = ask(jax.vmap(see)(seen.observation))
    said = mctx.RecurrentFnOutput(reward=seen.reward, discount=seen.discount, prior_logits=logits, value=value)
    return said, new
@jax.jit
def decide(state, seen, key):
    logits, value = ask(jax.vmap(see)(seen))
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
    return mctx.gumbel_muzero_policy((), key, root, recurrent, simulations, invalid_actions=~seen.action_mask).action
state, step = jax.vmap(env.reset)(jax.random.split(jax.random.PRNGKey(1), n))
jax.block_until_ready(decide(state, step.observation, keys[0]))
begin, rounds = time.perf_counter(), 0
while time.perf_counter() - begin < {seconds}:
    jax.block_until_ready(decide(state, step.observation, jax.random.PRNGKey(rounds))); rounds += 1
print(json.dumps(rounds * n * simulations / (time.perf_counter() - begin)))
"""


def of_mctx(python: str, seconds: float, roots: int = 64) -> float:
    """Simulations per second of Jumanji and mctx on one core."""
    command = ["taskset", "-c", "0", python, "-c", MCTX.format(roots=roots, seconds=seconds)]
    return float(said(command))


def measure_speed(seconds: float, rounds: int, python: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"seconds": seconds, "rounds": []}
    for _ in range(rounds):
        row: dict[str, Any] = {name: speed(name, seconds) for name in ("ball", "cartpole", "maze", "binpack")}
        row["maze_dense"] = speed("maze", seconds, layers=(301, 64, 64, 6))
        if python:
            row["mctx_maze"] = of_mctx(python, seconds)
        found["rounds"].append(row)
        print(json.dumps(row), flush=True)
    return found


# ---- gain


def trained(name: str, seed: int, seconds: float, folder: Path) -> Path:
    """A policy of PPO with a drill's defaults."""
    from dshq_widget.training.trainer import Trainer

    with Trainer(name, seed=seed) as trainer:
        trainer.train_for(seconds=seconds, progress=False)
        return trainer.save(folder / f"{name}-{seed}.dshq")


def measure_gain(seconds: float, matches: int) -> dict[str, Any]:
    found: dict[str, Any] = {"matches": matches, "ball": {}, "alone": {}}
    ball = compiled("ball")
    for rung in ("bronze", "silver", "gold"):
        name = f"ball:{rung}"
        player, saved = opponent(name, ball), checkpoint.load(name)
        for particles in PARTICLES:
            rows = [
                evaluate(
                    ball,
                    player,
                    player,
                    matches,
                    seed=seed * 100_003,
                    searching=searching_of(saved, ball, particles, 4),
                )
                for seed in range(3)
            ]
            found["ball"][f"{rung} K={particles}"] = rows
            print(rung, particles, [(row["win_rate"], row["ci95"]) for row in rows], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("maze", "snake", "approach", "cartpole"):
            drill = compiled(name)
            for seed in range(3):
                path = trained(name, seed, seconds, Path(folder))
                player, saved = opponent(path, drill), checkpoint.load(path)
                alone = evaluate_alone(drill, player, matches, seed=seed)
                found_here = {
                    "alone": alone,
                    "greedy": evaluate_alone(drill, player, matches, seed=seed, greedy=True),
                }
                for particles in PARTICLES:
                    how_ = searching_of(saved, drill, particles, 4)
                    found_here[f"K={particles}"] = evaluate_alone(drill, player, matches, seed=seed, searching=how_)
                found["alone"][f"{name} seed {seed}"] = found_here
                means = {key: (row["return_mean"], row["ci95"]) for key, row in found_here.items()}
                print(name, seed, means, flush=True)
    return found


# ---- learning


def spo_run(drill: CompiledDrill, seed: int) -> Iterator[tuple[int, PolicySpec, TrainConfig, np.ndarray]]:
    """Environment steps and weights of SPO after each update."""
    config = of_drill(drill.spec).replace(SPO.defaults, {"seed": seed})
    settings, spec = SpoSettings(), PolicySpec.for_config(drill.spec, config)
    games, learner, steps = SearchedGames(drill, config, settings, spec, 1), SpoLearner(spec, settings, seed), 0
    while True:
        played = games.next(learner, config, 0)
        steps += played.agent_steps
        learner.update(played, Progress(config, steps, 0))
        yield steps, spec, config, learner.blob()


def ppo_run(drill: CompiledDrill, seed: int) -> Iterator[tuple[int, PolicySpec, TrainConfig, np.ndarray]]:
    """The same of PPO."""
    config = of_drill(drill.spec).replace({"seed": seed})
    spec = PolicySpec.for_config(drill.spec, config)
    games, learner = OwnGames(drill, config, 1), PPOUpdate(learners["fused"](spec, seed=seed, threads=1), print)
    steps = updates = 0
    while True:
        played = games.next(learner.player, config, 0)
        steps, updates = steps + played.agent_steps, updates + 1
        learner.update(played, Progress(config, steps, updates))
        yield steps, spec, config, learner.blob()


RUNS = {"spo": spo_run, "ppo": ppo_run}


def curve(name: str, algorithm: str, seed: int, total: int) -> list[dict[str, Any]]:
    """The policy's mean return, alone and with search, at `POINTS` moments; seconds are of playing and learning."""
    drill, begin, spent = compiled(name), time.monotonic(), 0.0
    rows: list[dict[str, Any]] = []
    for steps, spec, config, blob in RUNS[algorithm](drill, seed):
        if steps < total * (len(rows) + 1) / POINTS:
            continue
        spent += time.monotonic() - begin
        player = network(spec.layers, spec.activation, blob)
        alone = evaluate_alone(drill, player, EPISODES, seed=1)
        searched = evaluate_alone(drill, player, EPISODES // 2, seed=1, searching=searching(drill, 16, 4, config))
        row = {"steps": steps, "seconds": spent, "return": alone["return_mean"], "searched": searched["return_mean"]}
        row |= {"ci95": alone["ci95"], "searched_ci95": searched["ci95"], "length": alone["episode_length_mean"]}
        rows.append(row)
        print(name, algorithm, seed, json.dumps(row), flush=True)
        if steps >= total:
            return rows
        begin = time.monotonic()
    return rows


def measure_learning(names: list[str], seeds: int) -> dict[str, Any]:
    found: dict[str, Any] = {"episodes": EPISODES, "runs": {}}
    for name in names:
        for seed in range(seeds):
            for algorithm in RUNS:
                found["runs"][f"{name} {algorithm} {seed}"] = curve(name, algorithm, seed, STEPS[name])
                write("search_learning", found)
    return found


def draw(found: dict[str, Any], names: list[str]) -> None:
    """Mean return by environment steps, every seed a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 3.4), squeeze=False)
    colours = {"ppo": "#b35a1f", "spo": "#2a6fbb"}
    for pane, name in zip(panes[0], names, strict=True):
        for key, rows in found["runs"].items():
            drill, algorithm, seed = key.split()
            if drill == name:
                at = [row["steps"] / 1000 for row in rows]
                label = {"label": algorithm.upper()} if seed == "0" else {}
                pane.plot(at, [row["return"] for row in rows], color=colours[algorithm], **label)
        pane.set(title=compiled(name).spec.title, xlabel="environment steps (thousands)", ylabel="mean return")
        pane.grid(alpha=0.25)
        pane.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURES / "search-learning.png", dpi=110)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=("speed", "gain", "learning"), default=["speed", "gain", "learning"]
    )
    parser.add_argument("--drills", nargs="+", default=["maze", "binpack"], help="of the learning curves")
    parser.add_argument("--seeds", type=int, default=3, help="of the learning curves")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each figure of speed")
    parser.add_argument("--rounds", type=int, default=3, help="of speed")
    parser.add_argument("--train", type=float, default=20.0, help="seconds that policies are trained for `gain`")
    parser.add_argument("--matches", type=int, default=200, help="of `gain`")
    parser.add_argument("--python", help="an interpreter that has jax, jumanji and mctx")
    options = parser.parse_args()
    if "speed" in options.only:
        print(write("search_speed", measure_speed(options.seconds, options.rounds, options.python)))
    if "gain" in options.only:
        print(write("search_gain", measure_gain(options.train, options.matches)))
    if "learning" in options.only:
        found = measure_learning(options.drills, options.seeds)
        print(write("search_learning", found))
        draw(found, options.drills)


if __name__ == "__main__":
    main()
