/** `step_envs`: games against one kind of opponent, as the launches of a rollout. Their samples lie together among those of all games. */
import { placesOf } from "../contract/state";
import { groupsOf, type Kit, type Step } from "./kit";
import type { Network } from "./network";
import type { Rules } from "./rules";
import type { Samples } from "./samples";
import act from "./shaders/act.wgsl";
import common from "./shaders/common.wgsl";
import gae from "./shaders/gae.wgsl";
import rowsOfSamples from "./shaders/record.wgsl";
import settle from "./shaders/settle.wgsl";

export interface Discounts {
  gamma: number;
  gae_lambda: number;
}

/** Of the episodes that ended in a rollout, game by game, then row by row, as settle.wgsl has them. */
const OF_GAMES = ["episodes", "wins0", "wins1", "draws", "decisions"] as const;
const OF_ROWS = ["late", "returns", "returnSum", "returnMin", "returnMax"] as const;

/** Sums over games, and over learning sides. */
export interface Tally extends Record<(typeof OF_GAMES)[number], number> {
  returns: number; // ended episodes of learning sides
  returnSum: number;
  returnMin: number; // infinite where none ended
  returnMax: number;
  terms: number[]; // what each reward term paid them, over all decisions
}

interface GroupOptions {
  count: number;
  length: number; // decisions of a rollout
  opponent: string; // "self", or who plays the other side
  side: number; // which side learns, 0 against "self"
  keys: Uint32Array; // of the games' generators
  ticks: Uint32Array; // where the first episodes' clocks stand
  base: number; // the first of its samples
  pays: GPUBuffer; // see settle.wgsl
}

/** The kernel by which an opponent decides; "" for none. */
export function kernelOf(opponent: string): string {
  return opponent === "self" ? "" : opponent === "random" ? "random" : `baseline_${opponent}`;
}

export class Games {
  readonly begin: Step[]; // once
  readonly decision: Step[]; // `length` times
  readonly end: Step[]; // then once
  readonly rows: number; // learning sides
  private readonly slots: number; // for last observations of a row, one for each end of its time
  private readonly state: GPUBuffer;
  private readonly clock: GPUBuffer;
  private readonly tally: GPUBuffer;
  private readonly paid: GPUBuffer;
  private readonly advantages: GPUBuffer;

  constructor(
    private readonly kit: Kit,
    network: Network,
    private readonly rules: Rules,
    private readonly samples: Samples,
    private readonly options: GroupOptions,
  ) {
    const { spec } = rules;
    const { count, length, opponent, side, base } = options;
    const { planes, masks, observations, words, count: all } = samples;
    const [rows, terms, actionAt] = [rowsOf(count, spec.sides, opponent), spec.terms.length, placesOf(spec.fields).action! * count];
    const slots = 1 + Math.floor((length - 1) / Math.ceil(spec.time_limit / spec.action_repeat));
    [this.rows, this.slots] = [rows, slots];
    [this.clock, this.tally] = [kit.zeros(2), kit.zeros(this.runningAt() + rows)];
    [this.paid, this.advantages] = [kit.uniform(new Array(11).fill(0)), kit.uniform(new Array(7).fill(0))];
    const { clock, tally, paid, advantages } = this;
    const games = rules.games(options.keys);
    const { state } = games;
    this.state = state;
    const [seen, x, outputs] = [kit.zeros(spec.sides * spec.n_obs * count), kit.zeros(rows * spec.n_obs), kit.zeros(rows * network.nOut)];
    const [late, lateOutputs] = [kit.zeros(slots * rows * spec.n_obs), kit.zeros(slots * rows * network.nOut)];
    const [after, before] = [kit.zeros(spec.sides * terms * count), kit.zeros(spec.sides * terms * count)];
    const [ends, unused, whole] = [kit.zeros(2 * count), kit.zeros(2 * count), kit.zeros(spec.sides * Math.max(1, words) * count)];
    kit.write(ends, new Uint32Array(2 * count).fill(1)); // every game is over at first, and a new episode begins

    const sizes = kit.uniform([count, rows, spec.n_obs, words, length, actionAt, base, all, side]);
    const heads = kit.uniform([rows, spec.n_actions, words, actionAt + side * count, base, all]);
    const move = (name: string, bound: Record<number, GPUBuffer>, threads: number) => kit.step(common + rowsOfSamples, name, bound, groupsOf(threads));
    const observe = games.step("observe", seen, unused);
    const see = [observe, move("record", { 0: sizes, 1: clock, 2: seen, 3: x, 4: observations }, rows)];
    const play = network.play(x, outputs, rows);
    const permit = words ? [games.step("mask", seen, whole), move("permit", { 0: sizes, 1: clock, 6: whole, 7: masks }, rows)] : [];
    const replies = kernelOf(opponent) && spec.sides === 2;
    const reply = replies ? [games.step(kernelOf(opponent), seen, whole), move("reply", { 0: sizes, 6: whole, 9: state }, count)] : [];
    const ofHeads = { 0: heads, 1: clock, 2: outputs, 3: masks, 4: planes, 5: state };
    const ofSettle = { 0: paid, 1: clock, 2: after, 3: before, 4: options.pays, 5: ends, 6: state, 7: planes, 8: tally };
    const ofGae = { 0: advantages, 1: planes, 2: outputs, 3: lateOutputs };
    const renew = games.step("renew", before, ends);
    this.begin = [renew];
    this.decision = [
      ...see,
      ...permit,
      ...reply, // before "act": a script must not find in `action` what the learner is about to do
      ...play,
      kit.step(common + act, "act", ofHeads, groupsOf(rows)),
      games.step("turn", after, ends),
      kit.step(common + settle, "settle", ofSettle, groupsOf(count)),
      observe,
      move("keep", { 0: sizes, 1: clock, 2: seen, 5: planes, 8: late }, rows),
      renew,
      move("advance", { 1: clock }, 1),
    ];
    const values = network.play(late, lateOutputs, slots * rows);
    this.end = [...see, ...play, ...values, kit.step(common + gae, "gae", ofGae, groupsOf(rows))];
  }

