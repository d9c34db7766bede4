/**
 * The self-play league: earlier policies kept as opponents, rated against pinned ones, and the champion among them, as
 * dshq_widget/learning/league/league.py has it; there are the reasons for its numbers. All choices are drawn from the seed and counted rounds.
 */
import type { ConfigValue, DrillSpec } from "../../contract/protocol";
import { Draws } from "../draws";
import type { Tensor } from "../files/tensor";
import type { Kernels } from "../games/kernels";
import { type Play, type Player, POLICY, RANDOM } from "../games/players";
import { LEAGUE } from "../tables";
import { CrossTable } from "./cross_table";
import { difference } from "./elo";
import { type LeagueState, readState, type Snapshot, writeState } from "./league_file";
import type { TableRow } from "./league_rows";
import { type Champion, Succession } from "./succession";

type LeagueDrill = Pick<DrillSpec, "sides" | "baselines" | "time_limit" | "action_repeat">;

/** A drill of one side has no league: no round is ever due. */
export class League {
  capacity: number; // snapshots kept
  opponents: Float32Array[] = []; // that `draw` chose last
  readonly succession: Succession;
  private readonly pinned: ReadonlyMap<string, Player>;
  private snapshots: Snapshot[] = [];
  private counts = { rounds: 0, draws: 0, last_updates: 0, last_step: 0 };
  private table: CrossTable;
  private pinnedElo: number[] = [];

  /** Of policies with `floats` weights, who meet by `play`; `seed` is a whole number from 0 on. */
  constructor(
    private readonly drill: LeagueDrill,
    private readonly floats: number,
    private readonly seed: number,
    private readonly play: Play,
    private readonly kernels: Kernels,
  ) {
    const names = drill.sides === 2 ? ["random", ...drill.baselines.slice(0, 1)] : [];
    this.pinned = new Map(names.map((name, k) => [name, { kind: k === 0 ? RANDOM : 0 }]));
    const players = [...this.pinned.values()];
    this.succession = new Succession(names, (weights, k, matches, series) => this.match(weights, players[k]!, matches, series));
    this.capacity = Math.min(Math.max(Math.floor(LEAGUE.most_bytes / (4 * floats)), 10), LEAGUE.capacity);
    this.table = CrossTable.empty(names.length);
  }

  /** What `opponents=pool` draws from is empty before the first round. */
  get empty(): boolean {
    return this.snapshots.length === 0;
  }

  /** The champion: the newest policy that was not worse than the one before it. */
  get best(): Readonly<Champion> | null {
    return this.succession.champion;
  }

  // ---- rounds

  /** Whether `every` updates and enough agent steps for its cost have passed since the last round. */
  due(updates: number, step: number, every: number): boolean {
    if (this.pinned.size === 0 || this.empty) return this.pinned.size > 0;
    const decisions = this.drill.time_limit / this.drill.action_repeat;
    const cost = decisions * (this.pinned.size * LEAGUE.pinned_matches + 2 * (LEAGUE.rivals * LEAGUE.rival_matches + LEAGUE.champion_matches));
    return updates - this.counts.last_updates >= every && step - this.counts.last_step >= LEAGUE.thrift * cost;
  }

