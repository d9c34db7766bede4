import { describe, expect, it } from "vitest";
import { Normalizer } from "../../trainer/ppo/normalizer";

const samples = {
  obs: { f32: Float32Array.from({ length: 2 * 16 }, (_, k) => 100 + k) },
  returns: { f32: Float32Array.from({ length: 16 }, (_, k) => k) },
} as never;
const units = Int32Array.of(0);
const made = () => new Normalizer([2, 3], { normalize_observations: true, normalize_rewards: true });
const weights = Float32Array.from({ length: 9 }, (_, k) => k + 1);
/** What each output of a network of one layer with 2 inputs says; the last one is the value. */
const outputs = (w: Float32Array, x: readonly number[]) => [0, 1, 2].map((o) => w[6 + o]! + w[o]! * x[0]! + w[3 + o]! * x[1]!);
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: readonly number[]) => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)));
const range = (first: number) => Array.from({ length: 16 }, (_, k) => first + k);

describe("the first rollout of a normaliser", () => {
  it("gives moments, and untrained weights are made for normalised numbers", () => {
    const normalizer = made();
    expect(normalizer.measures).toBe(true);
    const folded = normalizer.measured(weights, samples, units);
    expect(normalizer.measures).toBe(false);
    const { inputs, rewardScale } = normalizer;
    const near = (value: number) => expect.closeTo(value, 1); // a little of zero and one is in it, too
    expect([inputs[0], 1 / inputs[1]!, inputs[2], 1 / inputs[3]!]).toEqual([range(100), range(116)].flatMap((x) => [near(mean(x)), near(deviation(x))]));
    expect(1 / rewardScale).toBeCloseTo(deviation(range(0)), 1);
    for (const x of [
      [100, 131],
      [107, 120],
    ]) {
      const normal = x.map((one, k) => (one - inputs[2 * k]!) * inputs[2 * k + 1]!);
      const [a, b, value] = outputs(weights, normal);
      const raw = outputs(folded, x);
      [a!, b!, value! / rewardScale].forEach((wanted, k) => expect(raw[k]).toBeCloseTo(wanted, 3));
    }
  });

  it("leaves weights of a file without moments as they are", () => {
    const normalizer = made();
    normalizer.fresh = false; // as a learner that has loaded them says
    expect(normalizer.measures, "nothing is learned from raw numbers").toBe(true);
    expect(normalizer.measured(weights, samples, units)).toEqual(weights);
    expect(normalizer.rewardScale).toBeLessThan(1);
  });
});
