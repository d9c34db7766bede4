/** Where a network's parameters lie in memory: dshq_kernels/network/mlp.py's `make_plan`. */
import { LANES } from "../games/samples";
import { asNetwork, countFloats, type Front } from "../layers";
import { ACTIVATIONS, CHUNK, GATES, PAIR_ENTRIES, PLAN, PLAN_COLUMNS } from "../tables";

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
  /** i64 `[rows, PLAN_COLUMNS]`, row by row. */
  readonly numbers: Float64Array;
  readonly rows: number;
  /** Units of the memory, 0 without one. */
  readonly memory: number;
  /** Floats of a padded parameter block. */
  readonly floats: number;
  /** Place in the block of each number of the flat weights. */
  readonly places: Int32Array;
  /** Floats of scratch memory for playing, without the game's own. */
  readonly playScratch: number;
  /** Of scratch memory for learning, with a memory from sequences of so many decisions. */
  learnScratch(length: number): number;
}

/** `width` rounded up to the 32 columns of a block. */
const padded = (width: number) => Math.ceil(width / 32) * 32;

/** Throws an Error of one sentence for layers that are not those of a network, and for two side by side behind a grid or pairs. */
export function makePlan(layers: readonly number[], activation: string, separate: boolean): Plan {
  const { front, dense, memory } = asNetwork(layers);
  if (front && separate) throw new Error("separate_value_net works only with dense networks, not with a grid or pairs: set it to false.");
  if (front?.kind === "places") throw new Error("A network with places in front learns with the algorithm gate, in the kernel.");
  const frontFloats = front ? countFloats(front.shapes) : 0;
  const rows = dense.length - 1 + Number(memory > 0);
  const numbers = new Float64Array(rows * PLAN_COLUMNS);
  let offset = padded(frontFloats);
  for (let k = 0; k + 1 < dense.length; k++) {
    let [layer, nIn] = [k, dense[k]!];
    const nOut = dense[k + 1]!;
    if (memory && k === dense.length - 2) {
      const gates = GATES * padded(memory);
      const recall = offset + padded(nIn) * gates;
      const biases = recall + padded(memory) * gates;
      numbers.set([nIn, padded(nIn), gates, gates, offset, biases, 1], layer * PLAN_COLUMNS);
      numbers[PLAN.UNITS] = memory;
      numbers[PLAN.RECALL] = recall;
      [layer, nIn, offset] = [layer + 1, memory, biases + gates];
    }
    const biases = offset + padded(nIn) * padded(nOut);
    const halved = separate && layer > 0 && layer < rows - 1 && nIn % 64 === 0 && nOut % 64 === 0;
    numbers.set([nIn, padded(nIn), nOut, padded(nOut), offset, biases, halved ? 2 : 1], layer * PLAN_COLUMNS);
    offset = biases + padded(nOut);
  }
  numbers[PLAN.MEMORY] = memory ? rows - 2 : -1;
  const outputs = layers.at(-1)!;
  numbers[PLAN.N_OBS] = layers[0]!;
  numbers[PLAN.N_ACTIONS] = outputs - 1;
  if (front?.kind === "grid") numbers.set(front.sizes, PLAN.ROWS);
  if (front?.kind === "pairs") numbers.set([...front.sizes, ...ENTRY_INDICES], PLAN.ITEMS);
  const column = (name: keyof typeof PLAN) => Array.from({ length: rows }, (_, row) => numbers[row * PLAN_COLUMNS + PLAN[name]]!);
  const width = Math.max(...column("IN_WIDTH"), ...column("OUT_WIDTH"));
  const inWidth = numbers[PLAN.IN_WIDTH]!;
  const room = roomInFront(front, inWidth, outputs);
  const widths = column("OUT_WIDTH").reduce((sum, n) => sum + n, 0) + inWidth + 2 * width;
  const units = room.learning + column("OUT_WIDTH").at(-1)! + 2 * padded(outputs) + 2 * padded(memory);
  return {
    layers,
    activation: ACTIVATIONS[activation as keyof typeof ACTIVATIONS],
    separate,
    numbers,
    rows,
    memory,
    floats: offset,
    places: placesOf(numbers, rows, frontFloats),
    playScratch: (4 * width + room.playing) * LANES,
    learnScratch: (length) => (memory ? length : CHUNK) * 16 * (widths + 5 * padded(memory)) + 16 * units + offset,
  };
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

/** Units of scratch memory for what stands in front: maps and ways of a grid's sweeps, traits and parts of pairs with what is said of them. */
function roomInFront(front: Front | null, inWidth: number, outputs: number): { playing: number; learning: number } {
  if (!front) return { playing: 0, learning: 0 };
  if (front.kind === "places") return { playing: 0, learning: 0 };
  if (front.kind === "grid") {
    const [rows, columns, , maps, sweeps] = front.sizes;
    const cells = rows * columns;
    return { playing: 2 * cells + 2 * inWidth, learning: 4 * cells + CHUNK * cells * maps * sweeps };
  }
  const [items, , spaces, , traits, width] = front.sizes;
  const units = (items + spaces) * (traits + width);
  return { playing: units + 2 * (inWidth + outputs), learning: 2 * units };
}

function placesOf(numbers: Float64Array, rows: number, frontFloats: number): Int32Array {
  const places: number[] = Array.from({ length: frontFloats }, (_, k) => k);
  for (let layer = 0; layer < rows; layer++) {
    const at = (name: keyof typeof PLAN) => numbers[layer * PLAN_COLUMNS + PLAN[name]]!;
    const [nIn, nOut, width, weights, biases] = [at("N_IN"), at("N_OUT"), at("OUT_WIDTH"), at("WEIGHTS"), at("BIASES")];
    if (layer === numbers[PLAN.MEMORY]) {
      const [units, recall] = [numbers[PLAN.UNITS]!, numbers[PLAN.RECALL]!];
      const row = (begin: number) => {
        for (let gate = 0; gate < GATES; gate++) for (let k = 0; k < units; k++) places.push(begin + (gate * width) / GATES + k);
      };
      for (let i = 0; i < nIn; i++) row(weights + i * width);
      for (let i = 0; i < units; i++) row(recall + i * width);
      row(biases);
      continue;
    }
    for (let i = 0; i < nIn; i++) for (let o = 0; o < nOut; o++) places.push(weights + i * width + o);
    for (let o = 0; o < nOut; o++) places.push(biases + o);
  }
  return Int32Array.from(places);
}
