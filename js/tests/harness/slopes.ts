/** Holds a policy's gradient to differences of what its forward pass says. */
import { expect } from "vitest";
import type { Policy } from "../../match/network/policy";

/** Steps of `step` to either side of each number of `observation`; the slopes are those of the log-probability of `action`. */
export function expectSlopes(policy: Policy, observation: Float32Array, action: number, step: number): void {
  const chance = (k: number, by: number) => {
    policy.forward(observation.map((x, at) => (at === k ? x + by : x)));
    return Math.log(policy.probabilities[action]!);
  };
  policy.forward(observation);
  const slope = new Float32Array(observation.length);
  policy.gradient(action, slope);
  slope.forEach((found, k) => expect(found).toBeCloseTo((chance(k, step) - chance(k, -step)) / (2 * step), 2));
  expect(Math.max(...slope.map(Math.abs))).toBeGreaterThan(0.1);
}
