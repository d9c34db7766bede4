import { describe, expect, it } from "vitest";
import { Normalizer } from "../../trainer/ppo/normalizer";

const samples = {
  obs: { f32: Float32Array.from({ length: 2 * 16 }, (_, k) => 100 + k) },
  returns: { f32: Float32Array.from({ length: 16 }, (_, k) => k) },
} as never;
const units = Int32Array.of(0);
const made = () => new Normalizer([2, 3], { normalize_observations: true, normalize_rewards: true });
const weights = Float32Array.from({ length: 9 }, (_, k) => k + 1);

describe("the first rollout of a normaliser", () => {
  it("gives moments, and untrained weights are made for normalised numbers", () => {
    const normalizer = made();
    expect(normalizer.measures).toBe(true);
    expect(normalizer.measured(weights, samples, units)).not.toEqual(weights);
    expect(normalizer.measures).toBe(false);
  });

  it("leaves weights of a file without moments as they are", () => {
    const normalizer = made();
    normalizer.fresh = false; // as a learner that has loaded them says
    expect(normalizer.measures, "nothing is learned from raw numbers").toBe(true);
    expect(normalizer.measured(weights, samples, units)).toEqual(weights);
    expect(normalizer.rewardScale).toBeLessThan(1);
  });
});
