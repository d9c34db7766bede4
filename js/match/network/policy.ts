/**
 * The policy and value network. The blob is float32, little-endian: for each layer W as [n_in, n_out] row-major, then
 * b [n_out]; `layers` = [n_obs, hidden..., n_actions + 1], the last output is the value (docs/architecture.md, "Policy"); what
 * stands in front of the hidden layers and behind them is written as negative numbers (layers.ts).
 */

import type { Activation, Bytes } from "../../contract/protocol";
import { Grid } from "./grid";
import { countFloats, type Front, readLayers } from "./layers";
import type { Memory } from "./memory";

export class Policy {
  readonly probabilities: Float32Array; // [n_actions], of the last forward()
  value = 0; // of the last forward()
  private readonly weights: Float32Array;
  private readonly outputs: Float32Array[]; // one per dense layer after the input
  private readonly front: Front | null;
  private readonly memory: Memory | null;
  private readonly sizes: readonly number[]; // what each dense layer reads
  private readonly features: Float32Array; // what stands in front gives it
  private seen = new Float32Array(0); // the observation of the last forward()

  /** Throws an Error when the blob does not fit `layers` or holds numbers that are not finite. */
  constructor(
    readonly version: number,
    readonly layers: readonly number[],
    readonly activation: Activation,
    data: Bytes,
  ) {
    const wanted = countFloats(layers);
    if (layers.length < 2 || data.byteLength !== 4 * wanted) {
      throw new Error(`Policy version ${version} was refused: layers ${layers.join("-")} need ${4 * wanted} bytes, got ${data.byteLength}.`);
    }
    this.weights = new Float32Array(copyOf(data));
    if (!this.weights.every(Number.isFinite)) {
      throw new Error(`Policy version ${version} was refused: it contains numbers that are not finite. The last valid policy keeps playing.`);
    }
    const { front, dense, memory } = readLayers(layers);
    [this.front, this.memory, this.features] = [front, memory, new Float32Array(front ? dense[0]! : 0)];
    this.sizes = memory ? dense.with(-2, memory.units) : dense;
    this.outputs = dense.slice(1).map((width) => new Float32Array(width));
    this.probabilities = new Float32Array(layers[layers.length - 1]! - 1);
  }

  get remembers(): boolean {
    return this.memory !== null;
  }

  /** Numbers of a memory's state, 0 without a memory. */
  get stateSize(): number {
    return 2 * (this.memory?.units ?? 0);
  }

  /** A memory's state when an episode begins; empty without a memory. */
  fresh(): Float32Array<ArrayBuffer> {
    return new Float32Array(this.stateSize);
  }

  /** The memory's state after the last forward(). */
  get remembered(): Float32Array {
    return this.memory?.next ?? this.fresh();
  }

  /**
   * Fills `probabilities` and `value` from an observation [n_obs] and, with a memory, its state before; what `allowed` [n_actions] has a 0
   * for gets probability 0.
   */
  forward(observation: Float32Array, allowed?: Uint8Array, state?: Float32Array): void {
    const last = this.outputs.length - 1;
    let input = this.front ? this.features : observation;
    let at = this.front?.floats ?? 0;
    if (this.front) {
      this.seen = observation.slice();
      this.front.forward(this.weights, observation, this.features);
    }
    for (let k = 0; k <= last; k++) {
      const output = this.outputs[k]!;
      if (k === last && this.memory) {
        this.memory.forward(this.weights, at, input, state ?? this.fresh());
        [at, input] = [at + this.memory.floats, this.memory.given];
      }
      at = dense(this.weights, at, input, this.sizes[k]!, output);
      if (k < last) activate(output, this.activation);
      input = output;
    }
    this.value = input[input.length - 1]!;
    if (this.front && !(this.front instanceof Grid)) input = this.front.judge(this.weights, input);
    if (allowed) this.probabilities.forEach((_, k) => (input[k] = allowed[k] ? input[k]! : -Infinity));
    softmax(input, this.probabilities);
  }

