import { describe, expect, it } from "vitest";
import { countFloats, readLayers } from "../../match/network/layers";
import { Policy } from "../../match/network/policy";
import { expectSlopes } from "../harness/slopes";

const LAYERS = [7, -2, -3, -2, -3, -4, -3, -2, 5, 13]; // two places on a map of two rows, two kinds, one more number
const WEIGHTS = Float32Array.from({ length: 12 + 15 + 30 + 18 }, (_, k) => Math.sin(k * 1.7 + 1));
const OBSERVATION = Float32Array.of(1 / 5, 0.5, -0.25, 4 / 5, 0.75, 0.125, 0.25);

describe("Places", () => {
  it("are read from a network's layers", () => {
    const { front, dense } = readLayers(LAYERS);
    expect([front!.features, front!.inputs, front!.floats]).toEqual([4, 6, 12 + 15]);
    expect(dense).toEqual([5, 5, 3]);
    expect(countFloats(LAYERS)).toBe(WEIGHTS.length);
  });

  it.each([
    ["two places", OBSERVATION, [0.0350152, 0.01159515, 0.0350152, 0.03114021, 0.01134066, 0.03114021, 0.19053042, 0.0630934], 1.02142632],
    [
      "one, the other is none",
      OBSERVATION.map((n, k) => (k < 3 ? 0 : n)),
      [0.03727343, 0.03056942, 0.03727343, 0.03056942, 0.01207206, 0.03056942, 0.17174371, 0.14085379],
      1.48449429,
    ],
  ])("give what Python gives for %s", (_, observation, wanted, value) => {
    const policy = new Policy(1, LAYERS, "relu", WEIGHTS); // dshq_widget.policy.network.Policy
    policy.forward(observation);
    wanted.forEach((p, k) => expect(policy.probabilities[k]).toBeCloseTo(p, 5));
    expect(policy.value).toBeCloseTo(value, 5);
  });

  it("never choose what a mask forbids", () => {
    const policy = new Policy(1, LAYERS, "relu", WEIGHTS);
    policy.forward(OBSERVATION, Uint8Array.of(1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1));
    expect([...policy.probabilities].map((p, k) => (p > 0 ? k : -1)).filter((k) => k >= 0)).toEqual([0, 2, 11]);
  });

  it("know how each observation moves the chance of an action; which cell a place is has no slope", () => {
    expectSlopes(new Policy(1, LAYERS, "relu", WEIGHTS), OBSERVATION, 1, 2 ** -10);
  });
});
