/** Detects updates that make training collapse: dshq_widget/learning/league/collapse_guard.py. What has collapsed against others is found by fall_test.ts. */
import { general } from "../files/format";
import { GUARD } from "../tables";

/** Checks every update; gives "" or what went wrong, as part of a sentence. */
export class CollapseGuard {
  private typical = 0; // mean logarithm of the value loss
  private updates = 0; // since the start or the last revert
  private strikes = 0; // updates out of bounds in a row

  /** `learned` are the metrics of one update, or none of one that was skipped. */
  afterUpdate(learned: { approx_kl?: number; loss_value?: number }): string {
    if (learned.loss_value === undefined) return "";
    const kl = learned.approx_kl!;
    const loss = Math.max(learned.loss_value, 1e-12);
    const wild = this.updates >= GUARD.value_warm_up && !(Math.log(loss) <= this.typical + Math.log(GUARD.value_limit));
    if (wild || !(kl <= GUARD.kl_limit)) {
      this.strikes += 1;
      const usual = `the value loss is ${general(loss)}; it is usually ${general(Math.exp(this.typical))}`;
      const what = wild ? usual : `an update moved the policy by ${general(kl)} nats`;
      return this.strikes >= GUARD.strikes ? `${what}, ${GUARD.strikes} times in a row` : "";
    }
    this.typical += Math.max(GUARD.value_memory, 1 / (this.updates + 1)) * (Math.log(loss) - this.typical);
    this.updates += 1;
    this.strikes = 0;
    return "";
  }

  /** Training reverted to other weights, or has another aim: forget what was usual. */
  startOver(): void {
    [this.typical, this.updates, this.strikes] = [0, 0, 0];
  }

  /** Its memory. */
  state(): Float64Array {
    return Float64Array.from([this.typical, this.updates, this.strikes]);
  }

  /** Restores what `state` gave; what files of before have behind it, results of rounds, is not needed. */
  restore(state: Float64Array): void {
    [this.typical, this.updates, this.strikes] = [state[0]!, state[1]!, state[2]!];
  }
}
