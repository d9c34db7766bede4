/**
 * Reads a network's `layers`, as dshq_kernels/network/layers.py defines them: dense layers, and an optional front layer of the drill,
 * written as negative numbers.
 */
import { Grid } from "./grid";
import { Pairs } from "./pairs";

/** The sizes of a network's dense part, and what stands in front of it, if anything. */
export function readLayers(layers: readonly number[]): { front: Grid | Pairs | null; dense: number[] } {
  const count = layers.slice(1).findIndex((n) => n > 0);
  if (!(count > 0)) return { front: null, dense: [...layers] };
  const [a, b, c, d, e, f] = layers.slice(1, 1 + count).map((n) => -n) as [number, number, number, number, number, number?];
  const front = f === undefined ? new Grid(a, b, c, d, e) : new Pairs(a, b, c, d, e, f);
  const dense = [front.features + layers[0]! - front.inputs, ...layers.slice(1 + count)];
  if (front instanceof Pairs) dense[dense.length - 1] = front.width + 1;
  return { front, dense };
}

/** Weights of a network, all layers together. */
export function countFloats(layers: readonly number[]): number {
  const { front, dense } = readLayers(layers);
  return dense.slice(1).reduce((sum, width, k) => sum + (dense[k]! + 1) * width, front?.floats ?? 0);
}
