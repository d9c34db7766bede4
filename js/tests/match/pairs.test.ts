import { describe, expect, it } from "vitest";
import { countFloats, readLayers } from "../../match/network/layers";
import { Policy } from "../../match/network/policy";
import { expectSlopes } from "../harness/slopes";

const LAYERS = [9, -2, -1, -3, -2, -8, -8, 5, 7]; // two items, three spaces, one more number
const WEIGHTS = Float32Array.from({ length: 16 + 24 + 72 + 72 + 9 + 90 + 54 }, (_, k) => Math.sin(k * 1.7 + 1));
const OBSERVATION = Float32Array.of(1, -0.5, 0.5, 0.3, -0.7, 0.9, -0.2, 0.1, 0.25);

describe("Pairs", () => {
  it("are read from a network's layers", () => {
    const { front, dense } = readLayers(LAYERS);
    expect([front!.features, front!.inputs, front!.floats]).toEqual([16, 8, 16 + 24 + 72 + 72 + 9]);
    expect(dense).toEqual([17, 5, 9]);
    expect(countFloats(LAYERS)).toBe(WEIGHTS.length);
  });

  it("give what Python gives", () => {
    const policy = new Policy(1, LAYERS, "tanh", WEIGHTS);
    policy.forward(OBSERVATION);
    const wanted = [0.4072214663, 0.140213266, 0.3256994188, 0.0581582747, 0.0233322475, 0.045375362]; // dshq_widget.policy.network.Policy
    wanted.forEach((p, k) => expect(policy.probabilities[k]).toBeCloseTo(p, 5));
    expect(policy.value).toBeCloseTo(0.4311621487, 5);
  });

  it("never choose what a mask forbids", () => {
    const policy = new Policy(1, LAYERS, "tanh", WEIGHTS);
    policy.forward(OBSERVATION, Uint8Array.of(1, 0, 1, 0, 0, 0));
    expect([...policy.probabilities].map((p) => p > 0)).toEqual([true, false, true, false, false, false]);
  });

  it("know how each observation moves the chance of an action", () => {
    expectSlopes(new Policy(1, LAYERS, "tanh", WEIGHTS), OBSERVATION, 1, 2 ** -10);
  });

  it("refuse weights of another size", () => {
    expect(() => new Policy(4, LAYERS, "tanh", WEIGHTS.slice(1))).toThrow(/Policy version 4 was refused/);
  });
});
