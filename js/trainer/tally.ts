/** Turns sums over many rollouts into one row of metrics: dshq_widget/learning/telemetry/report.py. */
import type { DrillSpec, MetricsRow } from "../contract/protocol";
import type { Update } from "./engines/engine";
import { merged } from "./games/lanes";
import { STATS } from "./tables";

/** Sums since the last report. Times in ms of performance.now(). */
export class Tally {
  private total: Float64Array | null = null;
  private readonly learned: Record<string, number>[] = [];
  private rolloutMs = 0;
  private updateMs = 0;

  constructor(private began: number) {}

  /** ms since it began, without what was left out. */
  spent(now: number): number {
    return now - this.began;
  }

  /** Rates leave out such ms. */
  leaveOut(ms: number): void {
    this.began += ms;
  }

  get updates(): number {
    return this.learned.length;
  }

  add({ stats, learned, rolloutMs, updateMs }: Update): void {
    this.total = this.total ? merged([this.total, stats]) : stats;
    this.learned.push(learned);
    this.rolloutMs += rolloutMs;
    this.updateMs += updateMs;
  }

  /** The metrics of this report; it must contain at least one update. */
  row(spec: DrillSpec, now: number): MetricsRow {
    const total = this.total!;
    const sum = (name: (typeof STATS)[number]) => total[STATS.indexOf(name)]!;
    const n = this.learned.length;
    const seconds = Math.max(this.spent(now), 1e-6) / 1000;
    const values: MetricsRow = {
      agent_steps_per_second: sum("agent_steps") / seconds,
      updates_per_second: n / seconds,
      policy_lag: 0, // every rollout in a page is played with the newest version
      rollout_ms: this.rolloutMs / n,
      update_ms: this.updateMs / n,
    };
    for (const name of new Set(this.learned.flatMap((row) => Object.keys(row)))) {
      const found = this.learned.map((row) => row[name]).filter((value) => value !== undefined);
      values[name] = found.reduce((all, value) => all + value, 0) / found.length;
    }
    if (sum("episodes")) values.episode_length_mean = sum("decisions") / sum("episodes");
    if (sum("returns")) {
      values.return_mean = sum("return_sum") / sum("returns");
      values.return_min = sum("return_min");
      values.return_max = sum("return_max");
      for (const [k, { name }] of spec.terms.entries()) values[`reward_${name}`] = total[STATS.length + k]! / sum("returns");
    }
    return Object.fromEntries(Object.entries(values).filter(([, value]) => Number.isFinite(value)));
  }
}
