/**
 * The self-play league: earlier policies kept as opponents, rated against pinned ones, and the champion among them, as
 * dshq_widget/learning/league.py has it; there are the reasons for its numbers. All choices are drawn from the seed and counted rounds.
 */
import type { ConfigValue, DrillSpec } from "../../contract/protocol";
import type { Tensor } from "../files/tensor";
import { type Play, type Player, POLICY, RANDOM } from "../games/players";
import { Generator } from "../numpy/random";
import { CrossTable } from "./cross_table";
import { difference } from "./elo";
import { type Champion, type LeagueState, readState, type Snapshot, writeState } from "./league_file";
import type { TableRow } from "./league_rows";

const [CAPACITY, RECENT, BEST] = [100, 0.6, 0.2];
const MOST_BYTES = 8 << 20;
const [LATEST, UNIFORM] = [0.5, 0.3];
const HARDNESS = 2;
const EMA = 0.05;
const [PINNED_MATCHES, RIVAL_MATCHES, RIVALS] = [128, 32, 4];
const [BASE_ELO, BASE_MATCHES] = [1000, 2048];
const THRIFT = 24;

export type LeagueDrill = Pick<DrillSpec, "sides" | "baselines" | "time_limit" | "action_repeat">;

/** A drill of one side has no league: no round is ever due. */
export class League {
  capacity: number; // snapshots kept
  opponents: Float32Array[] = []; // that `draw` chose last
  private readonly pinned: ReadonlyMap<string, Player>;
  private snapshots: Snapshot[] = [];
  private champion: Champion | null = null;
  private counts = { rounds: 0, draws: 0, last_updates: 0, last_step: 0 };
  private table: CrossTable;
  private pinnedElo: number[] = [];

  /** Of policies with `floats` weights, who meet by `play`; `seed` is a whole number from 0 on. */
  constructor(
    private readonly drill: LeagueDrill,
    private readonly floats: number,
    private readonly seed: number,
    private readonly play: Play,
  ) {
    const names = drill.sides === 2 ? ["random", ...drill.baselines.slice(0, 1)] : [];
    this.pinned = new Map(names.map((name, k) => [name, { kind: k === 0 ? RANDOM : 0 }]));
    this.capacity = Math.min(Math.max(Math.floor(MOST_BYTES / (4 * floats)), 10), CAPACITY);
    this.table = CrossTable.empty(names.length);
  }

  /** What `opponents=pool` draws from is empty before the first round. */
  get empty(): boolean {
    return this.snapshots.length === 0;
  }

  /** The policy that did best against the pinned opponents. */
  get best(): Readonly<Champion> | null {
    return this.champion;
  }

  // ---- rounds

  /** Whether `every` updates and enough agent steps for its cost have passed since the last round. */
  due(updates: number, step: number, every: number): boolean {
    if (this.pinned.size === 0 || this.empty) return this.pinned.size > 0;
    const decisions = this.drill.time_limit / this.drill.action_repeat;
    const cost = decisions * (this.pinned.size * PINNED_MATCHES + 2 * RIVALS * RIVAL_MATCHES);
    return updates - this.counts.last_updates >= every && step - this.counts.last_step >= THRIFT * cost;
  }

