// @vitest-environment happy-dom
/** A page that trains by itself. Its worker is the test. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { MetricsRow } from "../../../contract/protocol";
import type { FromTrainer, ToTrainer } from "../../../contract/training";
import { History } from "../../../session/history";
import { BEFORE } from "../../../session/undoing";
import { config, FakeModel, spec } from "../../../tests/harness/fakes";
import { type OwnTraits, PageModel, TRAINERS } from "../page_model";
import { PageTrainer } from "../page_trainer";
import { keptRuns } from "../storage";
import { StorageDouble } from "./storage_double";
import { TrainerDouble } from "./trainer_double";

let base: FakeModel;
let model: PageModel;
let trainer: PageTrainer;
const begin = async () => {
  model.send({ type: "START_TRAINING" });
  await vi.advanceTimersByTimeAsync(0);
  const thread = TrainerDouble.all.find(({ ended }) => !ended)!;
  thread.says({ type: "PHASE", text: "training here" });
  return thread;
};
const fileOf = ({ heard }: TrainerDouble) => (heard.find(({ type }) => type === "START") as Extract<ToTrainer, { type: "START" }>).file;
const policy = (version: number) => ({ version, step: version, layers: [4, 7], activation: "tanh" as const, weights: new Float32Array(35) });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", TrainerDouble);
  TrainerDouble.all = [];
  base = new FakeModel({ config: { ...config, values: { ...config.values, workers: 0, num_envs: 64 } } });
  model = new PageModel(base);
  const fetch = async () => ({ code: "", modules: { learner: new ArrayBuffer(0), drill: new ArrayBuffer(0) }, wgsl: "" });
  trainer = new PageTrainer(model, { spec, javascript: "" }, fetch, () => {});
  const own = Object.fromEntries(TRAINERS.map((name) => [name, base.get(name)])) as unknown as OwnTraits;
  model.takeOver(own, (message, buffers) => trainer.receive(message, buffers));
});
afterEach(() => {
  trainer.dispose();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("a thread that the browser has ended ends the run with a sentence, one that rests does not", async () => {
  const thread = await begin();
  for (let k = 0; k < 30; k++) {
    await vi.advanceTimersByTimeAsync(10_000);
    thread.says({ type: "BEAT" });
  }
  expect(model.get("status")).toBe("training");
  await vi.advanceTimersByTimeAsync(180_000);
  expect([model.get("status"), thread.ended]).toEqual(["error", true]);
  expect(model.get("error")).toMatch(/^The thread that trains has said nothing for 180 s; .* Press Train to continue from the last version\.$/);
});

test("a run that failed continues from what was kept last, not from where it was begun", async () => {
  const first = await begin();
  expect(fileOf(first)).toBeNull();
  first.says({ type: "STOPPED", version: 1, file: Uint8Array.of(1) });
  const second = await begin();
  expect(fileOf(second)).toEqual(Uint8Array.of(1));
  second.says({ type: "SAVED", version: 9, file: Uint8Array.of(9) });
  second.says({ type: "FAILED", text: "No memory." });
  expect(model.get("error")).toBe("No memory.");
  expect(fileOf(await begin())).toEqual(Uint8Array.of(9));
});

test("the curves of a run that failed continue where its file ends", async () => {
  const shown = new History();
  model.on("change:metrics", () => {
    const row = model.get("metrics");
    if (Object.keys(row).length) shown.append(row);
    else shown.clear();
  });
  model.on("msg:custom", (message: { type: string; rows: MetricsRow[] }) => message.type === "HISTORY" && shown.replace(0, message.rows));
  const report = (version: number) => ({ type: "METRICS", values: { version, agent_steps: 10 * version } }) as const;
  const first = await begin();
  for (const version of [3, 9]) first.says(report(version));
  first.says({ type: "SAVED", version: 9, file: Uint8Array.of(9) });
  first.says({ type: "POLICY", ...policy(12) });
  first.says(report(12));
  first.says({ type: "FAILED", text: "No memory." });
  const second = await begin();
  expect(second.heard[0]).toMatchObject({ metrics: { version: 9 } });
  second.says(report(11));
  expect(shown.rows.map(({ version }) => version)).toEqual([3, 9, 11]);
  model.send({ type: "HELLO", seq: 0 });
  expect(shown.rows.map(({ version }) => version)).toEqual([3, 9, 11]);
});

test("what a person saves after a failure is the version that plays", async () => {
  const saved: string[] = [];
  model.on("msg:custom", (message: { type: string; name: string }) => message.type === "POLICY_FILE" && saved.push(message.name));
  const thread = await begin();
  thread.says({ type: "SAVED", version: 9, file: Uint8Array.of(9) });
  thread.says({ type: "POLICY", ...policy(12) });
  thread.says({ type: "FAILED", text: "No memory." });
  model.send({ type: "SAVE_POLICY" });
  await vi.advanceTimersByTimeAsync(0);
  const packer = TrainerDouble.all.at(-1)!;
  expect(packer.heard.at(-1)).toMatchObject({ type: "PACK", policy: { version: 12 } });
  packer.says({ type: "SAVED", version: 12, file: Uint8Array.of(12) });
  await vi.advanceTimersByTimeAsync(0);
  expect(saved).toEqual(["ball-v12.dshq"]);
});

const running = () => TrainerDouble.all.filter(({ ended, heard }) => !ended && heard.some(({ type }) => type === "START"));

test("who stops and starts again while the trainer is on its way gets one run", async () => {
  for (const type of ["START_TRAINING", "STOP_TRAINING", "START_TRAINING"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(0);
  expect(running()).toHaveLength(1);
});

test("who forgets what was learned while the trainer is on its way gets no run", async () => {
  for (const type of ["START_TRAINING", "RESET_TRAINER"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(0);
  expect([running(), model.get("status")]).toEqual([[], "idle"]);
});

test("a run that begins while what was learned is being forgotten begins untrained", async () => {
  base.set("policy", { ...base.get("policy")!, version: 7 });
  model.set("policy", base.get("policy"));
  model.send({ type: "RESET_TRAINER" });
  model.send({ type: "START_TRAINING" });
  await vi.advanceTimersByTimeAsync(0);
  expect(running()).toEqual([]);
  TrainerDouble.all.find(({ heard }) => heard.some(({ type }) => type === "FRESH"))!.says({ type: "POLICY", ...policy(0) });
  await vi.advanceTimersByTimeAsync(0);
  const [start] = running()[0]!.heard as Extract<ToTrainer, { type: "START" }>[];
  expect([start!.file, start!.policy!.version]).toEqual([null, 0]);
});

test("who forgets is told where the thread that makes fresh weights was ended, and can continue", async () => {
  const said: string[] = [];
  model.on("msg:custom", ({ type, text }: { type: string; text: string }) => type === "LOG" && said.push(text));
  for (const type of ["RESET_TRAINER", "START_TRAINING"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(61_000);
  expect(said).toEqual(["A thread of this page has not answered for 60 s; the browser may have ended it. Try again."]);
  expect(running()).toHaveLength(1);
});

test("a page that is still starting shows that it is there, one that rests has nothing to say", async () => {
  await vi.advanceTimersByTimeAsync(2000);
  expect(model.get("seq")).toBe(0);
  for (const type of ["RESET_TRAINER", "START_TRAINING"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(10_000); // of the thread that makes fresh weights
  expect([model.get("status"), running(), model.get("seq")]).toEqual(["starting", [], 40]);
});

test("a run that begins paused while what was learned is being forgotten stays paused", async () => {
  for (const type of ["RESET_TRAINER", "NEXT_UPDATE"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(0);
  TrainerDouble.all.find(({ heard }) => heard.some(({ type }) => type === "FRESH"))!.says({ type: "POLICY", ...policy(0) });
  await vi.advanceTimersByTimeAsync(0);
  expect(running()[0]!.heard[0]).toMatchObject({ type: "START", paused: true });
  expect([model.get("paused"), model.get("status")]).toEqual([true, "starting"]);
});

test("who trains and stops while what was learned is being forgotten has an untrained network that is idle", async () => {
  model.set("policy", { ...base.get("policy")!, version: 7 });
  for (const type of ["RESET_TRAINER", "START_TRAINING", "STOP_TRAINING"] as const) model.send({ type });
  await vi.advanceTimersByTimeAsync(0);
  TrainerDouble.all[0]!.says({ type: "POLICY", ...policy(0) });
  await vi.advanceTimersByTimeAsync(0);
  expect([running(), model.get("policy")!.version, model.get("status"), model.get("status_text")]).toEqual([[], 0, "idle", "not started"]);
});

test("a file that is loaded while what was learned is being forgotten stays", async () => {
  const thread = (type: ToTrainer["type"]) => TrainerDouble.all.find(({ heard }) => heard.some((message) => message.type === type));
  model.send({ type: "RESET_TRAINER" });
  const loaded = trainer.load(Uint8Array.of(7), "what was learned before");
  await vi.advanceTimersByTimeAsync(0);
  const file = { type: "FILE", exact: true, policy: policy(7), values: {}, metrics: {}, scenes: [] } as const;
  thread("READ")?.says({ ...file, scenes: [] });
  await vi.advanceTimersByTimeAsync(0);
  thread("FRESH")!.says({ type: "POLICY", ...policy(0) });
  await vi.advanceTimersByTimeAsync(0);
  thread("READ")!.says({ ...file, scenes: [] });
  await loaded;
  expect([model.get("policy")!.version, model.get("status")]).toEqual([7, "stopped"]);
});

test("whoever asks for a file of a run that fails hears why there is none", async () => {
  const said: unknown[] = [];
  model.on("msg:custom", (message: { type: string; request: number; problem: string }) => said.push([message.type, message.request, message.problem]));
  const thread = await begin();
  model.send({ type: "SAVE_POLICY", request: 5 });
  thread.says({ type: "FAILED", text: "No memory." });
  expect(said).toEqual([["POLICY_FILE", 5, "The run ended before its file was written. Try again."]]);
  model.send({ type: "SAVE_POLICY", request: 6 });
  await vi.advanceTimersByTimeAsync(0);
  TrainerDouble.all.at(-1)!.says({ type: "FAILED", text: "No room." });
  await vi.advanceTimersByTimeAsync(0);
  expect(said.slice(1)).toEqual([["POLICY_FILE", 6, "No room."]]);
});

test("the URL of the trainer's code goes with its threads", async () => {
  const [made, gone] = [vi.spyOn(URL, "createObjectURL"), vi.spyOn(URL, "revokeObjectURL")];
  const thread = await begin();
  expect(gone).not.toHaveBeenCalled();
  thread.says({ type: "FAILED", text: "out of memory" });
  expect(gone.mock.calls).toEqual(made.mock.results.map(({ value }) => [value]));
  vi.restoreAllMocks();
});

/** The thread that has heard such a message. */
const hears = (type: ToTrainer["type"]) => TrainerDouble.all.find(({ ended, heard }) => !ended && heard.some((message) => message.type === type))!;
const versions = async () => (await keptRuns(spec.rules_hash)).map(({ version }) => version);
const later = () => vi.advanceTimersByTimeAsync(10);

