// @vitest-environment happy-dom
/** A run that a kernel steers in this page. Its worker is the test. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sceneKey, type ToTrainer } from "../../../contract/training";
import { config, FakeModel, spec } from "../../../tests/harness/fakes";
import { PageTraining } from "../page_training";
import { keptRuns } from "../storage";
import { StorageDouble } from "./storage_double";
import { TrainerDouble } from "./trainer_double";

let model: FakeModel;
let training: PageTraining;
const view = (...bytes: number[]) => new DataView(Uint8Array.from(bytes).buffer);
const spoken = () => model.sentOf("FROM_LEARNER").map(({ message }) => message as { type: string });
const number = () => model.sentOf("LEARNER_OFFERED")[0]!.learner;
const order = (message: Record<string, unknown>, run = 1, buffers: DataView[] = []) =>
  model.fire("msg:custom", { type: "TO_LEARNER", learner: number(), run, message }, buffers);
const policy = { version: 2, step: 20, layers: [4, 7], activation: "tanh" as const };

async function begin(drill = spec, scene = "01000000"): Promise<TrainerDouble> {
  const start = { type: "START", spec: drill, values: { workers: 0, num_envs: 64 }, metrics: {}, scenes: [scene], paused: false, asked: 0, policy };
  order(start, 1, [view(0, 0, 128, 63), view(9)]);
  model.fire(
    "msg:custom",
    { type: "TRAINER", problem: "" },
    Array.from({ length: 4 }, () => view(0)),
  );
  await vi.advanceTimersByTimeAsync(0);
  return TrainerDouble.all[0]!;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", TrainerDouble);
  TrainerDouble.all = [];
  model = new FakeModel({ config: { ...config, engine: "page" } });
  training = new PageTraining(model);
});
afterEach(() => {
  training.dispose();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("a page offers itself when it opens and when one is wanted, and says that it trains", () => {
  expect(training.model.trainedBy).toBe("page");
  model.fire("msg:custom", { type: "LEARNER_WANTED", run: 1 });
  expect(model.sentOf("LEARNER_OFFERED").map(({ learner }) => learner)).toEqual([number(), number()]);
});

test("orders reach the worker, and what it says the kernel", async () => {
  const learner = await begin();
  const [start] = learner.heard as Extract<ToTrainer, { type: "START" }>[];
  expect(start!.policy).toEqual({ ...policy, weights: Float32Array.of(1) });
  expect([[...start!.file!], [...start!.scenes[0]!]]).toEqual([[9], [1]]);
  order({ type: "SET_HYPER", key: "learning_rate", value: 0.1 });
  expect(learner.heard.at(-1)).toEqual({ type: "SET_HYPER", key: "learning_rate", value: 0.1 });

  learner.says({ type: "PHASE", text: "training here" });
  learner.says({ type: "POLICY", ...policy, version: 3, weights: Float32Array.of(2) });
  learner.says({ type: "POLICY", ...policy, version: 4, weights: Float32Array.of(3) });
  learner.says({ type: "METRICS", values: { updates: 2 } });
  expect(spoken()).toEqual([
    { type: "PHASE", text: "training here" },
    { type: "POLICY", version: 3, step: 20 },
    { type: "METRICS", values: { updates: 2 } },
  ]);
  await vi.advanceTimersByTimeAsync(1200); // a swap interval
  expect(spoken().at(-1)).toEqual({ type: "POLICY", version: 4, step: 20 });
});

test("files go to the kernel where it asked for them, and at the end with the last policy", async () => {
  const learner = await begin();
  learner.says({ type: "PHASE", text: "training here" });
  await vi.advanceTimersByTimeAsync(2500); // the run is kept in the browser
  expect(learner.heard.at(-1)).toEqual({ type: "SAVE" });
  learner.says({ type: "SAVED", version: 3, file: Uint8Array.of(1) });
  expect(spoken().filter(({ type }) => type === "FILE")).toEqual([]);
  order({ type: "SAVE", path: "/somewhere" });
  expect(learner.heard.at(-1)).toEqual({ type: "SAVE" });
  learner.says({ type: "SAVED", version: 3, file: Uint8Array.of(1) });
  expect(spoken().at(-1)).toEqual({ type: "FILE", part: 0, parts: 1, ended: false });

  order({ type: "STOP" });
  learner.says({ type: "POLICY", ...policy, version: 4, weights: Float32Array.of(2) });
  learner.says({ type: "POLICY", ...policy, version: 5, weights: Float32Array.of(3) });
  learner.says({ type: "STOPPED", version: 5, file: Uint8Array.of(1) });
  expect(spoken().slice(-2)).toEqual([
    { type: "POLICY", version: 5, step: 20 },
    { type: "FILE", part: 0, parts: 1, ended: true },
  ]);
  expect(learner.ended).toBe(true);
});

test("a page that leaves says so, one that cannot train says why, and one that is quiet shows that it is there", async () => {
  const learner = await begin();
  await vi.advanceTimersByTimeAsync(2000);
  const beats = () => spoken().filter(({ type }) => type === "BEAT").length;
  expect(beats()).toBeGreaterThan(0);
  const [before, now] = [beats(), performance.now()];
  const clock = vi.spyOn(performance, "now");
  for (let k = 1; k <= 10; k++) {
    clock.mockReturnValue(now + 500 * k); // no timer of the page: one that is not seen has hardly any
    learner.says({ type: "BEAT" });
  }
  clock.mockRestore();
  expect(beats() - before, "one a second").toBe(5);
  dispatchEvent(new Event("pagehide"));
  expect([spoken().at(-1), learner.ended]).toEqual([{ type: "LEFT" }, true]);

  order({ type: "START", spec, values: {}, metrics: {}, scenes: [], paused: false, asked: 0, policy }, 2);
  model.fire("msg:custom", { type: "TRAINER", problem: "No compiler." }, []);
  await vi.advanceTimersByTimeAsync(0);
  expect(spoken().at(-1)).toEqual({ type: "FAILED", text: "No compiler." });
});

test("without its kernel the run continues in this page when a person wants it", async () => {
  const learner = await begin();
  order({ type: "SCENES", scenes: [] });
  learner.says({ type: "PHASE", text: "training here" });
  model.set("status", "training");
  training.kernelIs(false);
  await training.offer!.actions[0]!.act();
  const said = spoken().length;
  learner.says({ type: "METRICS", values: { updates: 9 } });
  expect([training.model.get("status"), training.model.get("metrics")]).toEqual(["training", { updates: 9 }]);
  expect([learner.ended, spoken().length]).toEqual([false, said]);
  training.model.send({ type: "STOP_TRAINING" });
  expect(learner.heard.at(-1)).toEqual({ type: "STOP" });
});

test("the scenes that the run practises stay in the list of the page that takes it over", async () => {
  const fields = ["rng_key", "rng_count", "practice", "ticks", "x"].map((name) => [name, "f32", 0] as [string, "f32", number]);
  const drill = { ...spec, fields };
  model.set("drill", { spec: drill, javascript: "return {}" });
  const state = `${"00".repeat(16)}0000803f`; // x = 1
  const learner = await begin(drill, state);
  const key = sceneKey(new Uint32Array([0, 0, 0, 0, 0x3f800000]));
  const first = { share: 0.25, version: 1 };
  model.set("scenes", [{ key, places: [], before: first, now: first }]);
  learner.says({ type: "PHASE", text: "training here" });
  model.set("status", "training");
  training.kernelIs(false);
  await training.offer!.actions[0]!.act();
  learner.says({ type: "SCENES", rows: [{ key, share: 0.75, version: 9 }] });
  expect(training.model.get("scenes")).toMatchObject([{ key, before: { share: 0.25 }, now: { share: 0.75 } }]);
});

test("a worker that the browser has ended ends the run with a sentence", async () => {
  const learner = await begin();
  learner.says({ type: "PHASE", text: "training here" });
  await vi.advanceTimersByTimeAsync(180_000);
  expect(spoken().at(-1)).toMatchObject({ type: "FAILED", text: expect.stringMatching(/^The thread that trains has said nothing for 180 s;/) });
  expect(learner.ended).toBe(true);
});

test("another run of the kernel leaves the one that this browser has kept", async () => {
  new StorageDouble();
  for (const version of [3000, 3001]) {
    TrainerDouble.all = [];
    (await begin()).says({ type: "STOPPED", version, file: Uint8Array.of(1) }); // from version 2 each time
    await vi.advanceTimersByTimeAsync(10);
  }
  expect((await keptRuns(spec.rules_hash)).map(({ version }) => version)).toEqual([3001, 3000]);
});