  /** Adds `weights`, which are kept, not copied, and plays their matches. Gives their points against the pinned opponents. */
  holdRound(
    weights: Float32Array,
    version: number,
    step: number,
    updates: number,
    hyper: Readonly<Record<string, ConfigValue>>,
  ): { points: number; matches: number } {
    const rivals = this.rivals();
    const against = [...this.pinned.values()].map((player, k) => this.match(weights, player, PINNED_MATCHES, k));
    const found = { points: against.reduce((sum, points) => sum + points, 0), matches: PINNED_MATCHES * against.length };
    const newcomer: Snapshot = { weights, number: this.counts.rounds, version, step, hyper: { ...hyper }, share: found.points / found.matches, win_rate: 0.5 };
    const [points, matches] = [new Float64Array(this.table.size), new Float64Array(this.table.size)];
    points.set(against);
    matches.fill(PINNED_MATCHES, 0, against.length);
    rivals.forEach((rival, k) => {
      const snapshot = this.snapshots[rival]!;
      const won = this.match(weights, policy(snapshot.weights), RIVAL_MATCHES, against.length + k);
      points[against.length + rival] = won;
      matches[against.length + rival] = RIVAL_MATCHES;
      const kept = (1 - EMA) ** RIVAL_MATCHES; // as if the matches had come in one by one, each with their mean
      snapshot.win_rate = kept * snapshot.win_rate + ((1 - kept) * won) / RIVAL_MATCHES;
    });
    this.admit(newcomer, points, matches);
    this.challenge(newcomer, found.points, found.matches);
    this.counts = { ...this.counts, rounds: this.counts.rounds + 1, last_updates: updates, last_step: step };
    return found;
  }

  /** Opponents of the new snapshot: the newest one, one hard one, any others. */
  private rivals(): number[] {
    const count = this.snapshots.length;
    if (count <= RIVALS) return [...this.snapshots.keys()];
    const rng = Generator.seeded(this.seed, 0x1ea6, this.counts.rounds);
    const chosen = [count - 1, ...rng.choiceWithReplacement(hardness(this.snapshots.slice(0, -1)), 1)];
    const others = [...this.snapshots.keys()].filter((k) => !chosen.includes(k));
    return [...chosen, ...Array.from(rng.choice(others.length, RIVALS - chosen.length), (k) => others[k]!)];
  }

  /** Points of `weights` in matches with seeds that are unique in this run. */
  private match(weights: Float32Array, player: Player, matches: number, series: number): number {
    const { wins, draws } = this.play(policy(weights), player, matches, this.seed + 1 + this.counts.rounds * 64 + series);
    return wins + draws / 2;
  }

  /** The new snapshot becomes champion if it did better and does so again, because the best of many rounds is partly luck. */
  private challenge(newcomer: Snapshot, points: number, matches: number): void {
    const best = this.champion ? this.champion.points / this.champion.matches : -1;
    if (points / matches <= best) return;
    const again = [...this.pinned.values()].map((player, k) => this.match(newcomer.weights, player, PINNED_MATCHES, 32 + k));
    const total = { points: again.reduce((sum, won) => sum + won, points), matches: matches + PINNED_MATCHES * again.length };
    if (total.points / total.matches > best) {
      this.champion = { weights: newcomer.weights, version: newcomer.version, step: newcomer.step, ...total };
    }
  }

  // ---- who stays, who is strong

  private admit(newcomer: Snapshot, points: Float64Array, matches: Float64Array): void {
    this.snapshots.push(newcomer);
    this.table.add(points, matches);
    this.rate();
    if (this.snapshots.length <= this.capacity) return;
    const leaver = this.leaver();
    this.snapshots.splice(leaver, 1);
    this.table.drop(this.pinned.size + leaver);
  }

  private rate(): void {
    if (this.pinnedElo.length < this.pinned.size) this.pinnedElo = this.pinnedRatings();
    this.table.rate(this.pinnedElo);
  }

  /** `BASE_ELO` for random play, and the baseline's from its matches with random play, with the same seeds in every run. */
  private pinnedRatings(): number[] {
    const [random, ...others] = [...this.pinned.values()];
    const gaps = others.map((player) => {
      const { wins, draws } = this.play(player, random!, BASE_MATCHES, 0);
      return difference(wins + draws / 2, BASE_MATCHES);
    });
    return [BASE_ELO, ...gaps.map((gap) => BASE_ELO + gap)];
  }

