import { describe, expect, it } from "vitest";
import { marginals, Policy, sample } from "../../match/network/policy";

// layers [2, 2, 3]: W1 [2, 2], b1 [2], W2 [2, 3], b2 [3]; two actions and the value
const BLOB = Float32Array.from([0.5, -1, 0.25, 2, 0.1, -0.2, 1, -1, 0.5, 0.3, 0.7, -2, 0, 0.4, 0.6]);
const LAYERS = [2, 2, 3];
const OBSERVATION = Float32Array.from([0.8, -0.4]);

function byHand(squash: (x: number) => number): { probabilities: number[]; value: number } {
  const [x0, x1] = [0.8, -0.4];
  const h0 = squash(x0 * 0.5 + x1 * 0.25 + 0.1);
  const h1 = squash(x0 * -1 + x1 * 2 - 0.2);
  const logits = [h0 * 1 + h1 * 0.3 + 0, h0 * -1 + h1 * 0.7 + 0.4];
  const sum = Math.exp(logits[0]!) + Math.exp(logits[1]!);
  return { probabilities: logits.map((logit) => Math.exp(logit) / sum), value: h0 * 0.5 + h1 * -2 + 0.6 };
}

describe("Policy", () => {
  it.each([
    ["tanh", Math.tanh],
    ["relu", (x: number) => Math.max(0, x)],
  ] as const)("agrees with a hand computation (%s)", (activation, squash) => {
    const policy = new Policy(3, LAYERS, activation, BLOB);
    policy.forward(OBSERVATION);
    const wanted = byHand(squash);
    wanted.probabilities.forEach((p, k) => expect(policy.probabilities[k]).toBeCloseTo(p, 6));
    expect(policy.value).toBeCloseTo(wanted.value, 6);
  });

  it("gives what is forbidden no chance, and what is left the same odds", () => {
    const wide = new Policy(1, [1, 4], "tanh", Float32Array.from([0, 0, 0, 0, 1, 2, 3, 0.5])); // three logits, then the value
    wide.forward(Float32Array.from([1]), Uint8Array.from([1, 0, 1]));
    const odds = Math.exp(2);
    expect(wide.probabilities[1]).toBe(0);
    expect(wide.probabilities[2]! / wide.probabilities[0]!).toBeCloseTo(odds, 4);
    expect(wide.value).toBe(0.5);
    for (const u of [0, 0.1, 0.5, 0.9, 1 - 2 ** -32]) expect(sample(wide.probabilities, u)).not.toBe(1);
    wide.forward(Float32Array.from([1]), Uint8Array.from([0, 1, 0]));
    for (const u of [0, 0.5, 1 - 2 ** -32]) expect(sample(wide.probabilities, u)).toBe(1);
  });

  it("reads bytes at any offset and keeps a copy", () => {
    const bytes = new Uint8Array(BLOB.byteLength + 3);
    bytes.set(new Uint8Array(BLOB.buffer), 3);
    const policy = new Policy(1, LAYERS, "tanh", new DataView(bytes.buffer, 3));
    bytes.fill(0);
    policy.forward(OBSERVATION);
    expect(policy.value).toBeCloseTo(byHand(Math.tanh).value, 6);
  });

  it("stays finite for large logits", () => {
    const policy = new Policy(1, [1, 3], "tanh", Float32Array.from([1000, -1000, 5, 0, 0, 0]));
    policy.forward(Float32Array.of(1));
    expect([...policy.probabilities]).toEqual([1, 0]);
    expect(policy.value).toBe(5);
  });

  it("refuses a blob of the wrong size or with numbers that are not finite", () => {
    expect(() => new Policy(7, LAYERS, "tanh", BLOB.slice(1))).toThrow("version 7 was refused: layers 2-2-3 need 60 bytes, got 56");
    expect(() => new Policy(7, LAYERS, "tanh", BLOB.with(4, NaN))).toThrow("not finite");
  });
});

it("samples by cumulated probability", () => {
  const probabilities = Float32Array.of(0.25, 0, 0.5, 0.25);
  expect([0, 0.2499, 0.25, 0.74, 0.76, 0.999999].map((u) => sample(probabilities, u))).toEqual([0, 0, 2, 2, 3, 3]);
});

it("sums probabilities by choice, the first choice most significant", () => {
  const rows = marginals(Float32Array.of(0.1, 0.2, 0.3, 0.05, 0.15, 0.2), [3, 2]);
  const wanted = [
    [0.3, 0.35, 0.35],
    [0.55, 0.45],
  ];
  expect(rows).toEqual(wanted.map((row) => row.map((p) => expect.closeTo(p, 6))));
});