test("a network of another shape begins with curves of its own, and the browser keeps what was learned before", async () => {
  new StorageDouble();
  const first = await begin();
  first.says({ type: "METRICS", values: { version: 3000, agent_steps: 9, updates: 3000 } });
  first.says({ type: "POLICY", ...policy(3000) });
  first.says({ type: "STOPPED", version: 3000, file: Uint8Array.of(1) });
  await later();
  const run = model.get("policy")!.run;
  const second = await begin();
  second.says({ type: "POLICY", ...policy(0) }); // its settings asked for one
  expect([model.get("metrics"), model.get("policy")!.version, model.get("policy")!.run]).toEqual([{}, 0, run! + 1]);
  second.says({ type: "SAVED", version: 3001, file: Uint8Array.of(2) }); // however far it has come
  await later();
  expect(await versions()).toEqual([3001, 3000]);
});

test("a file that is loaded and trained on leaves what the browser has kept", async () => {
  new StorageDouble();
  (await begin()).says({ type: "STOPPED", version: 30, file: Uint8Array.of(1) });
  await later();
  const loaded = trainer.load(Uint8Array.of(7), "gift.dshq");
  await later();
  hears("READ").says({ type: "FILE", exact: true, policy: policy(70), values: {}, metrics: {}, scenes: [] });
  await loaded;
  expect(await versions(), "the person has that file").toEqual([30]);
  (await begin()).says({ type: "STOPPED", version: 71, file: Uint8Array.of(1) });
  await later();
  expect(await versions()).toEqual([71, 30]);
});