  /** Behind `begin`, when it has been submitted: sets the clocks of the first episodes. */
  stagger(): void {
    const { count, ticks } = this.options;
    this.kit.write(this.state, ticks, placesOf(this.rules.spec.fields).ticks! * count);
  }

  /** Before a rollout is submitted; equal `draws` give equal draws. */
  prepare(encoder: GPUCommandEncoder, { gamma, gae_lambda }: Discounts, draws: number): void {
    const { kit, rows } = this;
    const { spec } = this.rules;
    const { count, length, side, base } = this.options;
    const all = this.samples.count;
    const ticksAt = placesOf(spec.fields).ticks!;
    kit.set(this.paid, [count, rows, spec.action_repeat, spec.time_limit, ticksAt, spec.terms.length, base, all, side, { f32: gamma }, this.slots]);
    kit.set(this.advantages, [length, rows, spec.n_actions + 1, base, all, { f32: gamma }, { f32: gae_lambda }]);
    kit.write(this.clock, Uint32Array.of(0, draws));
    encoder.clearBuffer(this.tally, 0, 4 * this.runningAt()); // returns of running episodes stay
  }

  /** What ended in the last rollout, and what its decisions paid. */
  async tallied(): Promise<Tally> {
    const { count } = this.options;
    const [found] = await this.kit.read(this.tally);
    const parts = (from: number, size: number) => (k: number) => found!.subarray(from + k * size, from + (k + 1) * size);
    const [ofGames, ofRows] = [parts(0, count), parts(OF_GAMES.length * count, this.rows)];
    const ended = ofRows(OF_ROWS.indexOf("returns"));
    const there = (name: (typeof OF_ROWS)[number]) => ofRows(OF_ROWS.indexOf(name)).filter((_, row) => ended[row]! > 0);
    return {
      ...(Object.fromEntries(OF_GAMES.map((name, k) => [name, sum(ofGames(k))])) as Record<(typeof OF_GAMES)[number], number>),
      returns: sum(ended),
      returnSum: sum(there("returnSum")),
      returnMin: Math.min(...there("returnMin")),
      returnMax: Math.max(...there("returnMax")),
      terms: this.rules.spec.terms.map((_, k) => sum(ofRows(OF_ROWS.length + k))),
    };
  }

  /** Words of the tally before the returns of running episodes. */
  private runningAt(): number {
    return OF_GAMES.length * this.options.count + (OF_ROWS.length + this.rules.spec.terms.length) * this.rows;
  }
}

function sum(values: Float32Array): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Learning sides of games: both where the policy plays itself, else one. */
export function rowsOf(count: number, sides: number, opponent: string): number {
  return opponent === "self" ? count * sides : count;
}

/** How many of the games against an opponent are learned from which side: half of them from either. */
export function shareSides(count: number, sides: number, opponent: string): number[] {
  return opponent === "self" || sides === 1 ? [count] : [Math.ceil(count / 2), Math.floor(count / 2)];
}
