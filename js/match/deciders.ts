/**
 * Chooses the action of each side of a match: by a person, a network, a script or at random. Nothing is allocated per decision.
 */

import { ownOpponent, scriptsOf } from "../contract/opponents";
import type { DrillSpec, Mode } from "../contract/protocol";
import { MODES, SHOW_DEFAULTS } from "../contract/tables";
import type { Decider, Elsewhere, Substitute } from "./decider";
import { Keys } from "./keys";
import { marginals, type Policy, sample } from "./network/policy";
import { Observer } from "./observer";
import { PolicySwap } from "./policy_swap";
import { Random } from "./random";
import type { Game, GameState } from "./rules";

export class Deciders {
  policy: Policy | null = null;
  mode: Mode = SHOW_DEFAULTS.mode;
  named = ""; // the opponent that was asked for; "": none was
  private byHand = false; // a person plays side 0, whatever the mode
  private restoredVersion = 0; // of the match that was taken up, until a policy plays
  readonly keys: Keys;
  readonly next: PolicySwap;
  private readonly others: Decider[] = []; // who may decide in a network's place; the first that does so
  private readonly substitutes: Substitute[] = [];
  private away: Elsewhere | null = null; // where side 0's policy may be, which then decides for its opponent, too
  readonly rng = new Random(0); // apart from the game's own generator
  readonly memories: Float32Array<ArrayBuffer>[]; // of each side: the state of its network's memory before the next decision

