/**
 * Tests whether a policy's strength fell to three quarters of a reference's, with a false-alarm rate for whole runs:
 * dshq_widget/learning/league/fall_test.py, where the mathematics is.
 */
import { FALL } from "../tables";

/** Independent matches of one policy with each pinned opponent. */
export class Score {
  constructor(
    readonly points: number[],
    readonly matches: number[],
  ) {}

  /** Points per match with the pinned opponent of that place, drawn a little towards 1/2: in (0, 1). */
  strength(opponent: number): number {
    return (this.points[opponent]! + 0.5) / (this.matches[opponent]! + 1);
  }

  /** Mean over the opponents of the points per match. */
  get share(): number {
    return this.points.reduce((sum, points, k) => sum + points / this.matches[k]!, 0) / this.points.length;
  }

  add(opponent: number, points: number, matches: number): void {
    this.points[opponent]! += points;
    this.matches[opponent]! += matches;
  }
}

/** Logarithm of the likelihood of `points` in `matches` at strength `one` over that at strength `other`, in nats. */
function logRatio(points: number, matches: number, one: number, other: number): number {
  return points * Math.log(one / other) + (matches - points) * Math.log((1 - one) / (1 - other));
}

/** Evidence in nats that who made `points` in `matches` has fallen from `strength`; none where that is below what is worth a test. */
export function fallen(points: number, matches: number, strength: number): number {
  return strength >= FALL.worth ? logRatio(points, matches, FALL.fall * strength, strength) : 0;
}

interface Fall {
  points: number; // of the policy
  before: number; // of the reference
  matches: number; // of each
}

/** Suspicions against each pinned opponent, and the tests made so far. */
export class FallTest {
  tests = 0;
  suspicion: number[]; // nats

  constructor(opponents: number) {
    this.suspicion = new Array<number>(opponents).fill(0);
  }

  /** Continues with what `tests` and `suspicion` were. */
  restore(tests: number, suspicion: readonly number[]): void {
    this.tests = tests;
    this.suspicion = [...suspicion];
  }

  /** Largest probability that the next test is wrong. */
  private get level(): number {
    return (FALL.false_alarms * FALL.spread) / ((FALL.spread + this.tests) * (FALL.spread + this.tests + 1));
  }

  /** Whether no opponent's latest rounds speak for a fall. */
  get calm(): boolean {
    return this.suspicion.every((nats) => nats === 0);
  }

  /** Adds a round's result; gives whether a test is due. */
  notice(opponent: number, points: number, matches: number, strength: number): boolean {
    const found = this.suspicion[opponent]! + fallen(points, matches, strength);
    this.suspicion[opponent] = Math.min(Math.max(found, 0), FALL.suspicion);
    return this.suspicion[opponent]! >= FALL.suspicion;
  }

  /** `play(batch)` plays fresh matches of the policy and of the reference, whose `record` grows. Gives the fall if there was one. */
  test(opponent: number, record: Score, play: (batch: number) => [points: number, before: number]): Fall | null {
    const limit = -Math.log(this.level);
    this.tests += 1;
    let evidence = 0;
    const sum: Fall = { points: 0, before: 0, matches: 0 };
    for (let batch = 0; batch < FALL.batches && evidence > -FALL.futile; batch++) {
      const strength = record.strength(opponent); // known before these matches
      const middle = FALL.middle * strength;
      const [points, before] = play(batch);
      evidence += logRatio(points, FALL.pairs, FALL.fall * strength, middle) + logRatio(before, FALL.pairs, strength, middle);
      sum.points += points;
      sum.before += before;
      sum.matches += FALL.pairs;
      record.add(opponent, before, FALL.pairs);
      if (evidence < limit) continue;
      if (sum.points <= FALL.middle * sum.before) return sum;
      break;
    }
    this.suspicion[opponent] = 0;
    return null;
  }

  /** Another policy plays, or another reference is measured against; the tests made stay counted. */
  startOver(): void {
    this.suspicion.fill(0);
  }
}
