/** Where a network's parameters lie in memory: dshq_kernels/network/mlp.py's `make_plan`, for dense networks and grids. */
import { ACTIVATIONS, CHUNK, PLAN, PLAN_COLUMNS } from "./tables";

const LANES = 16;
const GRID_NUMBERS = 5; // rows, columns, planes, maps, sweeps
const WAYS = 4;

/** A grid layer's sizes, dshq_kernels/network/layers.py. */
interface Grid {
  rows: number;
  columns: number;
  planes: number;
  maps: number;
  sweeps: number;
}

/** A network's sizes and the places of its parameters. */
export interface Plan {
  readonly layers: readonly number[];
  readonly activation: number;
  readonly separate: boolean;
  /** i64 `[rows, PLAN_COLUMNS]`, row by row. */
  readonly numbers: Float64Array;
  readonly rows: number;
  /** Floats of a padded parameter block. */
  readonly floats: number;
  /** Place in the block of each number of the flat weights. */
  readonly places: Int32Array;
  /** Floats of scratch memory for playing, without the game's own. */
  readonly playScratch: number;
  readonly learnScratch: number;
}

/** `width` rounded up to the 32 columns of a block. */
const padded = (width: number) => Math.ceil(width / 32) * 32;

/** Throws an Error of one sentence for a network that the page cannot train. */
export function makePlan(layers: readonly number[], activation: string, separate: boolean): Plan {
  const { grid, dense } = parse(layers);
  const front = grid ? frontFloats(grid) : 0;
  const rows = dense.length - 1;
  const numbers = new Float64Array(rows * PLAN_COLUMNS);
  let offset = padded(front);
  for (let layer = 0; layer < rows; layer++) {
    const [nIn, nOut] = [dense[layer]!, dense[layer + 1]!];
    const biases = offset + padded(nIn) * padded(nOut);
    const halved = separate && layer > 0 && layer < rows - 1 && nIn % 64 === 0 && nOut % 64 === 0;
    numbers.set([nIn, padded(nIn), nOut, padded(nOut), offset, biases, halved ? 2 : 1], layer * PLAN_COLUMNS);
    offset = biases + padded(nOut);
  }
  const outputs = layers.at(-1)!;
  numbers[PLAN.N_OBS] = layers[0]!;
  numbers[PLAN.N_ACTIONS] = outputs - 1;
  if (grid) numbers.set([grid.rows, grid.columns, grid.planes, grid.maps, grid.sweeps], PLAN.ROWS);
  const column = (name: keyof typeof PLAN) => dense.slice(1).map((_, row) => numbers[row * PLAN_COLUMNS + PLAN[name]]!);
  const width = Math.max(...column("IN_WIDTH"), ...column("OUT_WIDTH"));
  const frontUnits = grid ? 2 * grid.rows * grid.columns : 0;
  const inWidth = numbers[PLAN.IN_WIDTH]!;
  const widths = column("OUT_WIDTH").reduce((sum, n) => sum + n, 0) + inWidth + 2 * width;
  const sweeps = grid ? CHUNK * grid.rows * grid.columns * grid.maps * grid.sweeps : 0;
  const units = 2 * frontUnits + sweeps + column("OUT_WIDTH").at(-1)! + 2 * Math.floor((outputs - 1 + 32) / 32) * 32;
  return {
    layers,
    activation: ACTIVATIONS[activation as keyof typeof ACTIVATIONS],
    separate,
    numbers,
    rows,
    floats: offset,
    places: placesOf(numbers, rows, front),
    playScratch: (4 * width + frontUnits + (grid ? 2 * inWidth : 0)) * LANES,
    learnScratch: CHUNK * 16 * widths + 16 * units + offset,
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

/** Flat weights layer by layer: where W `[inputs, outputs]` begins; b follows it. Those of a grid come first. */
export function parts(layers: readonly number[]): { at: number; inputs: number; outputs: number }[] {
  const { grid, dense } = parse(layers);
  const shapes = grid ? [[grid.planes, 2 * grid.maps]] : [];
  for (let k = 1; k < dense.length; k++) shapes.push([dense[k - 1]!, dense[k]!]);
  let at = 0;
  return shapes.map(([inputs, outputs]) => {
    const part = { at, inputs: inputs!, outputs: outputs! };
    at += inputs! * outputs! + outputs!;
    return part;
  });
}

/** Length of the flat weights. */
export function floatsOf(layers: readonly number[]): number {
  return parts(layers).reduce((sum, { inputs, outputs }) => sum + (inputs + 1) * outputs, 0);
}

export function parse(layers: readonly number[]): { grid: Grid | null; dense: number[] } {
  const end = layers.findIndex((n, k) => k > 0 && n > 0);
  const front = layers.slice(1, end).map((n) => -n);
  if (front.length === 0) return { grid: null, dense: [...layers] };
  if (front.length !== GRID_NUMBERS) {
    throw new Error("This drill's network judges pairs of items and spaces, and the page cannot train that: train it from Python.");
  }
  const [rows, columns, planes, maps, sweeps] = front as [number, number, number, number, number];
  const rest = layers[0]! - (planes + 1) * rows * columns;
  return { grid: { rows, columns, planes, maps, sweeps }, dense: [WAYS * maps + rest, ...layers.slice(end)] };
}

function frontFloats({ planes, maps }: Grid): number {
  return (planes + 1) * 2 * maps;
}

function placesOf(numbers: Float64Array, rows: number, front: number): Int32Array {
  const places: number[] = Array.from({ length: front }, (_, k) => k);
  for (let layer = 0; layer < rows; layer++) {
    const at = (name: keyof typeof PLAN) => numbers[layer * PLAN_COLUMNS + PLAN[name]]!;
    const [nIn, nOut, width, weights, biases] = [at("N_IN"), at("N_OUT"), at("OUT_WIDTH"), at("WEIGHTS"), at("BIASES")];
    for (let i = 0; i < nIn; i++) for (let o = 0; o < nOut; o++) places.push(weights + i * width + o);
    for (let o = 0; o < nOut; o++) places.push(biases + o);
  }
  return Int32Array.from(places);
}
