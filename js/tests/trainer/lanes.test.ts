/** Threads of games, without threads: ports that answer when the test lets them. */
import { expect, test } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { Lanes, type ToLane } from "../../trainer/games/lanes";
import { Memory } from "../../trainer/games/memory";
import type { Modules } from "../../trainer/games/modules";
import { copyOut, LANES, newSamples } from "../../trainer/games/samples";
import type { Settings } from "../../trainer/settings";
import { STATS } from "../../trainer/tables";

const SPEC = { n_obs: 1, n_actions: 2, sides: 1, terms: [] } as unknown as DrillSpec;
const SHAPE = { spec: SPEC, memory: 0, length: 1 };
const VALUES = { num_envs: LANES, rollout_length: 1, seed: 0 };

/** Plays at once: the returns of its samples are the first of the weights that it played with. */
class Port {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  played: number[] = [];

  postMessage(message: ToLane): void {
    if (message.type === "LANE") this.answer({ type: "LANE_READY", units: 1, trainable: Int32Array.of(0) });
    if (message.type !== "PLAY") return;
    const samples = newSamples(new Memory(), SHAPE, 1);
    samples.returns!.f32.fill(message.weights[0]!);
    this.played.push(message.weights[0]!);
    this.answer({ type: "PLAYED", arrays: copyOut(samples, SHAPE, 1), stats: new Float64Array(STATS.length) });
  }

  close(): void {}

  private answer(data: unknown): void {
    setTimeout(() => this.onmessage?.({ data }));
  }
}

test("what an abandoned policy was playing is not learned from", async () => {
  const port = new Port();
  const modules = { spec: SPEC, memory: new Memory() } as unknown as Modules;
  const lanes = (await Lanes.start(modules, {} as never, VALUES as never, [port as unknown as MessagePort]))!;
  const next = async (weight: number) => {
    const { samples, lag } = await lanes.next(0, () => Float32Array.of(weight), {} as Settings);
    return [samples.returns!.f32[0], lag];
  };
  expect([await next(1), await next(2), await next(3)]).toEqual([
    [1, 0],
    [1, 1],
    [2, 1],
  ]);
  lanes.forget(); // version 3, which a thread plays with now, has collapsed
  expect([await next(10), await next(11), await next(12)]).toEqual([
    [10, 0],
    [10, 1],
    [11, 1],
  ]);
  expect(port.played).toEqual([1, 1, 2, 3, 10, 10, 11, 12]);
});
