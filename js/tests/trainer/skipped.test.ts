/** Updates of which a part was left out, since its gradient was not finite: as dshq_widget/learning/run.py handles them. */
import { expect, test } from "vitest";
import type { Update } from "../../trainer/engines/engine";
import { Run } from "../../trainer/run";

const [OLD, NEW, BROKEN] = [[1], [2], [Number.NaN]].map((row) => Float32Array.from(row)) as [Float32Array, Float32Array, Float32Array];

/** A run of version 1 that has skipped `skips` updates, whose learner has these weights after another; and what it warned of. */
function after(weights: Float32Array, learned: Record<string, number>, skips = 0): [version: number, updates: number, weights: Float32Array, said: string] {
  const run: Run = Object.create(Run.prototype);
  const said: string[] = [];
  const engine = {
    weights,
    mend: () => {},
    load: (row: Float32Array) => {
      engine.weights = row;
    },
  };
  const post = (message: { type: string; text?: string }) => message.type === "WARNING" && said.push(message.text!);
  const own = { engine, post, published: OLD, version: 1, updates: 0, agentSteps: 0, skips, returns: 0, rate: 1, good: 0 };
  Object.assign(run, own, { layers: [1, 1], settings: { activation: "tanh" } });
  const update = { agentSteps: 16, learned, skipped: 1 } as unknown as Update;
  (run as unknown as { follow(update: Update): void }).follow(update);
  return [run.version, run.updates, engine.weights, said.join()];
}

test("what the other part changed is published and counted", () => {
  expect(after(NEW, { loss_value: 1 }).slice(0, 3)).toEqual([2, 1, NEW]);
  expect(after(NEW, { loss_value: 1 })[3]).toMatch(/^an update was skipped in part: 1 minibatches had/);
  expect(after(OLD, {}).slice(0, 3), "there was no other part").toEqual([1, 0, OLD]);
  expect(after(OLD, {})[3]).toMatch(/^an update was skipped: 1 minibatches had/);
  expect(after(BROKEN, { loss_value: 1 }).slice(0, 3)).toEqual([1, 0, OLD]);
});

test("the third in a row reverts to what was published last, its own part included", () => {
  const [version, updates, weights, said] = after(NEW, { loss_value: 1 }, 2);
  expect([version, updates, weights]).toEqual([2, 1, NEW]);
  expect(said).toMatch(/^reverted to version 2; continuing with the learning rate times 0.5: 3 updates in a row/);
  expect(after(OLD, {}, 2).slice(0, 3)).toEqual([1, 0, OLD]);
});
