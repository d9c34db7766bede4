/** The arrays of a rollout's samples in memory: `Samples` of dshq_kernels/play/rollout.py. */
import type { DrillSpec } from "../../contract/protocol";
import type { Block, Heap } from "./heap";

export const LANES = 16;
const ARRAYS = ["obs", "action", "log_prob", "value", "advantage", "returns", "mask", "begins", "states"] as const;
type Name = (typeof ARRAYS)[number];

/** What their sizes depend on: units of the network's memory, 0 without one, and decisions of a rollout. */
export interface Shape {
  spec: DrillSpec;
  memory: number;
  length: number;
}

/** `[units, ..., 16]` each, of memories `[sequences, ..., 16]`; null for arrays without numbers. */
export interface Samples extends Record<Name, Block | null> {
  /** Decisions of a sequence; 1 without a memory. */
  length: number;
}

/** 4-byte words of these units in each array. */
export function wordsOf({ spec, memory, length }: Shape, units: number): Record<Name, number> {
  const one = LANES * units;
  const mask = spec.masked ? one * Math.ceil(spec.n_actions / 32) : 0;
  const remembered = { begins: memory ? one : 0, states: 2 * memory * (one / length) };
  return { obs: one * spec.n_obs, action: one, log_prob: one, value: one, advantage: one, returns: one, mask, ...remembered };
}

export function newSamples(heap: Heap, shape: Shape, units: number): Samples {
  const words = wordsOf(shape, units);
  const arrays = ARRAYS.map((name) => [name, words[name] ? heap.floats(words[name]) : null]);
  return { ...(Object.fromEntries(arrays) as Record<Name, Block | null>), length: shape.memory ? shape.length : 1 };
}

/** Address of each array, 0 for one without numbers. */
export function places(samples: Samples): Record<string, number> {
  return Object.fromEntries(ARRAYS.map((name) => [name, samples[name]?.at ?? 0]));
}

/** A copy of the first units' words, array by array, to send to another thread. */
export function copyOut(samples: Samples, shape: Shape, units: number): Uint32Array<ArrayBuffer>[] {
  const words = wordsOf(shape, units);
  return ARRAYS.map((name) => samples[name]?.u32.slice(0, words[name]) ?? new Uint32Array(0));
}

/** Puts such a copy behind the first `from` units. */
export function copyIn(samples: Samples, shape: Shape, arrays: readonly Uint32Array[], from: number): void {
  const words = wordsOf(shape, from);
  for (const [k, name] of ARRAYS.entries()) samples[name]?.u32.set(arrays[k]!, words[name]);
}
