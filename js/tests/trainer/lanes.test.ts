/** Threads of games, without threads: ports that answer when the test lets them. */
import { expect, test } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { Heap } from "../../trainer/games/heap";
import { Lanes, type ToLane } from "../../trainer/games/lanes";
import type { Modules } from "../../trainer/games/modules";
import { copyOut, LANES, newSamples } from "../../trainer/games/samples";
import type { Settings } from "../../trainer/settings";
import { STATS } from "../../trainer/tables";

const SPEC = { n_obs: 1, n_actions: 2, sides: 1, terms: [] } as unknown as DrillSpec;
const SHAPE = { spec: SPEC, memory: 0, length: 1 };
const VALUES = { num_envs: LANES, rollout_length: 1, seed: 0 };

/** A thread that plays at once: the returns of its samples are the first of the weights that it played with. */
class Port {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  played: number[] = [];
  readonly heard: ToLane[] = [];

  postMessage(message: ToLane): void {
    this.heard.push(message);
    if (message.type === "LANE") this.answer({ type: "LANE_READY", units: 1, trainable: Int32Array.of(0) });
    if (message.type !== "PLAY") return;
    const samples = newSamples(new Heap(), SHAPE, 1);
    samples.returns!.f32.fill(message.weights[0]!);
    this.played.push(message.weights[0]!);
    this.answer({ type: "PLAYED", arrays: copyOut(samples, SHAPE, 1), stats: new Float64Array(STATS.length) });
  }

  close(): void {}

  private answer(data: unknown): void {
    setTimeout(() => this.onmessage?.({ data }));
  }
}

async function start(...ports: Port[]): Promise<Lanes> {
  return startFrom(0, ...ports);
}

async function startFrom(version: number, ...ports: Port[]): Promise<Lanes> {
  const modules = { spec: SPEC, heap: new Heap() } as unknown as Modules;
  const values = { ...VALUES, num_envs: LANES * ports.length };
  return (await Lanes.start(modules, {} as never, values as never, ports as unknown as MessagePort[], version))!;
}

test("every rollout is played with the newest weights, when it is asked for", async () => {
  const port = new Port();
  const lanes = await start(port);
  for (const weight of [1, 2, 10]) {
    const { samples } = await lanes.next(0, () => Float32Array.of(weight), {} as Settings);
    expect(samples.returns!.f32[0]).toBe(weight);
  }
  expect(port.played).toEqual([1, 2, 10]);
});

test("a run that continues plays with other random numbers", async () => {
  const seeds: number[] = [];
  for (const version of [0, 40, 41]) {
    const ports = [new Port(), new Port()];
    await startFrom(version, ...ports);
    for (const { heard } of ports) if (heard[0]?.type === "LANE") seeds.push(heard[0].seed);
  }
  expect(new Set(seeds).size).toBe(6);
});

test("every thread hears what games are to be played", async () => {
  const ports = [new Port(), new Port()];
  const lanes = await start(...ports);
  const [policies, scenes] = [[Float32Array.of(1)], [Uint32Array.of(2)]];
  lanes.setOpponents(policies);
  lanes.practise(scenes);
  lanes.mend();
  const orders = [{ type: "OPPONENTS", policies }, { type: "LANE_SCENES", scenes }, { type: "MEND" }];
  expect(ports.map(({ heard }) => heard.slice(1))).toEqual([orders, orders]);
});
