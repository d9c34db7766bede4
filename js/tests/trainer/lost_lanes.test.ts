/** Threads of games that fail or are ended by the browser. */
import { afterEach, expect, test, vi } from "vitest";
import { WasmEngine } from "../../trainer/engines/wasm";
import { Heap } from "../../trainer/games/heap";
import { LaneOrders } from "../../trainer/games/lane";
import { type FromLane, Lanes, type ToLane } from "../../trainer/games/lanes";
import type { Modules } from "../../trainer/games/modules";
import { LANES } from "../../trainer/games/samples";
import type { Settings } from "../../trainer/settings";

const SETTINGS = {} as Settings;

afterEach(() => {
  vi.useRealTimers();
});

/** A thread that gives these answers, by the type of order. */
class Port {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  closed = false;
  ended = false;
  constructor(private readonly answers: Partial<Record<ToLane["type"], FromLane>>) {}
  postMessage({ type }: ToLane): void {
    this.ended ||= type === "END";
    const data = this.answers[type];
    if (data) queueMicrotask(() => this.onmessage?.({ data }));
  }
  close(): void {
    this.closed = true;
  }
}

const READY: FromLane = { type: "LANE_READY", units: 1, trainable: Int32Array.of(0) };
const FAILED: FromLane = { type: "LANE_FAILED", text: "unreachable" };

function start(...ports: Port[]): Promise<Lanes | null> {
  const modules = { spec: { n_obs: 1, n_actions: 2, sides: 1, terms: [] }, heap: new Heap() } as unknown as Modules;
  const values = { num_envs: LANES * ports.length, rollout_length: 1, seed: 0 };
  return Lanes.start(modules, {} as never, values as never, ports as unknown as MessagePort[]);
}

const play = (lanes: Lanes) => lanes.next(0, () => new Float32Array(1), SETTINGS);

test("a thread that cannot begin is done without at once", async () => {
  expect(await start(new Port({ LANE: FAILED }))).toBeNull();
});

test("where one of the threads cannot begin, and at the end of a run, none of them stays in memory", async () => {
  const [there, not] = [new Port({ LANE: READY }), new Port({ LANE: FAILED })];
  expect(await start(there, not)).toBeNull();
  expect([there.ended, there.closed, not.ended]).toEqual([true, true, true]);
  const used = new Port({ LANE: READY });
  (await start(used))!.close();
  expect([used.ended, used.closed]).toEqual([true, true]);
});

test("a rollout that failed, or never comes, ends with a sentence", async () => {
  const failing = await start(new Port({ LANE: READY, PLAY: FAILED }));
  await expect(play(failing!)).rejects.toThrow("a thread that plays games failed: unreachable");
  vi.useFakeTimers();
  const dead = await start(new Port({ LANE: READY }));
  const over = play(dead!).catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await over).toBe("a thread that plays games has not answered for 60 s; the browser may have ended it");
});

test("a thread says which order it could not carry out, to who waits for a rollout", async () => {
  const said: FromLane[] = [];
  const post = (message: FromLane) => void said.push(message);
  await new LaneOrders(post, () => Promise.reject(new Error("no memory"))).receive({ type: "LANE" } as ToLane);
  expect(said.splice(0)).toEqual([{ type: "LANE_FAILED", text: "no memory" }]);

  const receive = ({ type }: ToLane) => {
    if (type === "OPPONENTS") throw new Error("unreachable");
  };
  const orders = new LaneOrders(post, async () => ({ receive }));
  for (const type of ["LANE", "PLAY", "OPPONENTS"]) await orders.receive({ type } as ToLane);
  expect(said).toEqual([]);
  await orders.receive({ type: "PLAY" } as ToLane);
  expect(said).toEqual([FAILED]);
});

test("training continues in its own thread, with the same opponents and scenes, and says so", async () => {
  const engine: WasmEngine = Object.create(WasmEngine.prototype);
  const heard: unknown[] = [];
  const warnings: string[] = [];
  const own = {
    next: () => "a rollout",
    setOpponents: (policies: unknown) => heard.push(policies),
    practise: (scenes: unknown) => heard.push(scenes),
  };
  const port = new Port({ LANE: READY, PLAY: FAILED });
  const lanes = await start(port);
  const learner = { at: 0, weights: new Float32Array(1) };
  Object.assign(engine, { lanes, games: lanes, learner, alone: () => own, warn: (text: string) => warnings.push(text) });
  const [policies, scenes] = [[Float32Array.of(1)], [Uint32Array.of(2)]];
  engine.setOpponents(policies);
  engine.practise(scenes);
  expect(engine.threads).toBe(1);
  const next = () => (engine as unknown as { next(settings: Settings): Promise<unknown> }).next(SETTINGS);
  expect(await next()).toBe("a rollout");
  expect([engine.threads, port.closed, heard]).toEqual([0, true, [policies, scenes]]);
  expect(await next()).toBe("a rollout");
  expect(warnings).toEqual(["new games are played in the thread that learns, which is slower: a thread that plays games failed: unreachable"]);
});
