/** Running normalisers of observations and rewards, folded into the network: dshq_widget/algorithms/ppo/learners/normalizer.py. */

import type { Tensors } from "../files/tensors";
import { LANES, type Samples } from "../games/samples";
import { parts } from "../layers";
import type { Settings } from "../settings";
import { FIRST_COUNT, SMALLEST } from "../tables";

/** Vectors added in single precision before the sum goes on in double. */
const RUN = 64;

/** Running means and variances of some features. */
class Moments {
  mean: Float64Array;
  variance: Float64Array;
  count: number = FIRST_COUNT;

  constructor(size: number) {
    this.mean = new Float64Array(size);
    this.variance = new Float64Array(size).fill(1);
  }

  /** Joins those of `count` more samples: Welford's method, in parallel. */
  add(mean: Float64Array, variance: Float64Array, count: number): void {
    const total = this.count + count;
    const step = mean.map((m, k) => m - this.mean[k]!);
    const squares = this.variance.map((v, k) => v * this.count + variance[k]! * count + step[k]! ** 2 * ((this.count * count) / total));
    this.mean = this.mean.map((m, k) => m + step[k]! * (count / total));
    this.variance = squares.map((s) => s / total);
    this.count = total;
  }

  get deviation(): Float64Array {
    return this.variance.map((v) => Math.max(Math.sqrt(v), SMALLEST));
  }

  get state(): Float64Array {
    return Float64Array.of(...this.mean, ...this.variance, this.count);
  }

  restore(state: Float64Array): void {
    const size = this.mean.length;
    this.mean = state.slice(0, size);
    this.variance = state.slice(size, 2 * size);
    this.count = state[2 * size]!;
  }
}

export class Normalizer {
  /** Untrained weights are made for normalised numbers; those of a file without moments play as they are. */
  fresh = true;
  private empty = true; // no moments yet
  private readonly observations: Moments | null;
  private readonly returns: Moments | null;

  constructor(
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

  /** Playing weights as weights on normalised numbers; flat. */
  unfold(weights: Float32Array): Float32Array {
    return this.convert(weights, true);
  }

  /** The inverse of `unfold`. */
  fold(weights: Float32Array): Float32Array {
    return this.convert(weights, false);
  }

  /** Adds the rollout that was just learned from; returns the learned weights, folded. */
  learned(weights: Float32Array, samples: Samples, units: Int32Array): Float32Array {
    const folded = this.fold(weights);
    this.addAll(samples, units);
    return folded;
  }

  /** Adds the first rollout, which is not learned from; returns the weights, untrained ones folded. */
  measured(weights: Float32Array, samples: Samples, units: Int32Array): Float32Array {
    this.addAll(samples, units);
    const found = this.fresh ? this.fold(weights) : weights;
    this.fresh = this.empty = false;
    return found;
  }

  private addAll(samples: Samples, units: Int32Array): void {
    if (this.observations) add(this.observations, samples.obs!.f32, units);
    if (this.returns) add(this.returns, samples.returns!.f32, units);
  }

  state(): Tensors {
    const found: Tensors = {};
    for (const [name, moments] of this.named()) {
      const data = moments.state;
      found[name] = { dtype: "F64", shape: [data.length], data };
    }
    return found;
  }

  restore(state: Tensors): void {
    for (const [name, moments] of this.named()) {
      const kept = state[name]?.data;
      if (kept?.length !== 2 * moments.mean.length + 1) continue;
      moments.restore(Float64Array.from(kept as Float64Array));
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

  private convert(weights: Float32Array, unfold: boolean): Float32Array {
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

/** Means and variances of each feature of f32 `[units, n, 16]`: play/moments.py's `feature_moments`. */
function add(moments: Moments, values: Float32Array, units: Int32Array): void {
  const size = moments.mean.length;
  const count = units.length * LANES;
  const [mean, variance] = [new Float64Array(size), new Float64Array(size)];
  const [a, b] = [new Float32Array(LANES), new Float32Array(LANES)];
  const at = (unit: number, k: number) => (unit * size + k) * LANES;
  for (let k = 0; k < size; k++) {
    const pivot = values[at(units[0]!, k)]!; // taken off first, so that the squares lose nothing where the mean is large
    let [total, square] = [0, 0];
    for (let begin = 0; begin < units.length; begin += RUN) {
      a.fill(0);
      b.fill(0);
      for (const unit of units.subarray(begin, begin + RUN)) {
        for (let lane = 0; lane < LANES; lane++) {
          const x = Math.fround(values[at(unit, k) + lane]! - pivot);
          a[lane]! += x;
          b[lane]! += Math.fround(x * x);
        }
      }
      for (let lane = 0; lane < LANES; lane++) {
        total += a[lane]!;
        square += b[lane]!;
      }
    }
    mean[k] = pivot + total / count;
    variance[k] = Math.max(0, square / count - (total / count) ** 2);
  }
  if (mean.every(Number.isFinite) && variance.every(Number.isFinite)) moments.add(mean, variance, count);
}
