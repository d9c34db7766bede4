// @vitest-environment happy-dom
/** Runs that the browser kept for pages of every released version, and for today's: tests/formats. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import type { DrillSpec } from "../../../contract/protocol";
import type { ToTrainer } from "../../../contract/training";
import { FakeModel } from "../../../tests/harness/fakes";
import { PageTraining } from "../page_training";
import { StorageDouble } from "./storage_double";

const FORMATS = "tests/formats";
const releases = readdirSync(FORMATS).filter((name) => /^\d/.test(name));
const pages: [string, string][] = [
  ...releases.map((name): [string, string] => [`release ${name}`, `${FORMATS}/${name}/kept.json`]),
  ["today", `${FORMATS}/kept.json`],
];

/** What the browser has of one: its key, and what lies under it, with the file in base64; and what the page knew of the drill. */
interface Stored {
  spec: DrillSpec;
  key: string;
  run: { drill: string; version: number; savedAt: number; file: string };
}
const read = (path: string) => JSON.parse(readFileSync(path, "utf-8")) as Stored;

/** The scope of the trainer's worker, which runs on the test's thread. */
const scope = { onmessage: (_event: { data: unknown }) => {}, postMessage: (_message: unknown) => {}, close: () => {} };
class WorkerHere {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  postMessage(data: ToTrainer): void {
    scope.postMessage = (message) => this.onmessage?.({ data: message });
    scope.onmessage({ data });
  }
  terminate(): void {}
}

let training: PageTraining | null = null;
afterEach(() => {
  training?.dispose();
  vi.unstubAllGlobals();
});

/** A page of that drill, where the browser has that record. */
async function open({ spec, key, run }: Stored, traits: object = {}): Promise<FakeModel> {
  const storage = new StorageDouble();
  storage.runs.set(key, { ...run, file: new Uint8Array(Buffer.from(run.file, "base64")) });
  const model = Object.assign(new FakeModel({ drill: { spec, javascript: "" } }), traits);
  training = new PageTraining(model);
  await vi.waitFor(() => expect(training!.offer).not.toBeNull());
  return model;
}

const goOn = () => training!.offer!.actions.find(({ control }) => control === "continue-kept")!.act();

test.each(pages)("a page continues from what one of %s has kept", async (_, path) => {
  const record = read(path);
  const packed = gzipSync("").toString("base64");
  const builds = { plain: packed, relaxed: packed };
  const trainer = JSON.stringify({ code: packed, learner: builds, drill: { ...builds, wgsl: packed } });
  vi.stubGlobal("self", scope);
  vi.stubGlobal("Worker", WorkerHere);
  await import("../../../trainer/worker");
  await open(record, { standalone: true, trainer });
  expect(training!.offer!.text).toContain("This browser kept version 5 (");
  await goOn();
  const { model } = training!;
  expect([model.get("status"), model.get("status_text"), model.get("error")]).toEqual(["stopped", "at version 5", ""]);
  const { layers, version, data } = model.get("policy")!;
  expect([version, layers[0], layers.at(-1)]).toEqual([5, record.spec.n_obs, record.spec.n_actions + 1]);
  expect((data as Float32Array).every((weight) => Number.isFinite(weight) && weight !== undefined)).toBe(true);
  expect(model.get("config").values.hidden_sizes).toEqual([4]);
  expect(model.get("metrics").updates).toBe(5);
  expect(training!.offer, "it is the page's now").toBeNull();
});

test.each(pages)("a kernel gets what a page of %s has kept", async (_, path) => {
  const record = read(path);
  const sent: [object, ArrayBuffer[]][] = [];
  await open(record, { send: (message: object, _: unknown, buffers: ArrayBuffer[]) => sent.push([message, buffers]) });
  await goOn();
  const [[message, buffers]] = sent.slice(-1) as [[object, ArrayBuffer[]]];
  expect(message).toMatchObject({ type: "LOAD_POLICY", part: 0, parts: 1 });
  expect(Buffer.from(buffers[0]!).toString("base64")).toBe(record.run.file);
});
