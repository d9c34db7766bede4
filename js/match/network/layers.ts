/**
 * Reads a network's `layers`, as dshq_kernels/network/layers.py defines them: dense layers, an optional
 * front layer of the drill and an optional memory before the outputs, both written as negative numbers.
 */
import { memoryOf } from "../../contract/memory";
import { Grid } from "./grid";
import { Memory } from "./memory";
import { Pairs } from "./pairs";
import { Places } from "./places";

export type Front = Grid | Pairs | Places;

interface Network {
  dense: number[]; // sizes of the dense part
  front: Front | null;
  memory: Memory | null;
}

/** A network's dense part, and what stands in front of it and before its outputs, if anything. */
export function readLayers(layers: readonly number[]): Network {
  const units = memoryOf(layers);
  if (units > 0) return { dense: [...layers.slice(0, -2), layers.at(-1)!], front: null, memory: new Memory(layers.at(-3)!, units) };
  const count = layers.slice(1).findIndex((n) => n > 0);
  if (!(count > 0)) return { dense: [...layers], front: null, memory: null };
  const front = readFront(layers.slice(1, 1 + count).map((n) => -n) as Sizes);
  const dense = [front.features + layers[0]! - front.inputs, ...layers.slice(1 + count)];
  if (!(front instanceof Grid)) dense[dense.length - 1] = front.said + 1;
  return { dense, front, memory: null };
}

type Sizes = [number, number, number, number, number, number?, number?];

function readFront([a, b, c, d, e, f, g]: Sizes): Front {
  if (f === undefined) return new Grid(a, b, c, d, e);
  return g === undefined ? new Pairs(a, b, c, d, e, f) : new Places(a, b, c, d, e, f, g);
}

/** Weights of a network, all layers together. */
export function countFloats(layers: readonly number[]): number {
  const { front, dense, memory } = readLayers(layers);
  const extra = memory ? memory.floats + (memory.units - dense.at(-2)!) * dense.at(-1)! : 0; // the outputs read the memory
  return dense.slice(1).reduce((sum, width, k) => sum + (dense[k]! + 1) * width, (front?.floats ?? 0) + extra);
}
