/**
 * Reads a network's `layers`, as dshq_kernels/network/layers.py defines them: dense layers, an optional
 * front layer of the drill and an optional memory before the outputs, both written as negative numbers.
 */
import { memoryOf } from "../contract/memory";
import { Grid } from "./grid";
import { Memory } from "./memory";
import { Pairs } from "./pairs";

interface Network {
  dense: number[]; // sizes of the dense part
  front: Grid | Pairs | null;
  memory: Memory | null;
}

/** A network's dense part, and what stands in front of it and before its outputs, if anything. */
export function readLayers(layers: readonly number[]): Network {
  const units = memoryOf(layers);
  if (units > 0) return { dense: [...layers.slice(0, -2), layers.at(-1)!], front: null, memory: new Memory(layers.at(-3)!, units) };
  const count = layers.slice(1).findIndex((n) => n > 0);
  if (!(count > 0)) return { dense: [...layers], front: null, memory: null };
  const [a, b, c, d, e, f] = layers.slice(1, 1 + count).map((n) => -n) as [number, number, number, number, number, number?];
  const front = f === undefined ? new Grid(a, b, c, d, e) : new Pairs(a, b, c, d, e, f);
  const dense = [front.features + layers[0]! - front.inputs, ...layers.slice(1 + count)];
  if (front instanceof Pairs) dense[dense.length - 1] = front.width + 1;
  return { dense, front, memory: null };
}

/** Weights of a network, all layers together. */
export function countFloats(layers: readonly number[]): number {
  const { front, dense, memory } = readLayers(layers);
  const extra = memory ? memory.floats + (memory.units - dense.at(-2)!) * dense.at(-1)! : 0; // the outputs read the memory
  return dense.slice(1).reduce((sum, width, k) => sum + (dense[k]! + 1) * width, (front?.floats ?? 0) + extra);
}
