/** Observation and allowed actions of one side of a game. */

import type { DrillSpec } from "../contract/protocol";
import type { Policy } from "./network/policy";
import type { Game, GameState } from "./rules";

export class Observer {
  readonly observation: Float32Array; // [n_obs]
  private readonly allowed?: Uint8Array; // [n_actions], 1 or 0; drills without a mask allow everything

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
  ) {
    this.observation = new Float32Array(spec.n_obs);
    if (game.mask) this.allowed = new Uint8Array(spec.n_actions);
  }

  /** Take in what `side` sees and may do now. */
  observe(state: GameState, side: number): this {
    this.game.observe(state, side, this.observation);
    if (this.allowed) this.game.mask!(state, side, this.allowed);
    return this;
  }

  /** Whether another one took in the same: a network says the same of both. */
  equals({ observation, allowed }: Observer): boolean {
    return alike(this.observation, observation) && (!this.allowed || alike(this.allowed, allowed!));
  }

  /**
   * Fill the policy's probabilities and value for what was taken in last, with its memory in `state`; what is forbidden has probability 0,
   * unless `freely`.
   */
  evaluate(policy: Policy, freely = false, state?: Float32Array): void {
    policy.forward(this.observation, freely ? undefined : this.allowed, state);
  }

  /** One of the actions allowed to `side` now, all of them as likely; `u` in [0, 1). */
  randomAction(state: GameState, side: number, u: number): number {
    if (!this.allowed) return Math.floor(u * this.spec.n_actions);
    this.game.mask!(state, side, this.allowed);
    const choices = [...this.allowed.keys()].filter((action) => this.allowed![action]);
    return choices[Math.floor(u * choices.length)]!;
  }
}

function alike(a: Float32Array | Uint8Array, b: Float32Array | Uint8Array): boolean {
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}
