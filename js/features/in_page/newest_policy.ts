/** The newest policy that a trainer has published: it is handed on at most once per swap interval, the ones between are left out. */
import type { Model } from "../../contract/model";
import { SWAP_INTERVAL_MS_MIN } from "../../contract/tables";
import type { TrainedPolicy } from "../../contract/training";

export class NewestPolicy {
  private waiting: TrainedPolicy | null = null;
  private takenAt = Number.NEGATIVE_INFINITY; // ms

  constructor(private readonly model: Pick<Model, "get">) {}

  put(policy: TrainedPolicy): void {
    this.waiting = policy;
  }

  /** The policy that waits, if there is one and it is time; `now`: whatever the time. */
  take(now = false): TrainedPolicy | null {
    const policy = this.waiting;
    const pause = Math.max(this.model.get("show").swap_interval_ms, SWAP_INTERVAL_MS_MIN);
    if (!policy || (!now && performance.now() - this.takenAt < pause)) return null;
    this.takenAt = performance.now();
    this.waiting = null;
    return policy;
  }

  forget(): void {
    this.waiting = null;
  }
}