  /** Writes d log p(action) / d observation [n_obs] into `out`, at the observation of the last forward(). */
  gradient(action: number, out: Float32Array): void {
    let slope = new Float32Array(this.probabilities.length + 1); // of log p by this layer's output; the value has no part in it
    this.probabilities.forEach((p, k) => (slope[k] = (k === action ? 1 : 0) - p));
    if (this.front && !(this.front instanceof Grid)) slope = this.front.judged(this.weights, slope);
    let end = this.weights.length;
    for (let k = this.outputs.length - 1; k >= 0; k--) {
      const [rows, columns] = [this.sizes[k]!, slope.length];
      const at = end - (rows + 1) * columns;
      const below = k > 0 || this.front ? new Float32Array(rows) : out;
      for (let i = 0; i < rows; i++) {
        let sum = 0;
        for (let j = 0; j < columns; j++) sum += this.weights[at + i * columns + j]! * slope[j]!;
        below[i] = sum;
      }
      slope = below as Float32Array<ArrayBuffer>;
      end = at;
      if (k === this.outputs.length - 1 && this.memory) {
        end -= this.memory.floats;
        slope = this.memory.gradient(this.weights, end, slope);
      }
      if (k > 0) for (let i = 0; i < slope.length; i++) slope[i]! *= slopeAt(this.outputs[k - 1]![i]!, this.activation);
    }
    this.front?.gradient(this.weights, this.seen, slope, out);
  }
}

/** Fills `output` with the bias and what `rows` inputs give, by weights from `at` on; where the next layer's begin. Four inputs at a time. */
function dense(weights: Float32Array, at: number, input: Float32Array, rows: number, output: Float32Array): number {
  const columns = output.length;
  const bias = at + rows * columns;
  for (let j = 0; j < columns; j++) output[j] = weights[bias + j]!;
  let i = 0;
  for (; i + 3 < rows; i += 4) {
    const [x0, x1, x2, x3] = [input[i]!, input[i + 1]!, input[i + 2]!, input[i + 3]!];
    const row = at + i * columns;
    for (let j = 0, w = row; j < columns; j++, w++) {
      output[j]! += x0 * weights[w]! + x1 * weights[w + columns]! + x2 * weights[w + 2 * columns]! + x3 * weights[w + 3 * columns]!;
    }
  }
  for (; i < rows; i++) {
    const x = input[i]!;
    for (let j = 0; j < columns; j++) output[j]! += x * weights[at + i * columns + j]!;
  }
  return bias + columns;
}

/** Of the activation, where it gave `y`. */
function slopeAt(y: number, activation: Activation): number {
  return activation === "tanh" ? 1 - y * y : Number(y > 0);
}

function activate(output: Float32Array, activation: Activation): void {
  if (activation === "tanh") for (let j = 0; j < output.length; j++) output[j] = Math.tanh(output[j]!);
  else for (let j = 0; j < output.length; j++) output[j] = Math.max(0, output[j]!);
}

/** Softmax of the first `out.length` logits. */
function softmax(logits: Float32Array, out: Float32Array): void {
  let top = -Infinity;
  for (let j = 0; j < out.length; j++) top = Math.max(top, logits[j]!);
  let sum = 0;
  for (let j = 0; j < out.length; j++) sum += out[j] = Math.exp(logits[j]! - top);
  for (let j = 0; j < out.length; j++) out[j]! /= sum;
}

/** The index whose share of the cumulated probabilities holds `u` in [0, 1). */
export function sample(probabilities: Float32Array | Float64Array, u: number): number {
  let left = u;
  let last = 0; // what rounding leaves over is the last possible one's
  for (let j = 0; j < probabilities.length; j++) {
    if (probabilities[j] === 0) continue;
    left -= probabilities[j]!;
    last = j;
    if (left < 0) break;
  }
  return last;
}

/** Probabilities of each option of each choice; an action index is a mixed-radix number, first choice most significant. */
export function marginals(probabilities: Float32Array, sizes: readonly number[]): number[][] {
  const rows = sizes.map((size) => new Array<number>(size).fill(0));
  probabilities.forEach((p, action) => {
    for (const [c, option] of optionsOf(action, sizes).entries()) rows[c]![option]! += p;
  });
  return rows;
}

/** An ArrayBuffer of its own, aligned, whatever the bytes came in. */
export function copyOf(data: Bytes): ArrayBuffer {
  return ArrayBuffer.isView(data) ? (data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer) : data.slice(0);
}

/** The option of each choice, of which there are `sizes`; an action index is a mixed-radix number, first choice most significant. */
export function optionsOf(action: number, sizes: readonly number[]): number[] {
  const options: number[] = [];
  for (let rest = action, c = sizes.length - 1; c >= 0; c--) {
    options.unshift(rest % sizes[c]!);
    rest = Math.floor(rest / sizes[c]!);
  }
  return options;
}