  /**
   * Adds `weights`, which are kept, not copied, and plays their matches. Gives "" or how far the policy has fallen against a pinned
   * opponent; without `watch` that is not tested.
   */
  holdRound(weights: Float32Array, version: number, step: number, updates: number, hyper: Readonly<Record<string, ConfigValue>>, watch = true): string {
    const first = this.pinned.size;
    const [points, matches] = [new Float64Array(this.table.size), new Float64Array(this.table.size)];
    const note = (place: number, won: number, played: number) => {
      points[place] = won;
      matches[place] = played;
    };
    [...this.pinned.values()].forEach((player, k) => note(k, this.match(weights, player, LEAGUE.pinned_matches, k), LEAGUE.pinned_matches));
    this.rivals().forEach((rival, k) => {
      note(first + rival, this.meet(weights, this.snapshots[rival]!, LEAGUE.rival_matches, first + k), LEAGUE.rival_matches);
    });
    let even = true;
    const { best } = this;
    if (best) {
      const held = this.snapshots.findIndex((snapshot) => snapshot.version === best.version);
      const met = this.snapshots[held] ?? { weights: best.weights, win_rate: 0 };
      const won = this.meet(weights, met, LEAGUE.champion_matches, LEAGUE.champion_series);
      even = 2 * won >= LEAGUE.champion_matches;
      if (held >= 0) note(first + held, won, LEAGUE.champion_matches);
    }
    const against = Array.from(points.subarray(0, first));
    const share = against.reduce((sum, won) => sum + won, 0) / (LEAGUE.pinned_matches * first);
    this.admit({ weights, number: this.counts.rounds, version, step, hyper: { ...hyper }, share, win_rate: 0.5, fallen: false }, points, matches);
    const problem = this.succession.afterRound({ weights, version, step }, against, LEAGUE.pinned_matches, even, watch);
    this.snapshots.at(-1)!.fallen = problem !== "";
    this.counts = { ...this.counts, rounds: this.counts.rounds + 1, last_updates: updates, last_step: step };
    return problem;
  }

  /** Opponents of the new snapshot beside the champion: the newest one, one hard one, any others. */
  private rivals(): number[] {
    const places = [...this.snapshots.keys()].filter((k) => this.snapshots[k]!.version !== this.best?.version);
    if (places.length <= LEAGUE.rivals) return places;
    const draws = Draws.seeded(this.kernels, this.seed, LEAGUE.meetings, this.counts.rounds);
    const hard = hardness(places.slice(0, -1).map((k) => this.snapshots[k]!));
    const chosen = [places.at(-1)!, places[draws.weighted(hard, 1)[0]!]!];
    const others = places.filter((k) => !chosen.includes(k));
    return [...chosen, ...Array.from(draws.different(others.length, LEAGUE.rivals - chosen.length), (k) => others[k]!)];
  }

  /** Points of the newcomer against a snapshot, whose `win_rate` follows. */
  private meet(weights: Float32Array, snapshot: Pick<Snapshot, "weights" | "win_rate">, matches: number, series: number): number {
    const won = this.match(weights, policy(snapshot.weights), matches, series);
    const kept = (1 - LEAGUE.ema) ** matches; // as if the matches had come in one by one, each with their mean
    snapshot.win_rate = kept * snapshot.win_rate + ((1 - kept) * won) / matches;
    return won;
  }

  /** Points of `weights` in matches with seeds that are unique in this run. */
  private match(weights: Float32Array, player: Player, matches: number, series: number): number {
    const { wins, draws } = this.play(policy(weights), player, matches, this.seed + 1 + this.counts.rounds * LEAGUE.round_series + series);
    return wins + draws / 2;
  }

  // ---- who stays, who is strong

  /** Forgets what was learned after `step` agent steps: a run continues from an earlier policy. */
  goBack(step: number): void {
    for (let place = this.snapshots.length - 1; place >= 0; place--) {
      if (this.snapshots[place]!.step > step) this.dismiss(place);
    }
    this.counts.last_step = Math.min(this.counts.last_step, step);
  }

  private admit(newcomer: Snapshot, points: Float64Array, matches: Float64Array): void {
    this.snapshots.push(newcomer);
    this.table.add(points, matches);
    this.rate();
    if (this.snapshots.length > this.capacity) this.dismiss(this.leaver());
  }

  private dismiss(place: number): void {
    this.snapshots.splice(place, 1);
    this.table.drop(this.pinned.size + place);
  }

  private rate(): void {
    if (this.pinnedElo.length < this.pinned.size) this.pinnedElo = this.pinnedRatings();
    this.table.rate(this.kernels, this.pinnedElo);
  }

