/** The arrays of a rollout's samples in memory: `Samples` of dshq_kernels/play/rollout.py. */
import type { DrillSpec } from "../../contract/protocol";
import type { Block, Memory } from "./memory";

export const LANES = 16;
const ARRAYS = ["obs", "action", "log_prob", "value", "advantage", "returns", "mask"] as const;

/** `[units, ..., 16]` each. */
export type Samples = Record<(typeof ARRAYS)[number], Block | null>;

/** 4-byte words of one unit in each array. */
export function wordsOf(spec: DrillSpec): Record<keyof Samples, number> {
  const mask = spec.masked ? LANES * Math.ceil(spec.n_actions / 32) : 0;
  return { obs: LANES * spec.n_obs, action: LANES, log_prob: LANES, value: LANES, advantage: LANES, returns: LANES, mask };
}

export function newSamples(memory: Memory, spec: DrillSpec, units: number): Samples {
  const words = wordsOf(spec);
  return Object.fromEntries(ARRAYS.map((name) => [name, words[name] ? memory.floats(units * words[name]) : null])) as Samples;
}

/** Address of each array, 0 for a mask without words. */
export function places(samples: Samples): Record<string, number> {
  return Object.fromEntries(ARRAYS.map((name) => [name, samples[name]?.at ?? 0]));
}

/** A copy of the first units' words, array by array, to send to another thread. */
export function copyOut(samples: Samples, spec: DrillSpec, units: number): Uint32Array<ArrayBuffer>[] {
  const words = wordsOf(spec);
  return ARRAYS.map((name) => samples[name]?.u32.slice(0, units * words[name]) ?? new Uint32Array(0));
}

/** Puts such a copy behind the first `from` units. */
export function copyIn(samples: Samples, spec: DrillSpec, arrays: readonly Uint32Array[], from: number): void {
  const words = wordsOf(spec);
  for (const [k, name] of ARRAYS.entries()) samples[name]?.u32.set(arrays[k]!, from * words[name]);
}
