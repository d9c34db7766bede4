/** Who may decide in the place of a network that this match has: features bring them. `Deciders` asks those for one side in the order of the features. */
import type { Policy } from "./network/policy";
import type { GameState } from "./rules";

/** A decision that is to be made, before the match's tick `tick`; it will last `actionRepeat` ticks. */
export interface Turn {
  readonly state: GameState; // only read
  readonly side: number;
  readonly tick: number;
  readonly actionRepeat: number;
}

export interface Decider {
  /** Whether it decides now for `side`, which a network plays. The first that does so decides. */
  decides(side: number): boolean;
  /** The action. */
  decide(turn: Turn): number;
  /** A decision may take milliseconds: frames look at the clock after each tick. */
  readonly slow?: boolean;
  /** A decision is over: its ticks were played. */
  decided?(state: GameState): void;
  /** Another match: nothing is under way. */
  forget?(): void;
}

/** A policy that is in another place, and decides for all sides. The match waits for it. */
export interface Elsewhere {
  readonly on: boolean;
  /** Of the policy that made the last decision taken; -1: none was. */
  readonly version: number;
  /** Whether the decision before tick `tick`, in this state, is here; asks for it where nobody did. */
  ready(tick: number, state: ArrayBuffer, how: { repeat: number; opponent: string }): boolean;
  /** Each side's action, as `ready` has found it. */
  take(): readonly number[];
  /** The match starts over: what was decided, and what was asked for, is void. */
  reset(): void;
}

/** An earlier or another network that plays a side in the place of the policy. */
export interface Substitute {
  policyOf(side: number): Policy | null;
}
