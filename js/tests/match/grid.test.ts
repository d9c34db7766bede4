import { describe, expect, it } from "vitest";
import { countFloats, readLayers } from "../../match/network/layers";
import { Policy } from "../../match/network/policy";
import { expectSlopes } from "../harness/slopes";

const LAYERS = [13, -2, -2, -2, -2, -3, 3, 4]; // 2 x 2 cells, two planes, two maps, three sweeps
const WEIGHTS = Float32Array.from({ length: 58 }, (_, k) => Math.sin(k * 1.7 + 1));
const OBSERVATION = Float32Array.of(1, 0, 0.5, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0.25);

describe("Grid", () => {
  it("is read from a network's layers", () => {
    expect(readLayers([28, 64, 31])).toEqual({ dense: [28, 64, 31], front: null, memory: null });
    const { front, dense } = readLayers(LAYERS);
    expect([front!.features, front!.inputs, front!.floats]).toEqual([8, 12, 12]);
    expect(dense).toEqual([9, 3, 4]);
    expect(countFloats(LAYERS)).toBe(12 + 30 + 16);
    expect(countFloats([2, 2, 3])).toBe(15);
  });

  it("gives what Python gives", () => {
    const policy = new Policy(1, LAYERS, "tanh", WEIGHTS);
    policy.forward(OBSERVATION);
    const wanted = [0.0185915846, 0.2044082284, 0.7770002484]; // dshq_widget.policy.network.Policy with these weights
    wanted.forEach((p, k) => expect(policy.probabilities[k]).toBeCloseTo(p, 5));
    expect(policy.value).toBeCloseTo(-0.9357544184, 5);
  });

  it("knows how each observation moves the chance of an action", () => {
    expectSlopes(new Policy(1, LAYERS, "tanh", WEIGHTS), OBSERVATION, 1, 2 ** -8);
  });

  it("refuses weights of another size", () => {
    expect(() => new Policy(4, LAYERS, "tanh", WEIGHTS.slice(1))).toThrow(/Policy version 4 was refused/);
  });
});
