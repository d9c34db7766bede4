import { expect, test } from "vitest";
import { WasmEngine } from "../../trainer/engines/wasm";
import type { Hyper } from "../../trainer/ppo/schedule";
import type { Settings } from "../../trainer/settings";

test.each([
  [0, ["update"]],
  [1, ["correct", "update"]],
])("samples that are %i versions old", async (lag, wanted) => {
  const done: string[] = [];
  const experience = { samples: { returns: { f32: new Float32Array(16) } }, units: Int32Array.of(0), stats: [], lag };
  const learner = { at: 0, skipped: 0, weights: [], correctLag: () => done.push("correct"), update: () => done.push("update") };
  const engine: WasmEngine = Object.assign(Object.create(WasmEngine.prototype), { learner, games: { next: async () => experience } });
  expect((await engine.update({} as Settings, {} as Hyper)).lag).toBe(lag);
  expect(done).toEqual(wanted);
});
