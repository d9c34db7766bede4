/** Updates of which a part was left out, since its gradient was not finite. */
import { expect, test } from "vitest";
import type { Update } from "../../trainer/engines/engine";
import { Run } from "../../trainer/run";

const [OLD, NEW, BROKEN] = [[1], [2], [Number.NaN]].map((row) => Float32Array.from(row)) as [Float32Array, Float32Array, Float32Array];

/** A run of version 1 whose learner has these weights after `update`. */
function after(weights: Float32Array, learned: Record<string, number>) {
  const run: Run = Object.create(Run.prototype);
  const engine = {
    weights,
    mend: () => {},
    load: (row: Float32Array) => {
      engine.weights = row;
    },
  };
  const own = { engine, post: () => {}, published: OLD, version: 1, updates: 0, agentSteps: 0, skips: 0, returns: 0, rate: 1, good: 0 };
  Object.assign(run, own, { layers: [1, 1], settings: { activation: "tanh" } });
  const update = { agentSteps: 16, learned, skipped: 1 } as unknown as Update;
  (run as unknown as { follow(update: Update): void }).follow(update);
  return [run.version, run.updates, engine.weights];
}

test("what the other part changed is published, or undone", () => {
  expect(after(NEW, { loss_value: 1 })).toEqual([2, 0, NEW]);
  expect(after(OLD, {}), "there was no other part").toEqual([1, 0, OLD]);
  expect(after(BROKEN, { loss_value: 1 })).toEqual([1, 0, OLD]);
});
