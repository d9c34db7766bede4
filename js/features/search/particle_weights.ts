/** Weights of particles: softmax of what they gained over a temperature, their effective sample size, and the temperature itself. */

const HALVINGS = 40; // of the interval that holds the temperature
const WIDEST = 1e3; // of it, in differences of gain: weights are all but equal at its upper end, and all but one at its lower
const ALIKE = 1e-9; // gains that differ by less are the same

/** Fills `weights` with softmax(gains / temperature), of the first `count`. */
export function weigh(gains: Float64Array, count: number, temperature: number, weights: Float64Array): void {
  let top = -Infinity;
  for (let k = 0; k < count; k++) top = Math.max(top, gains[k]!);
  let sum = 0;
  for (let k = 0; k < count; k++) sum += weights[k] = Math.exp((gains[k]! - top) / temperature);
  for (let k = 0; k < count; k++) weights[k]! /= sum;
}

/** Effective sample size: between 1 and `count`. */
export function sampleSize(weights: Float64Array, count: number): number {
  let squares = 0;
  for (let k = 0; k < count; k++) squares += weights[k]! * weights[k]!;
  return 1 / squares;
}

/**
 * The temperature at which KL(weights, uniform) is `divergence`, as near as one comes: few particles, or several best ones, never
 * get that far from uniform. Infinity where no particle differs from another. `weights` [count] is written over.
 */
export function temperatureOf(gains: Float64Array, count: number, divergence: number, weights: Float64Array): number {
  let [least, most] = [Infinity, -Infinity];
  for (let k = 0; k < count; k++) {
    least = Math.min(least, gains[k]!);
    most = Math.max(most, gains[k]!);
  }
  const spread = most - least;
  if (!(spread > ALIKE)) return Infinity;
  let [low, high] = [spread / WIDEST, spread * WIDEST];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = Math.sqrt(low * high); // the divergence falls as the temperature rises
    weigh(gains, count, middle, weights);
    if (fromUniform(weights, count) > divergence) low = middle;
    else high = middle;
  }
  return high;
}

/** KL(weights, uniform) = sum of w log(count w). */
function fromUniform(weights: Float64Array, count: number): number {
  let sum = 0;
  for (let k = 0; k < count; k++) if (weights[k]! > 0) sum += weights[k]! * Math.log(count * weights[k]!);
  return sum;
}
