/** What the parts of a run know of one another: dshq_widget/learning/parts.py. */
import type { FromTrainer } from "../contract/training";
import type { Engine } from "./engines/engine";
import type { Player } from "./games/players";
import type { Hyper } from "./ppo/schedule";
import type { Settings } from "./settings";

export type Post = (message: FromTrainer) => void;

export interface Results {
  wins: number;
  draws: number;
  losses: number;
  /** Mean of the first player's rewards, potentials left out, per match. */
  returnMean: number;
}

/** Plays matches from proper starts, or all from a `scene`, a game's words. */
export type Play = (first: Player, second: Player, matches: number, seed: number, scene?: Uint32Array) => Results;

/** The run, as far as the league and the guard steer it. */
export interface Steered {
  readonly settings: Settings;
  readonly engine: Pick<Engine, "setOpponents" | "weights">;
  readonly hyper: Hyper;
  readonly version: number;
  readonly agentSteps: number;
  readonly updates: number;
  readonly rate: number; // factor of the learning rate after setbacks
  slowDown(): void;
  replaceWeights(weights: Float32Array): void;
  warn(text: string): void;
  sendLeague(): void;
}
