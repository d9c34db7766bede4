/**
 * Detects when training collapses: updates outside their bounds, or a score that stays below the champion's. The thresholds and their
 * reasons are those of dshq_widget/learning/collapse_guard.py.
 */
import { general, percent } from "../files/format";
import { wilson } from "./wilson";

const KL_LIMIT = 1; // nats
const [VALUE_LIMIT, VALUE_MEMORY, VALUE_WARM_UP] = [30, 0.02, 100];
const STRIKES = 3; // updates in a row
const [KEEP, ROUNDS, MEMORY] = [0.95, 3, 12];
const SEVERE = 0.75;
const WORTH = 0.5;

/** Checks every update and every evaluation round; gives "" or what went wrong, as part of a sentence. */
export class CollapseGuard {
  private typical = 0; // mean logarithm of the value loss
  private updates = 0; // since the start or the last revert
  private strikes = 0; // updates out of bounds in a row
  private recent: [points: number, matches: number][] = [];
  since: number | null = null; // best share since the reward weights changed

  /** `learned` are the metrics of one update, or none of one that was skipped. */
  afterUpdate(learned: { approx_kl?: number; loss_value?: number }): string {
    if (learned.loss_value === undefined) return "";
    const kl = learned.approx_kl!;
    const loss = Math.max(learned.loss_value, 1e-12);
    const wild = this.updates >= VALUE_WARM_UP && !(Math.log(loss) <= this.typical + Math.log(VALUE_LIMIT));
    if (wild || !(kl <= KL_LIMIT)) {
      this.strikes += 1;
      const usual = `the value loss is ${general(loss)}; it is usually ${general(Math.exp(this.typical))}`;
      const what = wild ? usual : `an update moved the policy by ${general(kl)} nats`;
      return this.strikes >= STRIKES ? `${what}, ${STRIKES} times in a row` : "";
    }
    this.typical += Math.max(VALUE_MEMORY, 1 / (this.updates + 1)) * (Math.log(loss) - this.typical);
    this.updates += 1;
    this.strikes = 0;
    return "";
  }

  /** `points` in `matches` of the newest round against the pinned opponents; `best` is the champion's share. */
  afterRound(points: number, matches: number, best: number): string {
    let reference = best;
    if (this.since !== null) [reference, this.since] = [Math.min(best, this.since), Math.max(this.since, points / matches)];
    return this.fallen(points, matches, reference);
  }

  private fallen(points: number, matches: number, best: number): string {
    this.recent = [...this.recent.slice(1 - MEMORY), [points, matches]];
    if (best < WORTH) return "";
    const low = this.recent.slice(-ROUNDS).every(([p, n]) => p < KEEP * best * n);
    for (let count = 1; count <= this.recent.length; count = Math.max(count + 1, ROUNDS)) {
      if (count > 1 && !low) break;
      const rounds = this.recent.slice(-count);
      const total = rounds.reduce((sum, [p]) => sum + p, 0);
      const played = rounds.reduce((sum, [, n]) => sum + n, 0);
      if (wilson(total, played - total)[1] < (count > 1 ? KEEP : SEVERE) * best) {
        const over = count > 1 ? ` over ${count} rounds` : "";
        return `the score against the pinned opponents fell from ${percent(best)} to ${percent(total / played)}${over}`;
      }
    }
    return "";
  }

  /** Training reverted to other weights: forget what was usual. */
  startOver(): void {
    [this.typical, this.updates, this.strikes, this.recent] = [0, 0, 0, []];
  }

  /** The reward weights have changed: forget what was usual and what was best. */
  paidOtherwise(): void {
    this.startOver();
    this.since = 0;
  }

  /** Its memory. */
  state(): Float64Array {
    return Float64Array.from([this.typical, this.updates, this.strikes, ...this.recent.flat()]);
  }

  /** Restores what `state` gave. */
  restore(state: Float64Array): void {
    [this.typical, this.updates, this.strikes] = [state[0]!, state[1]!, state[2]!];
    this.recent = Array.from({ length: (state.length - 3) / 2 }, (_, k) => [state[3 + 2 * k]!, state[4 + 2 * k]!]);
  }
}
