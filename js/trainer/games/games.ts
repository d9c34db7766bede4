/** Where a run's experience comes from: games in this thread (rollouts.ts), or in several (lanes.ts). */
import type { Tensors } from "../files/tensors";
import type { Settings } from "../settings";
import type { Samples } from "./samples";

/** A rollout, ready to learn from. */
export interface Experience {
  samples: Samples;
  /** Indices of the units, of 16 agent steps each, to learn from. */
  units: Int32Array;
  /** `STATS`, then one sum per reward term. */
  stats: Float64Array;
}

export interface Games {
  /** The next rollout, whose samples are overwritten by the one after it. `params`: address of the padded parameters, `weights` the same, flat. */
  next(params: number, weights: () => Float32Array, settings: Settings): Experience | Promise<Experience>;
  /** Plays the pool's games against these earlier policies from now on, flat weights for each slot. */
  setOpponents(policies: readonly Float32Array[]): void;
  /** Starts a share of the new games from one of these scenes, a game's words each. */
  practise(scenes: readonly Uint32Array[]): void;
  /** Restarts every game with numbers that are not finite. */
  mend(): void;
  /** Its state for a file; nothing where games cannot be continued exactly. */
  state(): Tensors;
  /** Takes over what `state` returned, if it is there; else games that were not played yet begin as none did in a run that learned `version` versions. */
  restore(state: Tensors, version: number): void;
  close(): void;
}
