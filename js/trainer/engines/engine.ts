/** What plays a run's games and learns from them: WebAssembly (wasm.ts), the page's GPU (gpu.ts), or the faster of both (faster.ts). */
import type { Tensors } from "../files/tensors";
import type { Games } from "../games/games";
import type { Hyper } from "../ppo/schedule";
import type { Settings } from "../settings";

/** A rollout, and what was learned from it. */
export interface Update {
  agentSteps: number;
  /** `STATS`, then one sum per reward term; NaN for what was not measured. */
  stats: Float64Array;
  /** Metrics by the names of contract/metrics.py. */
  learned: Record<string, number>;
  /** Minibatches left out because their gradient was not finite. */
  skipped: number;
  /** Of the samples. */
  meanReturn: number;
  rolloutMs: number;
  updateMs: number;
}

export interface Engine extends Pick<Games, "setOpponents" | "practise" | "mend" | "close"> {
  /** As part of a sentence: "in this page". */
  readonly place: string;
  /** Threads besides this one that play games. */
  readonly threads: number;
  /** The policy's flat weights, a copy. */
  readonly weights: Float32Array;
  /** Plays a rollout and learns from it. Rejects with an Error of one sentence where it cannot. */
  update(settings: Settings, hyper: Hyper): Promise<Update>;
  /** Loads flat weights and resets the optimiser. */
  load(weights: Float32Array): void;
  /** State for resuming, besides the weights: call it between two updates. */
  state(): Tensors;
  /** Takes over what `state` returned, if it is there; after `load`. `version`: how many were learned before. */
  restore(state: Tensors, version: number): void;
}
