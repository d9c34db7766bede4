/** In which order a rollout's units are learned, and where minibatches begin: `plan_minibatches` of ppo/learners/learner.py. */
import type { Draws } from "../draws";
import { LANES } from "../games/samples";
import type { Hyper } from "./schedule";

export interface Minibatches {
  order: Int32Array; // units, over all epochs
  importance: Float32Array; // a factor of the advantages for each
  bounds: Int32Array; // where each minibatch begins, and the last one ends
}

/** `advantage` is f32 `[all units, 16]`. */
export function planMinibatches(draws: Draws, units: Int32Array, advantage: Float32Array | Float64Array, hyper: Hyper): Minibatches {
  const { epochs } = hyper;
  const count = minibatchCount(units.length, hyper.minibatch_size);
  const bounds = new Int32Array(epochs * count + 1);
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let k = 0; k < count; k++) bounds[epoch * count + k] = epoch * units.length + Math.floor((k * units.length) / count);
  }
  bounds[epochs * count] = epochs * units.length;
  const order = new Int32Array(epochs * units.length);
  const importance = new Float32Array(order.length).fill(1);
  if (hyper.priority_alpha > 0) {
    const { chance, factor } = priorities(units, advantage, hyper.priority_alpha, hyper.priority_beta);
    const drawn = draws.weighted(chance, order.length);
    for (let epoch = 0; epoch < epochs; epoch++) {
      const one = Int32Array.from(drawn.subarray(epoch * units.length, (epoch + 1) * units.length));
      if (hyper.minibatch_order === "sequential") one.sort();
      for (const [k, unit] of one.entries()) {
        order[epoch * units.length + k] = units[unit]!;
        importance[epoch * units.length + k] = factor[unit]!;
      }
    }
    return { order, importance, bounds };
  }
  for (let epoch = 0; epoch < epochs; epoch++) {
    const shuffled = hyper.minibatch_order === "random" ? draws.permutation(units.length) : null;
    for (let k = 0; k < units.length; k++) order[epoch * units.length + k] = units[shuffled ? shuffled[k]! : k]!;
  }
  return { order, importance, bounds };
}

/** The same with whole sequences of `length` decisions instead of single units: `plan_sequences` there. */
export function planSequences(draws: Draws, units: Int32Array, advantage: Float32Array, length: number, hyper: Hyper): Minibatches {
  const rows = sequences(units, length);
  const together = new Float64Array(rows.length * LANES); // `priorities` adds up what stands in a row
  for (const [k, row] of rows.entries()) {
    for (const unit of row) for (let lane = 0; lane < LANES; lane++) together[k * LANES + lane]! += Math.abs(advantage[unit * LANES + lane]!);
  }
  const whole = { ...hyper, minibatch_size: Math.max(LANES, Math.floor(hyper.minibatch_size / length)) };
  const { order, importance, bounds } = planMinibatches(
    draws,
    Int32Array.from(rows, (_, k) => k),
    together,
    whole,
  );
  return {
    order: Int32Array.from([...order].flatMap((k) => [...rows[k]!])),
    importance: Float32Array.from({ length: importance.length * length }, (_, k) => importance[Math.floor(k / length)]!),
    bounds: bounds.map((bound) => bound * length),
  };
}

/** Units of whole sequences, each in its order. They lie as `[groups, length, 2]`. */
function sequences(units: Int32Array, length: number): number[][] {
  const found = new Map<number, number[]>();
  for (const unit of units) {
    const sequence = Math.floor(unit / (2 * length)) * 2 + (unit % 2);
    found.set(sequence, [...(found.get(sequence) ?? []), unit]);
  }
  return [...found].sort(([a], [b]) => a - b).map(([, row]) => row);
}

/** Minibatches of an epoch over that many units, of about `size` agent steps each. */
export function minibatchCount(units: number, size: number): number {
  return Math.min(Math.max(1, roundHalfEven((units * LANES) / size)), units);
}

/** How likely each unit is drawn, and by which factor its advantages then count; the original says whose rule it is. */
function priorities(units: Int32Array, advantage: Float32Array | Float64Array, alpha: number, beta: number): { chance: Float64Array; factor: Float64Array } {
  const weight = Float64Array.from(units, (unit) => {
    let size = 0;
    for (let lane = 0; lane < LANES; lane++) size += Math.abs(advantage[unit * LANES + lane]!);
    return (Number.isFinite(size) ? size : 0) ** alpha + 1e-6;
  });
  const total = weight.reduce((sum, one) => sum + one, 0);
  const chance = weight.map((one) => one / total);
  return { chance, factor: chance.map((one) => (one * units.length) ** -beta) };
}

/** Python's `round`: halves go to the even number. */
function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}
