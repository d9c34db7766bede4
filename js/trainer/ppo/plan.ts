/** Where a network's parameters lie in memory: dshq_kernels/network/mlp.py's `make_plan`. */
import type { Kernels } from "../games/kernels";
import { asNetwork, countFloats } from "../layers";
import { ACTIVATIONS, PAIR_ENTRIES, PIECES, PLAN_COLUMNS } from "../tables";

/**
 * Indices in the function table of `PAIR_ENTRIES`, the learner's functions that judge pairs: there a plan has their addresses on the processor.
 * `Modules` puts them there.
 */
export const ENTRY_INDICES = PAIR_ENTRIES.map((_, k) => 1 + k); // 0 is nobody's

/** A network's sizes and the places of its parameters. */
export interface Plan {
  readonly layers: readonly number[];
  readonly activation: number;
  readonly separate: boolean;
  /** Address of i64 `[rows, PLAN_COLUMNS]`. */
  readonly at: number;
  readonly rows: number;
  /** Units of the memory, 0 without one. */
  readonly memory: number;
  /** Floats of a padded parameter block. */
  readonly floats: number;
  /** Place in the block of each number of the flat weights. */
  readonly places: Int32Array;
  /** Floats of scratch memory for playing, without the game's own. */
  readonly playScratch: number;
  /** Of scratch memory for learning. */
  readonly learnScratch: number;
}

/**
 * `length`: decisions of the sequences that a network with a memory learns from. Throws an Error of one sentence for layers that are not those of a
 * network, and for two side by side behind a grid or pairs.
 */
export function makePlan(kernels: Kernels, layers: readonly number[], activation: string, separate: boolean, length = 1): Plan {
  const { front, dense, memory: units } = asNetwork(layers);
  if (front && separate) throw new Error("separate_value_net works only with dense networks, not with a grid or pairs: set it to false.");
  if (front?.kind === "places") throw new Error("A network with places in front learns with the algorithm gate, in the kernel.");
  const { heap } = kernels;
  const rows = dense.length - 1 + Number(units > 0);
  const { at } = heap.take(8 * rows * PLAN_COLUMNS);
  return heap.borrow(() => {
    const inFront = front?.kind === "pairs" ? [...front.sizes, ...ENTRY_INDICES] : (front?.sizes ?? []);
    const pieces = heap.take(32 * (1 + PIECES * rows));
    const sizes = { dense: heap.i64(dense).at, n_dense: dense.length, front: heap.i64(inFront).at, n_front: inFront.length };
    const ends = { n_obs: layers[0]!, n_actions: layers.at(-1)! - 1, in_front: countFloats(front?.shapes ?? []) };
    const given = { ...sizes, ...ends, memory: units, separate: Number(separate), length, plan: at, layers: rows, pieces: pieces.at };
    const [floats, playScratch, learnScratch] = kernels.values("plan_network", given, "floats", "play_scratch", "learn_scratch") as [number, number, number];
    const places = placesOf(pieces.i32);
    const kind = ACTIVATIONS[activation as keyof typeof ACTIVATIONS];
    return { layers, activation: kind, separate, at, rows, memory: units, floats, places, playScratch, learnScratch };
  });
}

/** Flat weights spread into a padded block of zeros. */
export function pack(plan: Plan, weights: ArrayLike<number>, block: Float32Array): void {
  block.fill(0, 0, plan.floats);
  for (let k = 0; k < plan.places.length; k++) block[plan.places[k]!] = weights[k]!;
}

/** The flat weights in a padded block. */
export function unpack(plan: Plan, block: Float32Array): Float32Array {
  return Float32Array.from(plan.places, (place) => block[place]!);
}

/** All places of pieces, each the i64 place of its first number, rows, columns, and how far it is from row to row. */
function placesOf(pieces: Int32Array): Int32Array {
  const places: number[] = [];
  for (let piece = 0; piece < pieces.length; piece += 8) {
    const [at, rows, columns, width] = [0, 2, 4, 6].map((word) => pieces[piece + word]!) as [number, number, number, number];
    for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) places.push(at + row * width + column);
  }
  return Int32Array.from(places);
}
