// @vitest-environment happy-dom
import { beforeAll, expect, it } from "vitest";
import { registry } from "../../session/host/registry";
import { Session } from "../../session/session";
import { FakeModel, FakeWorker, installBrowser, settle } from "../harness/fakes";

beforeAll(installBrowser);

it("starts one worker for all widgets of a page and tells them apart", async () => {
  const [one, two] = [new Session(new FakeModel()), new Session(new FakeModel())];
  await settle();
  expect(FakeWorker.all).toHaveLength(1);
  expect(registry()).toBe(registry());
  expect(one.id).not.toBe(two.id);
  const worker = FakeWorker.all[0]!;
  expect(worker.of("DRILL").map((message) => message.id)).toEqual([one.id, two.id]);

  const state = { tick: 7, score: [1, 0] as [number, number], version: 3, fps: 60, playing: true, events: [], probabilities: [], value: 0 };
  worker.say({ type: "STATE", id: two.id, ...state });
  await settle();
  expect([one.state.tick, two.state.tick]).toEqual([0, 7]);

  one.dispose();
  await settle();
  expect(worker.of("DISPOSE")).toEqual([{ type: "DISPOSE", id: one.id }]);
  worker.say({ type: "STATE", id: one.id, ...state, tick: 99 });
  await settle();
  expect(one.state.tick).toBe(0);
  two.dispose();
});

it("says which thread draws with what", async () => {
  const { thread, renderer, reason } = await registry().host;
  expect({ thread, renderer, reason }).toEqual({ thread: "worker", renderer: "webgpu", reason: "" });
});

it("hands the worker nothing more of a session that is over", async () => {
  const session = new Session(new FakeModel());
  await settle();
  session.dispose();
  session.setShow({ mode: "sandbox" });
  session.skipToGoal();
  await settle();
  const received = FakeWorker.all[0]!.received.filter(({ id }) => id === session.id);
  expect(received.at(-1)).toEqual({ type: "DISPOSE", id: session.id });
});
