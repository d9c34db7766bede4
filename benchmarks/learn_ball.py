"""How fast a drill is learned on two threads, in this process: agent steps/s and win rates over time.

`python benchmarks/learn_ball.py --seconds 30 --seed 0`. The clock leaves out compiling and evaluation; actions are
sampled, sides swap half way, win rates are of decided matches (docs/reference/settings.md).
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.running import parser_of
from dshq_kernels.network import mlp
from dshq_kernels.play.loops import DECISIONS, DRAWS, EPISODES, RETURN_SUM, RETURNS
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import Player, Rollouts, Samples, opponent_kind, play_matches
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get
from dshq_widget.policy.network import PolicySpec


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--steps", type=float, default=math.inf, help="agent steps after which to stop, if sooner")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--learner", choices=tuple(learners), default="fused")
    parser.add_argument("--evaluations", type=int, default=15, help="how many, spread evenly")
    parser.add_argument("--matches", type=int, default=512)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of TrainConfig")
    arguments = parser.parse_args()

    drill = compile_drill(get(arguments.drill))  # type: ignore[arg-type]
    game, spec = drill.game(), drill.spec
    config = TrainConfig.from_values({"seed": arguments.seed}, dict(pair.split("=", 1) for pair in arguments.set))
    network = PolicySpec.for_config(spec, config)
    learner = learners[arguments.learner](network, seed=config.seed, threads=arguments.threads)
    games = Rollouts(
        game,
        spec,
        network.layers,
        mlp.ACTIVATIONS[network.activation],
        games=config.num_envs,
        length=config.rollout_length,
        shares=config.opponents,
        seed=config.seed,
        parts=arguments.threads,
    )
    samples, units = Samples.new(games.units, spec.n_obs), games.trainable
    pool = ThreadPoolExecutor(arguments.threads)
    params = mlp.pack(games.plan, learner.blob())

    def play_all() -> np.ndarray:
        stats = [games.new_stats() for _ in range(arguments.threads)]
        list(
            pool.map(
                lambda part: games.play(
                    params, samples, stats[part], gamma=config.gamma, gae_lambda=config.gae_lambda, part=part
                ),
                range(arguments.threads),
            )
        )
        games.advance()
        return np.sum(stats, 0)

    begin = time.perf_counter()
    play_all()
    learner.update(samples, units, Hyper(learning_rate=0.0))
    learner.load(network.initial(np.random.default_rng([config.seed, 0x1417])))
    print(f"kernels ready after {time.perf_counter() - begin:.1f} s", flush=True)

    def evaluate(step: int, played: float, metrics: dict[str, float], stats: np.ndarray) -> None:
        me = Player(POLICY, network.layers, mlp.ACTIVATIONS[network.activation], learner.blob())
        line = [f"{played:5.1f} s {step / 1e6:6.1f} M {step / max(played, 1e-9) / 1e6:5.2f} M/s"]
        for name in ("random", *spec.baselines):
            result = play_matches(game, spec, me, Player(opponent_kind(name, spec)), arguments.matches, seed=1).result
            won, lost = int((result > 0).sum()), int((result < 0).sum())
            draws = 1 - (won + lost) / len(result)
            line.append(f"{name} {won / max(1, won + lost):.3f} (W {won / len(result):.2f} D {draws:.2f})")
        line.append(
            f"H {metrics['entropy']:.2f} kl {metrics['approx_kl']:.4f} clip {metrics['clip_fraction']:.3f} "
            f"vl {metrics['loss_value']:.3f} ev {metrics['explained_variance']:.2f} gn {metrics['grad_norm']:.2f} | "
            f"draws {stats[DRAWS] / max(1, stats[EPISODES]):.2f} len {stats[DECISIONS] / max(1, stats[EPISODES]):.0f} "
            f"return {stats[RETURN_SUM] / max(1, stats[RETURNS]):.2f}"
        )
        print("  ".join(line), flush=True)

    step, played, rollout_time, busy, updates, marks = 0, 0.0, 0.0, 0.0, 0, 1
    while played < arguments.seconds and step < arguments.steps:
        start, busy_before = time.perf_counter(), time.process_time()
        mlp.pack(games.plan, learner.blob(), params)
        stats = play_all()
        middle = time.perf_counter()
        hyper = Hyper.at(config, step)
        metrics = learner.update(samples, units, hyper)
        end = time.perf_counter()
        played, rollout_time, updates = played + end - start, rollout_time + middle - start, updates + 1
        busy += time.process_time() - busy_before
        step += len(units) * 16
        if max(played / arguments.seconds, step / arguments.steps) >= marks / arguments.evaluations:
            marks += 1
            evaluate(step, played, metrics, stats)
    print(
        f"{step / played / 1e6:.2f} M agent steps/s; per agent step {rollout_time / step * 1e9:.0f} ns rollout and "
        f"{(played - rollout_time) / step * 1e9:.0f} ns update by the clock, {busy / step * 1e9:.0f} ns of processor; "
        f"{updates} updates, {learner.skipped} minibatches skipped"
    )
    print(config)


if __name__ == "__main__":
    main()
