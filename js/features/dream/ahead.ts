/**
 * Decisions that a policy elsewhere makes ahead of this match. It plays the same match by the same rules, from a state that it was sent:
 * the *plan*. Where the match went another way (a hand moved something, a person played) the plan is void, and another one is wanted.
 */

import type { Elsewhere } from "../../match/decider";

/** Tick, sum of the state before the decision, and each side's action. */
type Decision = readonly number[];

/** A match to be played from here on. */
export interface Wanted {
  plan: number;
  tick: number;
  state: ArrayBuffer; // a copy
  repeat: number; // ticks per decision
  opponent: string; // who decides for side 1
}

type How = Pick<Wanted, "repeat" | "opponent">;

const SPREAD = 0x9e3779b1;

/** As `check_sum` of dshq_widget/env/ahead.py. */
export function checkSum(state: ArrayBuffer): number {
  let sum = 0;
  new Uint32Array(state).forEach((word, k) => {
    sum = (sum + Math.imul(word, Math.imul(2 * k + 1, SPREAD))) | 0;
  });
  return sum >>> 0;
}

export class Ahead implements Elsewhere {
  on = false;
  version = -1;
  private plan = 0;
  private planned: How | null = null; // how the present plan is played; null: there is none
  private queue: { version: number; decision: Decision }[] = [];
  private wanted: Wanted | null = null;
  private decided: number | null = null; // the tick of the last decision taken, until it is reported

  /** From now on decisions come from elsewhere, or no more. A plan that was there is void. */
  set(on: boolean): void {
    this.on = on;
    this.reset();
  }

  reset(): void {
    this.planned = null;
    this.queue = [];
  }

  /** More decisions of a plan; those of one that is void are not taken. */
  add(plan: number, version: number, decisions: readonly Decision[]): void {
    if (plan !== this.plan || !this.planned) return;
    for (const decision of decisions) this.queue.push({ version, decision });
  }

  /** Asks for a plan where none leads here. */
  ready(tick: number, state: ArrayBuffer, how: How): boolean {
    const next = this.queue[0]?.decision;
    const same = this.planned?.repeat === how.repeat && this.planned.opponent === how.opponent;
    if (same && !next) return false;
    if (same && next![0] === tick && next![1] === checkSum(state)) return true;
    this.planned = { ...how };
    this.queue = [];
    this.wanted = { plan: ++this.plan, tick, state: state.slice(0), ...how };
    return false;
  }

  take(): readonly number[] {
    const { version, decision } = this.queue.shift()!;
    const [tick, , ...actions] = decision;
    this.decided = tick!;
    this.version = version;
    return actions;
  }

  /** What is to be asked for elsewhere, once. */
  takeWanted(): Wanted | null {
    const { wanted } = this;
    this.wanted = null;
    return wanted;
  }

  /** The last decision that was taken since the last call, and how many wait. */
  takeDecided(): { plan: number; tick: number; left: number } | null {
    const { plan, decided: tick } = this;
    this.decided = null;
    return tick === null ? null : { plan, tick, left: this.queue.length };
  }
}
