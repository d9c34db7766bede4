/** Measures a policy at intervals: dshq_widget/learning/evaluator.py. */
import type { DrillSpec } from "../../contract/protocol";
import type { Play } from "../parts";
import type { Settings } from "../settings";
import { EVALUATION } from "../tables";
import { kindOf } from "./opponents";
import { IDLE, type Player, POLICY, RANDOM } from "./players";

export class Evaluator {
  /** The newest results by the flat names of contract/metrics.py. */
  metrics: Record<string, number> = {};
  private episodes = 0;
  private took = 0; // s

  constructor(
    private readonly spec: DrillSpec,
    private readonly seed: number,
    private readonly matches: Play,
  ) {}

  /** Seconds from the end of one evaluation to the next. */
  pause({ evaluate_seconds }: Settings): number {
    return Math.max(evaluate_seconds, this.took / EVALUATION.most_share);
  }

  /** One round, against the first baseline and random play; alone, some episodes. */
  play(weights: Float32Array): void {
    const begin = performance.now();
    const player = { kind: POLICY, weights };
    const seed = () => this.seed + this.episodes;
    if (this.spec.sides === 1) {
      const { returnMean } = this.matches(player, { kind: IDLE }, EVALUATION.episodes, seed());
      this.metrics.evaluated_return = returnMean;
      if (this.spec.target != null) this.metrics.solved = Number(returnMean >= this.spec.target);
      this.episodes += EVALUATION.episodes;
    } else {
      const scripted = this.spec.baselines.slice(0, 1);
      for (const name of scripted) this.against("", { kind: kindOf(name, this.spec) }, player, seed());
      this.against("_random", { kind: RANDOM }, player, seed());
    }
    this.took = (performance.now() - begin) / 1000;
    this.metrics.episodes = this.episodes;
    this.metrics.duration_ms = 1000 * this.took;
  }

  private against(suffix: "" | "_random", opponent: Player, player: Player, seed: number): void {
    const { wins, losses } = this.matches(player, opponent, EVALUATION.matches, seed);
    this.smooth(suffix ? "win_rate_random" : "win_rate_ema", wins + losses ? wins / (wins + losses) : 0);
    this.smooth(`win_share${suffix}`, wins / EVALUATION.matches);
    this.episodes += EVALUATION.matches;
  }

  private smooth(name: string, value: number): void {
    const before = this.metrics[name];
    this.metrics[name] = before === undefined ? value : (1 - EVALUATION.ema) * before + EVALUATION.ema * value;
  }
}
