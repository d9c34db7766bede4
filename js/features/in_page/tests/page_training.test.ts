// @vitest-environment happy-dom
/** When a page offers to train by itself. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeModel, row } from "../../../tests/harness/fakes";
import { PageTraining } from "../page_training";

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
    expect(training.offer!.text).toContain("Other work leaves the kernel little");
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
