/**
 * Detects when a policy has stopped exploring without having found good returns, as dshq_widget/learning/exploration.py does: entropy
 * near zero alone is not a problem, a drill with one right answer needs it.
 */
import { general } from "./files/format";
import type { Tensor } from "./files/tensor";
import { ENTROPY } from "./tables";

/** Checks every update; keeps the newest weights that still explored, and the increase of the entropy bonus. */
export class EntropyGuard {
  bonus = 0;
  awake: Float32Array | null = null;
  private low = 0;
  private usual = Number.NaN;

  /**
   * `entropy` (nats) and mean return of the update that led to the flat `weights`, which are kept, not copied. Gives "" or what went wrong,
   * as part of a sentence, with `bonus` raised. A floor of 0 disables it.
   */
  afterUpdate(entropy: number, returns: number, floor: number, weights: Float32Array): string {
    if (entropy >= ENTROPY.reserve * floor) {
      this.awake = weights;
      this.usual = Number.isNaN(this.usual) ? returns : this.usual + ENTROPY.memory * (returns - this.usual);
    }
    this.low = entropy < floor && !(returns > this.usual) ? this.low + 1 : 0;
    if (this.low < ENTROPY.updates || this.bonus >= ENTROPY.largest_bonus) return "";
    this.low = 0;
    this.bonus = Math.min(Math.max(ENTROPY.first_bonus, 2 * this.bonus), ENTROPY.largest_bonus);
    return `entropy stayed below ${general(floor)} nats for ${ENTROPY.updates} updates (now ${general(entropy)}) without better returns`;
  }

  /** The reward weights have changed: returns and weights from before say nothing of the new aim. */
  rewardsChanged(): void {
    [this.low, this.usual, this.awake] = [0, Number.NaN, null];
  }

  /** Its memory, as a policy file's tensors. */
  state(): Record<string, Tensor> {
    const usual = Number.isNaN(this.usual) ? 0 : this.usual;
    const kept: Record<string, Tensor> = this.awake ? { "train.awake": { dtype: "F32", shape: [this.awake.length], data: this.awake } } : {};
    return { "train.entropy": { dtype: "F64", shape: [3], data: Float64Array.of(this.low, this.bonus, usual) }, ...kept };
  }

  /** Restores what `state` gave. */
  restore(state: Readonly<Record<string, Tensor>>): void {
    const kept = state["train.entropy"];
    if (kept?.dtype !== "F64") return;
    const [low, bonus, usual] = kept.data;
    const awake = state["train.awake"];
    [this.low, this.bonus] = [low!, bonus!];
    this.awake = awake?.dtype === "F32" ? awake.data : null;
    this.usual = this.awake ? usual! : Number.NaN;
  }
}