  /** `base_elo` for random play, and the baseline's from its matches with random play, with the same seeds in every run. */
  private pinnedRatings(): number[] {
    const [random, ...others] = [...this.pinned.values()];
    const gaps = others.map((player) => {
      const { wins, draws } = this.play(player, random!, LEAGUE.base_matches, 0);
      return difference(this.kernels, wins + draws / 2, LEAGUE.base_matches);
    });
    return [LEAGUE.base_elo, ...gaps.map((gap) => LEAGUE.base_elo + gap)];
  }

  /** One of the snapshots that are neither champion nor among the newest nor among the best older ones. */
  private leaver(): number {
    const elo = this.table.rating.subarray(this.pinned.size);
    const older = Array.from({ length: this.snapshots.length - Math.round(LEAGUE.recent * this.capacity) }, (_, k) => k);
    const weakestFirst = older.sort((a, b) => elo[a]! - elo[b]!);
    const draws = Draws.seeded(this.kernels, this.seed, LEAGUE.leavers, this.counts.rounds);
    const weakest = weakestFirst.slice(0, older.length - Math.round(LEAGUE.best * this.capacity));
    const leavers = weakest.filter((k) => this.snapshots[k]!.version !== this.best?.version);
    return leavers[draws.below(leavers.length, 1)[0]!]!;
  }

  // ---- opponents

  /** Draws `count` opponents and gives their weights: one in ten the newest, three any, six hard ones. */
  draw(count: number): Float32Array[] {
    const draws = Draws.seeded(this.kernels, this.seed, LEAGUE.opponents, this.counts.draws);
    this.counts.draws += 1;
    const hard = hardness(this.snapshots);
    const { length } = this.snapshots;
    const chosen = Array.from(draws.uniform(count), (u) => {
      if (u < LEAGUE.latest) return this.newest;
      return u < LEAGUE.latest + LEAGUE.uniform ? draws.below(length, 1)[0]! : draws.weighted(hard, 1)[0]!;
    });
    this.opponents = chosen.map((k) => this.snapshots[k]!.weights);
    return this.opponents;
  }

  /** Place of the newest snapshot that had not fallen; the first one never has. */
  private get newest(): number {
    const place = this.snapshots.findLastIndex(({ fallen }) => !fallen);
    return place < 0 ? this.snapshots.length - 1 : place;
  }

  // ---- what others read

  /** The strength of the newest snapshot that had not fallen. */
  get metrics(): Partial<Record<"elo" | "elo_low" | "elo_high", number>> {
    if (this.empty) return {};
    const place = this.pinned.size + this.newest;
    const [rating, half] = [this.table.rating[place]!, this.table.half[place]!];
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
      return { ...row, version, step, share, win_rate, hyper, champion: version === this.best?.version };
    });
    return rows.sort((a, b) => b.elo - a.elo);
  }

  // ---- files

  /** What an exact continuation needs, as a policy file's tensors. */
  state(): Record<string, Tensor> {
    if (this.empty || !this.best) return {};
    const { counts, snapshots, opponents } = this;
    const { points, matches } = this.table;
    return writeState({ counts, snapshots, reign: this.succession.state, opponents, points, matches }, this.floats);
  }

  /** Restores what `state` gave, if it is there; throws PolicyFileError where it does not fit. */
  restore(state: Readonly<Record<string, Tensor>>): void {
    const found: LeagueState | null = this.pinned.size > 0 ? readState(state, this.pinned.size, this.floats) : null;
    if (!found) return;
    ({ counts: this.counts, snapshots: this.snapshots, opponents: this.opponents } = found);
    this.succession.restore(found.reign);
    this.table = new CrossTable(found.points, found.matches);
    this.rate();
  }
}

function policy(weights: Float32Array): Player {
  return { kind: POLICY, weights };
}

/** Probabilities in proportion to (1 - win rate)^2. */
function hardness(snapshots: readonly Snapshot[]): Float64Array {
  const weight = Float64Array.from(snapshots, ({ win_rate }) => (1 - win_rate) ** LEAGUE.hardness + 1e-6);
  const sum = weight.reduce((total, value) => total + value, 0);
  return weight.map((value) => value / sum);
}
