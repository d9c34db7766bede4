/** Running normalisers of observations and rewards, folded into the network: dshq_widget/algorithms/ppo/learners/normalizer.py. */

import { type Tensors, tensor } from "../files/tensors";
import type { Block } from "../games/heap";
import type { Kernels } from "../games/kernels";
import { LANES, type Samples } from "../games/samples";
import { parts } from "../layers";
import type { Settings } from "../settings";
import { FIRST_COUNT, SMALLEST } from "../tables";

/** Running means and variances of some features. */
class Moments {
  readonly numbers: Float64Array; // [2 size + 1]: means, variances, their count

  constructor(readonly size: number) {
    this.numbers = Float64Array.from({ length: 2 * size + 1 }, (_, k) => (k < size ? 0 : k < 2 * size ? 1 : FIRST_COUNT));
  }

  get mean(): Float64Array {
    return this.numbers.subarray(0, this.size);
  }

  get count(): number {
    return this.numbers.at(-1)!;
  }

  get deviation(): Float64Array {
    return this.numbers.slice(this.size, 2 * this.size).map((variance) => Math.max(Math.sqrt(variance), SMALLEST));
  }

  /** Joins those of f32 `[all units, size, 16]` over `units`, unless they are not finite: dshq_kernels/run/moments.py. */
  add(kernels: Kernels, values: Block, units: Int32Array): void {
    const { heap } = kernels;
    const { size } = this;
    heap.borrow(() => {
      const [chosen, moments, room] = [heap.i64(units), heap.f64(this.numbers), heap.take(16 * size)];
      const given = { units: chosen.at, n: units.length, values: values.at, all_units: Math.floor(values.bytes / (4 * LANES * size)), size };
      kernels.call("add_moments", { ...given, moments: moments.at, room: room.at });
      this.numbers.set(moments.f64.subarray(0, this.numbers.length));
    });
  }
}

export class Normalizer {
  /** Untrained weights are made for normalised numbers; those of a file without moments play as they are. */
  fresh = true;
  private empty = true; // no moments yet
  private readonly observations: Moments | null;
  private readonly returns: Moments | null;

  constructor(
    private readonly kernels: Kernels,
    private readonly layers: readonly number[],
    settings: Pick<Settings, "normalize_observations" | "normalize_rewards">,
  ) {
    if (settings.normalize_observations && layers[1]! < 0) {
      throw new Error("normalize_observations works only with dense networks, not with a grid or pairs: set it to false.");
    }
    this.observations = settings.normalize_observations ? new Moments(layers[0]!) : null;
    this.returns = settings.normalize_rewards ? new Moments(1) : null;
  }

  get active(): boolean {
    return this.observations !== null || this.returns !== null;
  }

  /** Whether the next rollout is for the moments alone. */
  get measures(): boolean {
    return this.active && this.empty;
  }

  /** f32 `[n_obs, 2]`: mean and 1 / deviation of each observation; empty where they are left alone. */
  get inputs(): Float32Array {
    const found = this.observations;
    if (!found) return new Float32Array(0);
    const { deviation } = found;
    return Float32Array.from({ length: 2 * deviation.length }, (_, k) => (k % 2 ? 1 / deviation[k >> 1]! : found.mean[k >> 1]!));
  }

  /** Factor of values and returns while learning. */
  get rewardScale(): number {
    return this.returns ? Math.fround(1 / this.returns.deviation[0]!) : 1;
  }

  /** Adds the rollout that was just learned from; returns the learned weights, folded. */
  learned(weights: Float32Array, samples: Samples, units: Int32Array): Float32Array {
    const folded = this.convert(weights);
    this.addAll(samples, units);
    return folded;
  }

  /** Adds the first rollout, which is not learned from; returns the weights, untrained ones folded. */
  measured(weights: Float32Array, samples: Samples, units: Int32Array): Float32Array {
    this.addAll(samples, units);
    const found = this.fresh ? this.convert(weights) : weights;
    this.fresh = this.empty = false;
    return found;
  }

  /** Other weights were loaded. Untrained ones are made for normalised numbers, whatever the moments are by now: the next rollout is measured. */
  loaded(untrained: boolean): void {
    this.fresh = untrained;
    this.empty ||= untrained;
  }

  /** The weights are trained: they play as they are. */
  trained(): void {
    this.fresh = false;
  }

  private addAll(samples: Samples, units: Int32Array): void {
    if (this.observations) this.observations.add(this.kernels, samples.obs!, units);
    if (this.returns) this.returns.add(this.kernels, samples.returns!, units);
  }

  state(): Tensors {
    const found: Tensors = {};
    for (const [name, moments] of this.named()) {
      found[name] = tensor("F64", moments.numbers.slice());
    }
    return found;
  }

  restore(state: Tensors): void {
    for (const [name, moments] of this.named()) {
      const kept = state[name]?.data;
      if (kept?.length !== moments.numbers.length) continue;
      moments.numbers.set(kept as Float64Array);
      this.fresh = this.empty = moments.count < 1;
    }
  }

  private named(): [string, Moments][] {
    const all: [string, Moments | null][] = [
      ["normalizer.observations", this.observations],
      ["normalizer.returns", this.returns],
    ];
    return all.filter((entry): entry is [string, Moments] => entry[1] !== null);
  }

  /** Weights on normalised numbers as playing weights, or with `unfold` the other way; flat. */
  convert(weights: Float32Array, unfold = false): Float32Array {
    const found = Float64Array.from(weights);
    const [first, last] = [parts(this.layers)[0]!, parts(this.layers).at(-1)!];
    if (this.observations) {
      const { mean, deviation } = this.observations;
      const bias = first.at + first.inputs * first.outputs;
      for (let o = 0; o < first.outputs; o++) {
        let moved = 0;
        for (let i = 0; i < first.inputs; i++) {
          const place = first.at + i * first.outputs + o;
          if (!unfold) found[place]! /= deviation[i]!;
          moved += mean[i]! * found[place]!;
          if (unfold) found[place]! *= deviation[i]!;
        }
        found[bias + o]! += unfold ? moved : -moved;
      }
    }
    if (this.returns) {
      const deviation = this.returns.deviation[0]!;
      for (let i = 0; i <= last.inputs; i++) {
        const place = last.at + i * last.outputs + last.outputs - 1; // the last row is the bias
        if (unfold) found[place]! /= deviation;
        else found[place]! *= deviation;
      }
    }
    return Float32Array.from(found);
  }
}