  /** One of the snapshots that are neither among the newest nor among the best older ones. */
  private leaver(): number {
    const elo = this.table.rating.subarray(this.pinned.size);
    const older = Array.from({ length: this.snapshots.length - Math.round(RECENT * this.capacity) }, (_, k) => k);
    const weakestFirst = older.sort((a, b) => elo[a]! - elo[b]!);
    const rng = Generator.seeded(this.seed, 0x0ff, this.counts.rounds);
    return weakestFirst[rng.choice(older.length - Math.round(BEST * this.capacity))]!;
  }

  // ---- opponents

  /** Draws `count` opponents and gives their weights: half the newest, three in ten any, two in ten hard ones. */
  draw(count: number): Float32Array[] {
    const rng = Generator.seeded(this.seed, 0xd4a3, this.counts.draws);
    this.counts.draws += 1;
    const hard = hardness(this.snapshots);
    const newest = this.snapshots.length - 1;
    const chosen = Array.from(rng.random(count), (u) => {
      if (u < LATEST) return newest;
      return u < LATEST + UNIFORM ? rng.choice(newest + 1) : rng.choiceWithReplacement(hard, 1)[0]!;
    });
    this.opponents = chosen.map((k) => this.snapshots[k]!.weights);
    return this.opponents;
  }

  // ---- what others read

  /** The newest snapshot's strength. */
  get metrics(): Partial<Record<"elo" | "elo_low" | "elo_high", number>> {
    if (this.empty) return {};
    const [rating, half] = [this.table.rating.at(-1)!, this.table.half.at(-1)!];
    return { elo: rating, elo_low: rating - half, elo_high: rating + half };
  }

  /** The cross table, strongest first: `against` has only the opponents that were met. */
  rows(): TableRow[] {
    if (this.empty) return [];
    const pinned = this.pinned.size;
    const { rating, half, points, matches } = this.table;
    const names = [...this.pinned.keys(), ...this.snapshots.map(({ version }) => `v${version}`)];
    const rows = names.map((name, k): TableRow => {
      const strength = { elo: rating[k]!, elo_low: rating[k]! - half[k]!, elo_high: rating[k]! + half[k]! };
      const against: TableRow["against"] = {};
      names.forEach((other, j) => {
        const at = k * names.length + j;
        if (matches[at]! > 0) against[other] = [points[at]!, matches[at]!];
      });
      const row = { name, pinned: k < pinned, ...strength, against };
      if (k < pinned) return row;
      const { version, step, share, win_rate, hyper } = this.snapshots[k - pinned]!;
      return { ...row, version, step, share, win_rate, hyper, champion: version === this.champion?.version };
    });
    return rows.sort((a, b) => b.elo - a.elo);
  }

  // ---- files

  /** What an exact continuation needs, as a policy file's tensors. */
  state(): Record<string, Tensor> {
    if (this.empty || !this.champion) return {};
    const { counts, snapshots, champion, opponents } = this;
    return writeState({ counts, snapshots, champion, opponents, points: this.table.points, matches: this.table.matches }, this.floats);
  }

  /** Restores what `state` gave, if it is there; throws PolicyFileError where it does not fit. */
  restore(state: Readonly<Record<string, Tensor>>): void {
    const found: LeagueState | null = this.pinned.size > 0 ? readState(state, this.pinned.size, this.floats) : null;
    if (!found) return;
    ({ counts: this.counts, snapshots: this.snapshots, champion: this.champion, opponents: this.opponents } = found);
    this.table = new CrossTable(found.points, found.matches);
    this.rate();
  }
}

function policy(weights: Float32Array): Player {
  return { kind: POLICY, weights };
}

/** Probabilities in proportion to (1 - win rate)^2. */
function hardness(snapshots: readonly Snapshot[]): Float64Array {
  const weight = Float64Array.from(snapshots, ({ win_rate }) => (1 - win_rate) ** HARDNESS + 1e-6);
  const sum = weight.reduce((total, value) => total + value, 0);
  return weight.map((value) => value / sum);
}
