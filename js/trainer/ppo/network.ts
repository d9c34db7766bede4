/** The policy network of a run: its layers, which weights learn, and fresh ones. dshq_widget/policy/network.py. */
import type { DrillSpec } from "../../contract/protocol";
import type { Draws } from "../draws";
import { asNetwork, countFloats, parts, shapesOf } from "../layers";
import type { Settings } from "../settings";
import { GAINS } from "../tables";

/** Observations, what stands in front, hidden sizes, a memory, actions and the value. */
export function layersOf(spec: DrillSpec, settings: Pick<Settings, "hidden_sizes" | "separate_value_net" | "memory">): number[] {
  const hidden = settings.hidden_sizes.map((size) => size * (settings.separate_value_net ? 2 : 1));
  return [spec.n_obs, ...(spec.front ?? []), ...hidden, ...(settings.memory ? [-settings.memory] : []), spec.n_actions + 1];
}

/** A block of a matrix in flat weights: rows and columns from `row`, `column` on. */
interface Piece {
  at: number;
  stride: number;
  row: number;
  rows: number;
  column: number;
  columns: number;
}

/** The matrices of each network: one, or the policy's and the value's, which lie side by side. A grid's are not among them. */
function networks(layers: readonly number[], separate: boolean): Piece[][] {
  const { front } = asNetwork(layers);
  const matrices = parts(layers).slice(front?.kind === "grid" ? 1 : 0);
  const whole = ({ at, inputs, outputs }: (typeof matrices)[number]): Piece => ({ at, stride: outputs, row: 0, rows: inputs, column: 0, columns: outputs });
  if (!separate) return [matrices.map(whole)];
  const last = matrices.length - 1;
  return [0, 1].map((half) =>
    matrices.map((matrix, k) => {
      const piece = whole(matrix);
      const middle = { row: k > 0 ? matrix.inputs >> 1 : 0, column: k < last ? matrix.outputs >> 1 : matrix.outputs - 1 };
      if (half === 0) return { ...piece, rows: k > 0 ? middle.row : piece.rows, columns: middle.column };
      return { ...piece, row: middle.row, rows: matrix.inputs - middle.row, column: middle.column, columns: matrix.outputs - middle.column };
    }),
  );
}

/** 1 for weights that learn, 0 for those between separate networks; flat. */
export function learningMask(layers: readonly number[]): Float32Array {
  const mask = new Float32Array(countFloats(shapesOf(asNetwork(layers))));
  for (const { at, inputs, outputs } of parts(layers)) mask.fill(1, at + inputs * outputs, at + (inputs + 1) * outputs);
  for (const network of networks(layers, true)) for (const piece of network) fill(mask, piece, () => 1);
  return mask;
}

/** Fresh flat weights: orthogonal, biases zero. The same distribution as in Python; not the same numbers, which come from another method. */
export function untrained(layers: readonly number[], separate: boolean, draws: Draws): Float32Array {
  const weights = new Float32Array(countFloats(shapesOf(asNetwork(layers))));
  const all = networks(layers, separate);
  const put = (piece: Piece, gain: number) => {
    const matrix = orthogonal(draws, piece.rows, piece.columns);
    fill(weights, piece, (i, j) => matrix[i * piece.columns + j]! * gain);
  };
  for (const network of all) for (const piece of network.slice(0, -1)) put(piece, GAINS.hidden);
  const { front, memory } = asNetwork(layers);
  if (memory) {
    const piece = all[0]!.at(-2)!;
    const inputs = piece.rows - memory;
    put({ ...piece, rows: inputs }, GAINS.memory);
    put({ ...piece, row: inputs, rows: memory }, GAINS.memory);
  }
  if (front?.kind === "grid") {
    const { inputs, outputs } = parts(layers)[0]!;
    weights.set(draws.normal((inputs + 1) * outputs).map((x) => x * GAINS.grid));
  }
  if (front?.kind === "pairs") put(all[0]![front.shapes.length - 1]!, GAINS.policy); // from the sum of parts to the logit
  const [head, judge] = [all[0]!.at(-1)!, all.at(-1)!.at(-1)!];
  put({ ...head, columns: Math.min(head.columns, layers.at(-1)! - 1) }, front?.kind === "pairs" ? GAINS.context : GAINS.policy);
  put({ ...judge, column: judge.stride - 1, columns: 1 }, GAINS.value);
  return weights;
}

function fill(weights: Float32Array, { at, stride, row, rows, column, columns }: Piece, value: (i: number, j: number) => number): void {
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) weights[at + (row + i) * stride + column + j] = value(i, j);
}

/** Orthonormal columns, or rows where there are more columns: Gram and Schmidt's on normal numbers. Saxe et al., 2014. */
function orthogonal(draws: Draws, rows: number, columns: number): Float64Array {
  const [long, short] = [Math.max(rows, columns), Math.min(rows, columns)];
  const vectors = Array.from({ length: short }, () => draws.normal(long));
  for (const [k, vector] of vectors.entries()) {
    for (const earlier of [...vectors.slice(0, k), ...vectors.slice(0, k)]) {
      // twice: once leaves a rest where two were nearly alike
      const along = vector.reduce((sum, x, i) => sum + x * earlier[i]!, 0);
      for (let i = 0; i < long; i++) vector[i]! -= along * earlier[i]!;
    }
    const norm = Math.hypot(...vector);
    for (let i = 0; i < long; i++) vector[i]! /= norm;
  }
  const matrix = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) matrix[i * columns + j] = rows >= columns ? vectors[j]![i]! : vectors[i]![j]!;
  return matrix;
}
