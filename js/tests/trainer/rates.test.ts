/** The rates that a run in a page reports, with parts that take their time on a clock of their own. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Update } from "../../trainer/engines/engine";
import { Pace } from "../../trainer/pace";
import { Run } from "../../trainer/run";
import { STATS } from "../../trainer/tables";
import { Tally } from "../../trainer/tally";

const STEPS = 100;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What takes that many ms. */
const takes = (ms: number) => () => void vi.advanceTimersByTime(ms);

/** A run of `updates` updates of 250 ms each; evaluations take 5 s, rounds of the league 1 s, scenes 2 s. It pauses for 400 ms after update `pause`. */
async function rowsOf(updates: number, pause = 0): Promise<Record<string, number>[]> {
  const rows: Record<string, number>[] = [];
  const run: Run = Object.create(Run.prototype);
  const stats = Float64Array.from(STATS, (name) => (name === "agent_steps" ? STEPS : 0));
  const update: Update = { agentSteps: STEPS, stats, learned: {}, skipped: 0, meanReturn: 0, rolloutMs: 125, updateMs: 125 };
  const engine = {
    weights: new Float32Array(1),
    place: "here",
    threads: 0,
    close: () => {},
    update: async () => {
      takes(250)();
      if (run.updates === pause - 1) run.receive({ type: "PAUSE_TRAINING" });
      if (run.updates === pause - 1) setTimeout(resume, 0);
      if (run.updates === updates - 1) run.receive({ type: "STOP" });
      return update;
    },
  };
  const resume = (): void => {
    if (!Reflect.get(run, "wake")) {
      setTimeout(resume, 0); // it does not rest yet
      return;
    }
    takes(400)();
    run.receive({ type: "RESUME_TRAINING" });
  };
  const post = (message: { type: string; values?: Record<string, number> }) => message.type === "METRICS" && rows.push(message.values!);
  Object.assign(run, {
    engine,
    post,
    place: "here",
    updates: 0,
    agentSteps: 0,
    version: 0,
    seconds: 0,
    layers: [1, 1],
    metrics: {},
    settings: { pace: 0, activation: "tanh" },
    modules: { spec: { terms: [] }, heap: { wasm: { buffer: { byteLength: 0 } } } },
    pace: new Pace(false, 0),
    tally: new Tally(0),
    exploration: { afterUpdate: () => "", bonus: 0 },
    evaluator: { pause: () => 4, play: takes(5000), metrics: {} },
    contest: { begin: () => {}, afterUpdate: takes(1000), metrics: {} },
    scenes: { beforeUpdate: takes(2000) },
  });
  Object.defineProperty(run, "hyper", { value: {} });
  await run.train();
  return rows;
}

test("rates are those of training, without evaluation, matches of the league and scenes", async () => {
  const rows = await rowsOf(9);
  expect(rows).toHaveLength(5);
  for (const row of rows) {
    expect(row.agent_steps_per_second).toBeCloseTo(400, 3);
    expect(row.updates_per_second).toBeCloseTo(4, 5);
  }
  expect(rows.at(-1)!.seconds).toBeCloseTo(9 * 0.25, 5);
});

test("rates are those of training, without a pause between two reports", async () => {
  const rows = await rowsOf(5, 2);
  expect(rows.map((row) => row.updates_per_second!.toFixed(3))).toEqual(["4.000", "4.000", "4.000"]);
  expect(rows.at(-1)!.seconds).toBeCloseTo(5 * 0.25, 5);
});
