// @vitest-environment happy-dom
/** When a page offers to train by itself. */
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeModel, row, spec } from "../../../tests/harness/fakes";
import { PageTraining } from "../page_training";
import { Place } from "../storage";
import { StorageDouble } from "./storage_double";

let model: FakeModel;
let training: PageTraining;

beforeEach(async () => {
  vi.useFakeTimers();
  model = new FakeModel({ status: "training" });
  training = new PageTraining(model);
  await vi.advanceTimersByTimeAsync(6000); // it asks for the trainer once the kernel trains
  const parts = Array.from({ length: 4 }, () => new DataView(new ArrayBuffer(4)));
  model.fire("msg:custom", { type: "TRAINER", problem: "" }, parts);
  await vi.advanceTimersByTimeAsync(0);
});
afterEach(() => {
  training.dispose();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
const report = (processors: number, times: number) => {
  for (let k = 0; k < times; k++) model.set("metrics", row(k, { processors, agent_steps_per_second: 9000 }));
};

describe("a kernel that hardly gets on", () => {
  it("is answered by an offer, which ends its training", () => {
    report(0.1, 4);
    expect(training.offer, "it may be over in a moment").toBeNull();
    report(0.1, 1);
    expect(training.offer!.text).toContain("Other programs leave the kernel little");
    void training.offer!.actions[0]!.act();
    expect(model.sentOf("STOP_TRAINING")).toHaveLength(1);
    expect(training.offer).toBeNull();
  });

  it("is left alone where it has enough again, or stops", () => {
    report(0.1, 5);
    report(0.6, 4);
    expect(training.offer, "it may be less again in a moment").not.toBeNull();
    report(0.6, 1);
    expect(training.offer).toBeNull();
    report(0.1, 5);
    model.set("status", "stopped");
    expect(training.offer).toBeNull();
    report(0.1, 6);
    expect(training.offer).toBeNull();
  });
});

describe("runs that the browser kept", () => {
  /** A page that opens where they were kept, the newest last. */
  const open = async (versions: number[], page = new FakeModel()) => {
    new StorageDouble();
    for (const version of versions) {
      await new Place().keep(spec.rules_hash, { drill: "ball", version, savedAt: Date.now(), file: Uint8Array.of(version) });
      await vi.advanceTimersByTimeAsync(10);
    }
    training.dispose();
    training = new PageTraining(page);
    await vi.advanceTimersByTimeAsync(10);
  };
  const offered = () => /version (\d+) .*?(, and .*)?\.$/.exec(training.offer?.text ?? "")?.slice(1);
  const press = (control: string) => training.offer!.actions.find((action) => action.control === control)!.act();

  it("are offered one after another, the newest first, without losing one", async () => {
    await open([3000, 40, 5]);
    expect(offered()).toEqual(["5", ", and 2 other runs"]);
    press("other-kept");
    expect(offered()![0]).toBe("40");
    press("other-kept");
    expect(offered()![0]).toBe("3000");
    press("other-kept");
    expect(offered()![0]).toBe("5");
    await press("discard-kept");
    expect(offered()).toEqual(["40", ", and 1 other run"]);
    await press("discard-kept");
    expect(offered()).toEqual(["3000", undefined]);
    expect(training.offer!.actions.map(({ control }) => control)).toEqual(["continue-kept", "discard-kept"]);
  });

  it("are offered beside what a kernel has only where they are ahead of it, beside a page's own file always", async () => {
    const policy = { ...model.get("policy")!, version: 1000 };
    await open([300], new FakeModel({ policy }));
    expect(training.offer).toBeNull();
    const packed = gzipSync("").toString("base64");
    const builds = { plain: packed, relaxed: packed };
    const trainer = JSON.stringify({ code: packed, learner: builds, drill: { ...builds, wgsl: packed } });
    await open([300], Object.assign(new FakeModel({ policy }), { standalone: true, trainer }));
    expect(offered()![0]).toBe("300");
  });
});