  private rival: { name: string; policy: Policy } | null = null; // a network that is an opponent like any script
  private readonly observer: Observer;

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
    now: () => number,
  ) {
    this.keys = new Keys(spec);
    this.observer = new Observer(game, spec);
    this.next = new PolicySwap(spec, now);
    this.memories = Array.from({ length: spec.sides }, () => new Float32Array(0));
  }

  /** Whom features bring. */
  add(...those: readonly { readonly decider?: Decider; readonly elsewhere?: Elsewhere; readonly substitute?: Substitute }[]): void {
    for (const { decider, elsewhere, substitute } of those) {
      if (substitute) this.substitutes.push(substitute);
      if (decider) this.others.push(decider);
      this.away ??= elsewhere ?? null;
    }
  }

  get version(): number {
    const { version = -1 } = this.away ?? {};
    return this.policy?.version ?? (version < 0 ? this.restoredVersion : version);
  }

  /** The script or network that decides for side 1 wherever the policy does not. */
  get opponent(): string {
    return this.named || ownOpponent(this.spec);
  }

  /** Whether side 1 is that opponent's, however much the policy has learned: in the sandbox, and where a person asked for one. */
  private get opposed(): boolean {
    return this.mode === "sandbox" || (this.mode === "human_vs_ai" && this.named !== "");
  }

  /** The network that plays `side` where a network plays it. */
  policyOf(side: number): Policy | null {
    for (const substitute of this.substitutes) {
      const policy = substitute.policyOf(side);
      if (policy) return policy;
    }
    const met = side === 1 && this.opponent === this.rival?.name && (this.opposed || !this.learned);
    return met ? this.rival!.policy : this.policy;
  }

  /** Whether a script, or chance, decides for `side`: the opponent, and everybody before any training. */
  scripted(side: number): boolean {
    return this.policyOf(side) === this.policy && ((side === 1 && this.opposed) || !this.learned);
  }

  /** Whether the network is worth watching; AI vs AI shows it untrained, too. */
  private get learned(): boolean {
    return this.policy !== null && (this.policy.version > 0 || this.mode === "ai_vs_ai");
  }

  /** "" for `opponent`: none in particular, and a person meets the policy. Throws an Error for an unknown mode or opponent. */
  setMode(mode: Mode, opponent: string): void {
    if (!MODES.includes(mode)) throw new Error(`Mode "${mode}" is unknown: choose one of ${MODES.join(", ")}.`);
    const offered = [...scriptsOf(this.spec), ...(this.rival ? [this.rival.name] : [])];
    if (opponent !== "" && !offered.includes(opponent)) throw new Error(`Opponent "${opponent}" is unknown: choose one of ${offered.join(", ")}.`);
    if (mode !== this.mode) this.keys.releaseAll();
    const met = this.policyOf(1);
    this.mode = mode;
    this.named = opponent;
    if (this.policyOf(1) !== met) this.memories[1]?.fill(0); // another network remembers something else
  }

  /** A network that setMode may name as the opponent. Throws an Error where it does not fit the drill. */
  setRival(name: string, policy: Policy): void {
    this.next.fit(policy, "Choose another opponent.");
    const met = this.policyOf(1);
    this.rival = { name, policy };
    if (this.policyOf(1) !== met) this.memories[1]?.fill(0);
  }

  /** A person takes side 0 over, whatever the mode, or gives it back. */
  take(on: boolean): void {
    this.byHand = on;
  }

  get taken(): boolean {
    return this.byHand;
  }

  /** A match is taken up in which this version played; it counts until a policy comes. */
  takeUp(version: number): void {
    this.restoredVersion = version;
  }

  /** A new match: what fades is gone, and chance starts over. */
  reset(seed: number): void {
    this.away?.reset();
    this.rng.restart(seed ^ 0x9e3779b9);
    this.next.settle();
    this.keys.releaseAll();
    this.another();
  }

  /** Another match: nothing is under way. */
  another(): void {
    for (const decider of this.others) decider.forget?.();
  }

  /** A decision is over. */
  decided(state: GameState): void {
    for (const decider of this.others) decider.decided?.(state);
  }

  /** A new episode: nothing is remembered. */
  forget(): void {
    for (const memory of this.memories) memory.fill(0);
  }

  /** The states of all memories, side after side, each as long as the longest; empty where there are none. */
  get memory(): Float32Array<ArrayBuffer> {
    const size = Math.max(...this.memories.map(({ length }) => length));
    const all = new Float32Array(size * this.memories.length);
    for (const [side, memory] of this.memories.entries()) all.set(memory, side * size);
    return all;
  }

  /** Takes up such states, where they fit. */
  recall(memory: Float32Array<ArrayBuffer>): void {
    const size = memory.length / this.memories.length;
    for (const side of this.memories.keys()) {
      const policy = this.policyOf(side);
      if (!policy || policy.stateSize === size) this.memories[side] = memory.slice(side * size, (side + 1) * size);
    }
  }

  /** The state of the memory with which `policy` decides for `side` now. */
  remembered(policy: Policy, side: number): Float32Array {
    const kept = this.memories[side]!;
    return kept.length === policy.stateSize ? kept : policy.fresh();
  }

  /** The next policy takes over at `tick`. */
  swap(tick: number): void {
    this.policy = this.next.take(this.policy, tick);
    for (const side of this.memories.keys()) {
      const policy = this.policyOf(side)!;
      if (policy.stateSize !== this.memories[side]!.length) this.memories[side] = policy.fresh(); // what fits continues
    }
  }

  // ---- decisions

  /** Who makes the next decision, for all sides, where that is elsewhere. */
  get elsewhere(): Elsewhere | null {
    return this.away?.on && !this.played(0) ? this.away : null;
  }

  /** Whether it is yet to come. */
  waits(state: GameState, tick: number, repeat: number): boolean {
    return this.elsewhere?.ready(tick, state.buffer, { repeat, opponent: this.opponent }) === false;
  }

  /** Who decides for `side` in its network's place; null: nobody, or no network plays it. */
  otherFor(side: number): Decider | null {
    if (this.played(side) || !this.policyOf(side) || this.scripted(side)) return null;
    return this.others.find((decider) => decider.decides(side)) ?? null;
  }

  /** Whether a decision may take milliseconds now. */
  get slow(): boolean {
    return this.memories.some((_, side) => this.otherFor(side)?.slow);
  }

  /** The action of `side` at the decision before tick `tick`, which will last `actionRepeat` ticks. */
  choose(state: GameState, side: number, tick: number, actionRepeat: number): number {
    const action = this.decide(state, side, tick, actionRepeat);
    const policy = this.policyOf(side);
    if (policy?.remembers) this.remember(policy, state, side);
    return action;
  }

  /** The network takes the decision in, whoever made it. */
  private remember(policy: Policy, state: GameState, side: number): void {
    this.observer.observe(state, side).evaluate(policy, true, this.remembered(policy, side));
    if (this.memories[side]!.length !== policy.stateSize) this.memories[side] = policy.fresh();
    this.memories[side]!.set(policy.remembered);
  }

  private decide(state: GameState, side: number, tick: number, actionRepeat: number): number {
    if (this.played(side)) return this.keys.take();
    const policy = this.policyOf(side);
    if (!policy || this.scripted(side)) return this.baseline(this.scriptOf(side), state, side, this.rng);

    const other = this.otherFor(side);
    if (other) return other.decide({ state, side, tick, actionRepeat });
    return sample(this.likely(state, side, tick), this.rng.next());
  }

  /** How likely each action is to the network that plays `side` at the decision before tick `tick`; `freely`: forbidden ones, too. */
  likely(state: GameState, side: number, tick: number, freely = false): Float32Array {
    const policy = this.policyOf(side)!;
    this.observer.observe(state, side).evaluate(policy, freely, this.remembered(policy, side));
    const fresh = policy.probabilities;
    const old = policy === this.policy ? this.next.old(tick) : null;
    if (!old) return fresh;
    this.observer.evaluate(old, freely, this.remembered(old, side));
    return this.next.mix(old.probabilities, fresh, tick);
  }

  /** What `side` does on a copy of the match, by a generator of the copy's own: as in the match, or as the policy where a person plays it. */
  readonly imagined = (copy: GameState, side: number, random: Random): number => {
    const person = this.played(side);
    const policy = person ? this.policy : this.policyOf(side);
    if (!policy || (this.scripted(side) && !person)) return this.baseline(this.scriptOf(side), copy, side, random);
    this.observer.observe(copy, side).evaluate(policy, false, this.remembered(policy, side));
    return sample(policy.probabilities, random.next());
  };

  private scriptOf(side: number): string {
    return side === 0 ? "random" : this.opponent;
  }

  /** Whether a person plays `side`. */
  played(side: number): boolean {
    return side === 0 && (this.byHand || this.mode === "human_vs_ai");
  }

  /** What the policy would do as side 0 right now: probabilities by choice, and its value. Leaves the state alone. */
  opinion(state: GameState): { probabilities: number[][]; value: number } {
    if (!this.policy) return { probabilities: [], value: 0 };
    this.observer.observe(state, 0).evaluate(this.policy, false, this.remembered(this.policy, 0));
    const sizes = this.spec.actions.map((choice) => choice.options.length);
    return { probabilities: marginals(this.policy.probabilities, sizes), value: this.policy.value };
  }

  private baseline(name: string, state: GameState, side: number, random: Random): number {
    if (name === "idle") return 0;
    if (name === "random") return this.observer.randomAction(state, side, random.next());
    return this.game.baselines[name]!(state, side);
  }
}
