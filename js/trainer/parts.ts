/** What the parts of a run know of one another: dshq_widget/learning/parts.py. */
import type { DrillSpec, LeagueRow, MetricsRow } from "../contract/protocol";
import type { FromTrainer } from "../contract/training";
import type { Engine } from "./engines/engine";
import type { Tensors } from "./files/tensors";
import type { Kernels } from "./games/kernels";
import type { Player } from "./games/players";
import type { Plan } from "./ppo/plan";
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

/** The run, as far as a competition steers it. */
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
  sendLeague(rows: LeagueRow[]): void;
}

/**
 * Rates the policies of one run against one another, and gives the pool its opponents; it sends its table with `sendLeague`. As
 * dshq_widget/learning/opponents/competition.py has it.
 */
export interface Contest {
  readonly metrics: MetricsRow;
  /** The run is about to begin. */
  begin(): void;
  /** The learner has finished an update; `learned` are its metrics. */
  afterUpdate(learned: Record<string, number>): void;
  /** The learner reverted to other weights. */
  weightsReplaced(): void;
  /** The reward weights have changed. */
  rewardsChanged(): void;
  /** As a policy file's tensors. */
  state(): Tensors;
  /** Restores what `state` gave, if it is there. */
  restore(state: Tensors): void;
}

/** A kind of competition: makes its part in a run. competitions.ts names it. */
export type Competition = (run: Steered, spec: DrillSpec, plan: Plan, play: Play, kernels: Kernels) => Contest;