test("what Undo brings back after Forget everything is in the browser again at once", async () => {
  new StorageDouble();
  (await begin()).says({ type: "STOPPED", version: 30, file: Uint8Array.of(1) });
  await later();
  model.send({ type: "RESET_TRAINER" });
  await later();
  hears("FRESH").says({ type: "POLICY", ...policy(0) });
  await later();
  expect(await versions()).toEqual([]);
  model.send({ type: "LOAD_POLICY", name: BEFORE, part: 0, parts: 1 }, undefined, [Uint8Array.of(7).buffer]);
  await vi.waitFor(() => expect(hears("READ")).toBeDefined());
  hears("READ").says({ type: "FILE", exact: true, policy: policy(30), values: {}, metrics: {}, scenes: [] });
  await later();
  expect(await keptRuns(spec.rules_hash)).toMatchObject([{ version: 30, file: Uint8Array.of(7) }]);
  (await begin()).says({ type: "STOPPED", version: 31, file: Uint8Array.of(1) });
  await later();
  expect(await versions()).toEqual([31]);
});

test("a file whose settings or scenes are none is refused in a sentence, and the run that is there continues", async () => {
  const thread = await begin();
  const before = [model.get("config"), model.get("policy")];
  const scenes = Array.from({ length: 9 }, (_, k) => Uint32Array.of(k));
  const broken: [Partial<Extract<FromTrainer, { type: "FILE" }>>, string][] = [
    [{ values: { epochs: 1e9 } }, "epochs must be a whole number from 1 to 100, got 1000000000."],
    [{ values: { learning_rate: "<b>" } }, "learning_rate must be a number from 0 to 1 1/step, got <b>."],
    [{ values: { epochs: null as never } }, "epochs must be a whole number from 1 to 100, got nothing."],
    [{ values: { opponents: { self: 5 } } }, "opponents must be shares that add to 1, like self=.75,random=.25, got self=5."],
    [{ scenes }, "A scene of ball has 0 words, got 1."],
  ];
  for (const [change, why] of broken) {
    const loading = expect(trainer.load(Uint8Array.of(7), "gift.dshq")).rejects.toThrow(`'gift.dshq' cannot be loaded: ${why}`);
    await later();
    hears("READ").says({ type: "FILE", exact: true, policy: policy(7), values: {}, metrics: {}, scenes: [], ...change });
    await loading;
  }
  expect([thread.ended, model.get("status"), model.get("config"), model.get("policy")]).toEqual([false, "training", ...before]);
});

test("a file of the kernel's loads with opponents that a page does not have, and without settings that mean nothing here", async () => {
  const loading = trainer.load(Uint8Array.of(7), "gift.dshq");
  await later();
  const values = { opponents: { self: 0.5, bronze: 0.5 }, hidden_sizes: [32], joint: true, __proto__: { epochs: 3 } };
  hears("READ").says({ type: "FILE", exact: true, policy: policy(7), values, metrics: {}, scenes: [] });
  await loading;
  const { epochs } = config.values;
  expect(model.get("config").values).toMatchObject({ opponents: "self=0.5,bronze=0.5", hidden_sizes: [32], epochs });
  expect(model.get("config").values).not.toHaveProperty("joint");
});
