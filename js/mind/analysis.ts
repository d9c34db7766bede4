/**
 * Analysis of a policy in one state: value, action probabilities, saliency of the inputs, and where each move leads. The state is
 * only read; moves are tried on copies.
 */

import type { DrillSpec, Handle, Outcome, Thought } from "../contract/protocol";
import { Body } from "../match/handles";
import { marginals, optionsOf, type Policy } from "../match/network/policy";
import { Observer } from "../match/observer";
import type { Game, GameState } from "../match/rules";

export const OUTCOMES = 4; // moves that are tried
const SECONDS = 1; // of show time that a move is followed for

/** How one side decides on a copy of the game: an action index. */
export type Decide = (state: GameState, side: number) => number;

export class PolicyAnalysis {
  weights: Readonly<Record<string, number>> = {}; // of reward terms by name; those left out weigh what the drill says
  private readonly observer: Observer;
  private readonly gradient: Float32Array;
  private readonly terms: Float32Array;
  private readonly sizes: number[]; // options per choice

  constructor(
    readonly game: Game,
    readonly spec: DrillSpec,
    private readonly memory: (policy: Policy, side: number) => Float32Array | undefined = () => undefined, // its state in the match now
  ) {
    this.observer = new Observer(game, spec);
    this.gradient = new Float32Array(spec.n_obs);
    this.terms = new Float32Array(spec.terms.length);
    this.sizes = spec.actions.map((choice) => choice.options.length);
  }

  weigh(weights: Readonly<Record<string, number>>): void {
    this.weights = weights;
  }

  /**
   * The reward that `side` expects from here on. A network trained with potential-based shaping predicts V - phi (Ng, Harada and
   * Russell, 1999, "Policy invariance under reward transformations", section 4), so the potentials are added back. With a memory it is
   * asked with `memory`, by default what it remembers of the match now.
   */
  value(policy: Policy, state: GameState, side: number, memory = this.memory(policy, side)): number {
    this.observer.observe(state, side).evaluate(policy, false, memory);
    return policy.value + this.worth(state, side, "potential");
  }

  /** What `side` sees, would do and likes, and how much each input weighs on the action it is carrying out. */
  think(policy: Policy, state: GameState, side: number): Thought {
    const value = this.value(policy, state, side);
    const action = Math.min(Math.max(state.action[side]!, 0), this.spec.n_actions - 1);
    policy.gradient(action, this.gradient);
    return {
      value,
      action: optionsOf(action, this.sizes),
      probabilities: marginals(policy.probabilities, this.sizes),
      observations: [...this.observer.observation],
      saliency: Array.from(this.gradient, Math.abs), // d log p(action) / d input
    };
  }

  /** The `count` likeliest actions, likeliest first. */
  likeliest(policy: Policy, state: GameState, side: number, count = OUTCOMES, memory = this.memory(policy, side)): { action: number; probability: number }[] {
    this.observer.observe(state, side).evaluate(policy, false, memory);
    const all = Array.from(policy.probabilities, (probability, action) => ({ action, probability }));
    const possible = all.filter(({ probability }) => probability > 0); // a mask forbids the others
    return possible.sort((a, b) => b.probability - a.probability).slice(0, count);
  }

  /**
   * One second from now for the action that `side` is carrying out, and for the likeliest others, on copies. Its first decision is that action; later ones
   * are the same again where `repeat` is set, else its likeliest at that moment. `others` decides for everybody else.
   */
  imagine(policy: Policy, state: GameState, side: number, actionRepeat: number, repeat: boolean, others: Decide): Outcome[] {
    if (this.over(state)) return [];
    const before = this.value(policy, state, side);
    const carried = state.action[side]!;
    const all = this.likeliest(policy, state, side, this.spec.n_actions);
    const made = all.filter(({ action }) => action === carried);
    const rest = all.filter(({ action }) => action !== carried).slice(0, OUTCOMES - made.length);
    return [...made, ...rest].map(({ action, probability }) => {
      const copy = this.game.create(state.buffer.slice(0));
      const paths = this.spec.drag.map((handle) => [...position(copy, handle)]);
      const decisions = Math.max(1, Math.round((SECONDS * this.spec.tick_rate) / actionRepeat));
      let reward = 0;
      let ended = false;
      let memory = this.memory(policy, side);
      for (let k = 0; k < decisions && !ended; k++) {
        const [best] = this.likeliest(policy, copy, side, 1, memory);
        memory = policy.remembered.slice();
        for (let player = 0; player < this.spec.sides; player++) if (player !== side) copy.action[player] = others(copy, player);
        copy.action[side] = k === 0 || repeat ? action : best!.action;
        this.game.decide(copy);
        for (let tick = 0; tick < actionRepeat; tick++) this.game.tick(copy);
        reward += this.worth(copy, side, "reward");
        this.spec.drag.forEach((handle, index) => paths[index]!.push(...position(copy, handle)));
        ended = this.over(copy);
      }
      const winner = ended ? this.game.winner(copy) : 0;
      const after = this.game.terminated(copy) ? 0 : this.value(policy, copy, side, memory); // time running out takes no reward away
      return { action: optionsOf(action, this.sizes), probability, made: action === carried, change: reward + after - before, winner, ended, paths };
    });
  }

  /** Whether the episode ends here, by the rules or by the clock. */
  private over(state: GameState): boolean {
    return Boolean(this.game.terminated(state)) || state.ticks[0]! >= this.spec.time_limit;
  }

  /** The weighted sum of the reward terms, or of the potentials. */
  private worth(state: GameState, side: number, kind: "reward" | "potential"): number {
    if (this.terms.length === 0) return 0;
    this.game.terms(state, side, this.terms);
    return this.spec.terms.reduce((sum, term, k) => (term.kind === kind ? sum + (this.weights[term.name] ?? term.weight) * this.terms[k]! : sum), 0);
  }
}

/** Where a handle is, in world units. */
export function position(state: GameState, handle: Handle): [x: number, y: number] {
  const { x, y } = new Body(state, handle);
  return [x, y];
}

/** The side whose player is nearest to the ball; -1 where nobody, or one alone, could have it. */
export function holderOf({ drag, sides }: DrillSpec, state: GameState): number {
  const ball = drag.find(({ kind }) => kind === "ball");
  const players = drag.filter((handle) => sideOf(handle, sides) >= 0);
  if (!ball || players.length < 2) return -1;
  const [bx, by] = position(state, ball);
  const far = (handle: Handle) => {
    const [x, y] = position(state, handle);
    return Math.hypot(x - bx, y - by);
  };
  return sideOf(
    players.reduce((near, other) => (far(other) < far(near) ? other : near)),
    sides,
  );
}

/** The side whose player a handle moves, or -1: nobody plays a ball. */
export function sideOf(handle: Handle, sides: number): number {
  const side = handle.index ?? 0;
  return handle.kind === "ball" || side >= sides ? -1 : side;
}
