/**
 * Puts the gate between a network's proposal and the match: SEND carries the proposal out, WAIT spawns nothing. Keeps what was
 * proposed since the last report to the page, and adds what came of it once its window is over.
 */
import type { Decider, Turn } from "../../match/decider";
import { sample } from "../../match/network/policy";
import type { GameState } from "../../match/rules";
import type { Show } from "../../match/show";
import { CHUNKS, FIELDS, Gate, KINDS, type Territory } from "./gate";
import type { GateSettings, Proposal } from "./messages";

const WAIT = 0; // the action that spawns nothing
const MOST_NEWS = 64; // proposals kept for the page; it shows fewer

export class Gatekeeper implements Decider {
  gate: Gate | null = null; // null: off
  latest: Proposal | null = null;
  private open = false; // the window of `latest` is under way
  private news: Proposal[] = [];
  private readonly terms: Float32Array;

  constructor(private readonly show: Show) {
    this.terms = new Float32Array(show.spec.terms.length);
  }

  /** Judge by these settings from now on; null: no gate. Throws an Error for a drill whose state the gate cannot read. */
  set(settings: GateSettings | null): void {
    const { game, spec } = this.show;
    const state = game.create();
    const missing = FIELDS.find((name) => !(name in state));
    if (settings && (missing || spec.n_actions !== 3 * CHUNKS)) {
      throw new Error(`The gate judges spawns of the Territory Drill. ${spec.title} has ${missing ? `no state field "${missing}"` : "other actions"}.`);
    }
    if (settings && this.gate) this.gate.set(settings);
    else {
      this.gate = settings && new Gate(settings);
      this.forget();
    }
  }

  /** Nothing is under way, and there is nothing to report. */
  forget(): void {
    this.latest = null;
    this.open = false;
    this.news = [];
  }

  decides(side: number): boolean {
    return side === 0 && this.gate !== null;
  }

  /** The action for a proposal that is drawn with waiting left out. Only while there is a gate. */
  decide({ state, side, tick }: Turn): number {
    const gate = this.gate!;
    const { deciders } = this.show;
    const probabilities = deciders.likely(state, side, tick, true); // it judges proposals that cannot be paid for, too
    const action = propose(probabilities, deciders.rng.next());
    const [kind, chunk] = [Math.floor(action / CHUNKS) - 1, action % CHUNKS];
    gate.judge(state as Territory, chunk, kind);
    const { components, expected, signal, sends: sent } = gate;
    const confidence = probabilities[action]! / spawnShare(probabilities);
    this.tell({ tick, chunk, kind: KINDS[kind]!, confidence, components: [...components], expected, signal, sent, outcome: null, survived: null });
    this.open = sent;
    return sent ? action : WAIT;
  }

  /** The window of a decision is over. */
  decided(state: GameState): void {
    if (!this.open || !this.latest) return;
    this.open = false;
    const survived = (state as unknown as { spawn_survived?: Int32Array }).spawn_survived;
    this.tell({ ...this.latest, outcome: this.reward(state), survived: survived ? survived[0] !== 0 : null });
  }

  /** The proposals since the last call, newest last; one whose outcome became known comes again. */
  takeNews(): Proposal[] {
    const { news } = this;
    this.news = [];
    return news;
  }

  private tell(proposal: Proposal): void {
    this.latest = proposal;
    this.news.push(proposal);
    if (this.news.length > MOST_NEWS) this.news.shift();
  }

  /** What the window brought: the term `result`, else the weighted sum of the rewards; within [-1, 1] as in training. */
  private reward(state: GameState): number {
    const { game, spec } = this.show;
    game.terms(state, 0, this.terms);
    const result = spec.terms.findIndex(({ name }) => name === "result");
    const sum = spec.terms.reduce((total, { kind, weight }, k) => total + (kind === "reward" ? weight * this.terms[k]! : 0), 0);
    return Math.min(Math.max(result < 0 ? sum : this.terms[result]!, -1), 1);
  }
}

/** The spawn, among all, whose share of the cumulated probabilities holds `u`. */
function propose(probabilities: Float32Array, u: number): number {
  return CHUNKS + sample(probabilities.subarray(CHUNKS), u * spawnShare(probabilities));
}

function spawnShare(probabilities: Float32Array): number {
  return probabilities.subarray(CHUNKS).reduce((sum, share) => sum + share, 0);
}
