/**
 * Who is champion, whose strength the policy is held to, and whether it has fallen below that:
 * dshq_widget/learning/league/succession.py.
 */
import { percent, thousands } from "../files/format";
import { FALL } from "../tables";
import { FallTest, fallen, Score } from "./fall_test";

/** A policy that was not worse than the champion before it. */
export interface Champion {
  weights: Float32Array;
  version: number;
  step: number;
}

/** The reference and its independent matches with each pinned opponent. */
export interface Reference extends Champion {
  points: number[];
  matches: number[];
}

/** What a policy file keeps. Files from before there were references have only the champion. */
export interface Reign {
  champion: Champion;
  reference: Reference | null;
  tests: number;
  suspicion: number[];
  anew: boolean;
}

/** Plays matches with the pinned opponent of a place; no two calls of a round have the same `series`. Gives the points. */
type Meet = (weights: Float32Array, opponent: number, matches: number, series: number) => number;

export class Succession {
  champion: Champion | null = null;
  readonly test: FallTest;
  private reference: Champion | null = null;
  private record = new Score([], []);
  private anew = false; // the next policy becomes champion and reference in any case

  constructor(
    private readonly names: readonly string[],
    private readonly play: Meet,
  ) {
    this.test = new FallTest(names.length);
  }

  /**
   * Holds the newest policy to the reference, and crowns it if it is not worse than the champion. `points` are those of its `matches` with
   * each pinned opponent; `even`: it made at least half the points against the champion. Gives "" or how far it has fallen.
   */
  afterRound(newcomer: Champion, points: readonly number[], matches: number, even: boolean, watch: boolean): string {
    if (!this.champion || this.anew) {
      [this.champion, this.anew] = [newcomer, false];
      this.referTo(newcomer, this.measured(newcomer, matches));
      return "";
    }
    if (!this.reference) this.referTo(this.champion, this.measured(this.champion, matches));
    for (const [k, won] of points.entries()) {
      if (!this.test.notice(k, won, matches, this.record.strength(k)) || !watch) continue;
      const problem = this.tested(newcomer, k);
      if (problem) return problem;
    }
    if (even && (this.test.calm || !watch)) this.crown(newcomer, matches);
    return "";
  }

  /** The reward weights have changed: who is paid for something else may win less, so the next policy is the one to be held to. */
  rewardsChanged(): void {
    this.anew = true;
    this.test.startOver();
  }

  get state(): Reign {
    const { champion, record, test, anew } = this;
    const reference = this.reference && { ...this.reference, points: record.points, matches: record.matches };
    return { champion: champion!, reference, tests: test.tests, suspicion: test.suspicion, anew };
  }

  restore({ champion, reference, tests, suspicion, anew }: Reign): void {
    this.champion = champion;
    this.anew = anew;
    if (!reference) return;
    const { points, matches, ...policy } = reference;
    [this.reference, this.record] = [policy, new Score([...points], [...matches])];
    this.test.restore(tests, suspicion);
  }

  private tested(newcomer: Champion, k: number): string {
    const found = this.test.test(k, this.record, (batch) => {
      const series = FALL.testing * (k + 1) + 2 * batch;
      const points = this.play(newcomer.weights, k, FALL.pairs, series);
      return [points, this.play(this.reference!.weights, k, FALL.pairs, series + 1)];
    });
    if (!found) return "";
    const [before, now] = [found.before / found.matches, found.points / found.matches];
    return `the score against ${this.names[k]} fell from ${percent(before)} to ${percent(now)} in ${thousands(found.matches)} matches each`;
  }

  private crown(newcomer: Champion, matches: number): void {
    const record = this.measured(newcomer, matches);
    if (record.points.some((points, k) => fallen(points, record.matches[k]!, this.record.strength(k)) > 0)) return;
    this.champion = newcomer;
    if (record.share < this.record.share) return;
    for (const [k, points] of this.measured(newcomer, matches, this.names.length).points.entries()) record.add(k, points, matches); // luck chose the first ones
    this.referTo(newcomer, record);
  }

  /** Fresh matches with all pinned opponents, in series from the `first` of a crowning. */
  private measured({ weights }: Champion, matches: number, first = 0): Score {
    const points = this.names.map((_, k) => this.play(weights, k, matches, FALL.crowning + first + k));
    return new Score(
      points,
      points.map(() => matches),
    );
  }

  private referTo(policy: Champion, record: Score): void {
    [this.reference, this.record] = [policy, record];
    this.test.startOver();
  }
}
