/**
 * Elo ratings with a confidence band, from a cross table of results: Bradley-Terry by maximum likelihood, as
 * dshq_widget/learning/elo.py has it. Tables are f64 [n * n], row by row.
 */
import { Z95 } from "../../contract/tables";

const NATURAL = 400 / Math.log(10); // Elo per unit of log-odds
const PRIOR_DRAWS = 2; // virtual draws of each free player, spread over the opponents it met
const [ITERATIONS, LARGEST_STEP, ENOUGH] = [100, 2, 1e-9];

/** Elo difference of a player with `points` in `matches`; one virtual draw keeps it finite. */
export function difference(points: number, matches: number): number {
  const share = (points + 0.5) / (matches + 1);
  return NATURAL * Math.log(share / (1 - share));
}

/**
 * Ratings and half the width of their 95 % bands, both [n], in Elo. `points[i, j]` are i's against j, `matches` is symmetric; `pinned`
 * [n] are the ratings that stay, NaN for the others. Whom no chain of matches links to a pinned player gets the pinned mean and an
 * infinite band.
 */
export function ratings(points: Float64Array, matches: Float64Array, pinned: Float64Array): { rating: Float64Array; half: Float64Array } {
  const n = pinned.length;
  const fixed = Array.from(pinned, (elo) => !Number.isNaN(elo));
  const known = pinned.filter((elo) => !Number.isNaN(elo));
  const middle = known.reduce((sum, elo) => sum + elo, 0) / known.length;
  const rating = pinned.map((elo) => (Number.isNaN(elo) ? middle : elo));
  const half = Float64Array.from(fixed, (stays) => (stays ? 0 : Infinity));
  const linked = chained(matches, fixed);
  const free = Array.from({ length: n }, (_, i) => i).filter((i) => linked[i] && !fixed[i]);
  if (free.length === 0) return { rating, half };
  const played = withDraws(points, matches, free);
  const theta = rating.map((elo) => elo / NATURAL);
  for (let round = 0; round < ITERATIONS; round++) {
    const { slope, curvature } = derivatives(theta, played.points, played.matches, free);
    const step = times(inverse(curvature, free.length), slope);
    free.forEach((i, k) => (theta[i]! += Math.min(Math.max(step[k]!, -LARGEST_STEP), LARGEST_STEP)));
    if (step.every((size) => Math.abs(size) < ENOUGH)) break;
  }
  const covariance = inverse(derivatives(theta, played.points, played.matches, free).curvature, free.length);
  free.forEach((i, k) => {
    half[i] = Z95 * NATURAL * Math.sqrt(covariance[k * (free.length + 1)]!);
    rating[i] = NATURAL * theta[i]!;
  });
  return { rating, half };
}

/** Points and matches with the virtual draws of the players who are `free`. */
function withDraws(points: Float64Array, matches: Float64Array, free: readonly number[]): { points: Float64Array; matches: Float64Array } {
  const n = Math.sqrt(matches.length);
  const more = { points: points.slice(), matches: matches.slice() };
  for (const i of free) {
    const row = matches.subarray(i * n, (i + 1) * n);
    const met = Math.max(sum(row), 1);
    row.forEach((count, j) => {
      const virtual = (PRIOR_DRAWS * count) / met;
      for (const place of [i * n + j, j * n + i]) {
        more.points[place]! += virtual / 2;
        more.matches[place]! += virtual;
      }
    });
  }
  return more;
}

/** Slope [free] and negative curvature [free * free] of the log-likelihood, which is concave. */
function derivatives(
  theta: Float64Array,
  points: Float64Array,
  matches: Float64Array,
  free: readonly number[],
): { slope: Float64Array; curvature: Float64Array } {
  const n = theta.length;
  const slope = new Float64Array(free.length);
  const curvature = new Float64Array(free.length ** 2);
  const place = new Map(free.map((i, k) => [i, k]));
  free.forEach((i, k) => {
    for (let j = 0; j < n; j++) {
      const expected = 1 / (1 + Math.exp(theta[j]! - theta[i]!));
      const information = matches[i * n + j]! * expected * (1 - expected);
      slope[k]! += points[i * n + j]! - matches[i * n + j]! * expected;
      curvature[k * (free.length + 1)]! += information;
      const other = place.get(j);
      if (other !== undefined) curvature[k * free.length + other]! -= information;
    }
  });
  return { slope, curvature };
}

/** Whom a chain of matches links to one of `start`. */
function chained(matches: Float64Array, start: readonly boolean[]): boolean[] {
  const n = start.length;
  const linked = [...start];
  const waiting = [...linked.keys()].filter((i) => linked[i]);
  for (let i = waiting.pop(); i !== undefined; i = waiting.pop()) {
    for (let j = 0; j < n; j++) {
      if (linked[j] || !(matches[j * n + i]! > 0)) continue;
      linked[j] = true;
      waiting.push(j);
    }
  }
  return linked;
}

/** The inverse of a symmetric positive definite matrix [n * n], by Gauss and Jordan; such a one needs no pivots. */
function inverse(matrix: Float64Array, n: number): Float64Array {
  const found = matrix.slice();
  for (let k = 0; k < n; k++) {
    const pivot = found[k * n + k]!;
    found[k * n + k] = 1;
    for (let j = 0; j < n; j++) found[k * n + j]! /= pivot;
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const factor = found[i * n + k]!;
      found[i * n + k] = 0;
      for (let j = 0; j < n; j++) found[i * n + j]! -= factor * found[k * n + j]!;
    }
  }
  return found;
}

function times(matrix: Float64Array, vector: Float64Array): Float64Array {
  const n = vector.length;
  return vector.map((_, i) => vector.reduce((total, value, j) => total + matrix[i * n + j]! * value, 0));
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
