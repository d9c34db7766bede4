/**
 * Games in threads of their own: the experience of all of them together. They play when it is asked for, with the newest weights, and rest while
 * the learner learns: samples of the version before would have to be corrected first, which takes longer than playing (docs/LOG.md).
 */
import type { DrillSpec } from "../../contract/protocol";
import type { ModuleBytes, Values } from "../../contract/training";
import { readSettings, type Settings } from "../settings";
import { STATS } from "../tables";
import type { Experience, Games } from "./games";
import type { Modules } from "./modules";
import { copyIn, LANES, newSamples, type Samples, type Shape } from "./samples";

const START_MS = 10_000; // a thread that has not answered by then was refused silently
const [PATIENCE_S, PATIENCE] = [60, 10]; // one that plays is gone after so long without an answer, and this many times its longest rollout

export type ToLane =
  | { type: "LANE"; spec: DrillSpec; modules: ModuleBytes; values: Values; games: number; seed: number; first: number } // its first tile
  | { type: "PLAY"; weights: Float32Array; settings: Settings }
  | { type: "OPPONENTS"; policies: readonly Float32Array[] }
  | { type: "LANE_SCENES"; scenes: readonly Uint32Array[] }
  | { type: "MEND" }
  | { type: "END" }; // the thread, which gives its memory back
export type FromLane =
  | { type: "LANE_READY"; units: number; trainable: Int32Array } // units of a rollout, and those to learn from
  | { type: "PLAYED"; arrays: Uint32Array[]; stats: Float64Array }
  | { type: "LANE_FAILED"; text: string }; // an order could not be carried out

interface Lane {
  port: MessagePort;
  units: number;
  trainable: Int32Array;
  slowest: number; // s, of its rollouts
}

type Played = Extract<FromLane, { type: "PLAYED" }>;

export class Lanes implements Games {
  private readonly samples: Samples;
  private readonly units: Int32Array;

  private constructor(
    modules: Modules,
    private readonly shape: Shape,
    private readonly lanes: Lane[],
  ) {
    let from = 0;
    const units: number[] = [];
    for (const lane of lanes) {
      for (const unit of lane.trainable) units.push(from + unit);
      from += lane.units;
    }
    this.units = Int32Array.from(units);
    this.samples = newSamples(modules.heap, shape, from);
  }

  /** With a thread behind each of `ports`, for a run that continues from `version`; null where one of them does not answer. */
  static async start(modules: Modules, bytes: ModuleBytes, values: Values, ports: readonly MessagePort[], version = 0): Promise<Lanes | null> {
    const settings = readSettings(values);
    const count = ports.length;
    const tiles = settings.num_envs / LANES;
    const { spec } = modules;
    const lanes = await Promise.all(
      ports.map((port, k) => {
        const first = Math.floor((k * tiles) / count);
        const games = LANES * (Math.floor(((k + 1) * tiles) / count) - first);
        const seed = (settings.seed * 1_000_003 + k * 7919 + Math.max(version - 1, 0) * 1_299_709 + 1) % 2 ** 32;
        return startLane(port, { type: "LANE", spec, modules: bytes, values, games, seed, first });
      }),
    );
    const there = lanes.filter((lane) => lane !== null);
    if (there.length === count) return new Lanes(modules, { spec, memory: settings.memory, length: settings.rollout_length }, there);
    for (const port of ports) endLane(port);
    return null;
  }

  get threads(): number {
    return this.lanes.length;
  }

  /** Rejects with an Error of one sentence where a thread fails, or does not answer. */
  async next(_params: number, weights: () => Float32Array, settings: Settings): Promise<Experience> {
    const newest = weights();
    const played = await Promise.all(this.lanes.map((lane) => this.play(lane, newest, settings)));
    let from = 0;
    for (const [k, { arrays }] of played.entries()) {
      copyIn(this.samples, this.shape, arrays, from);
      from += this.lanes[k]!.units;
    }
    return { samples: this.samples, units: this.units, stats: merged(played.map(({ stats }) => stats)) };
  }

  setOpponents(policies: readonly Float32Array[]): void {
    this.tell({ type: "OPPONENTS", policies });
  }

  practise(scenes: readonly Uint32Array[]): void {
    this.tell({ type: "LANE_SCENES", scenes });
  }

  mend(): void {
    this.tell({ type: "MEND" });
  }

  state() {
    return {}; // games continue while the file is written
  }

  restore(): void {}

  close(): void {
    for (const { port } of this.lanes) endLane(port);
  }

  private play(lane: Lane, weights: Float32Array, settings: Settings): Promise<Played> {
    return new Promise((resolve, reject) => {
      let waited = 0; // s: counted here, so that a machine that slept is not held against it
      const end = (then: () => void) => {
        clearInterval(clock);
        then();
      };
      const clock = setInterval(() => {
        waited += 1;
        const limit = Math.max(PATIENCE_S, PATIENCE * lane.slowest);
        if (waited >= limit) end(() => reject(new Error(`a thread that plays games has not answered for ${limit} s; the browser may have ended it`)));
      }, 1000);
      lane.port.onmessage = ({ data }: MessageEvent<FromLane>) => {
        if (data.type === "LANE_FAILED") end(() => reject(new Error(`a thread that plays games failed: ${data.text}`)));
        if (data.type !== "PLAYED") return;
        lane.slowest = Math.max(lane.slowest, waited);
        end(() => resolve(data));
      };
      lane.port.postMessage({ type: "PLAY", weights, settings } satisfies ToLane);
    });
  }

  private tell(message: ToLane): void {
    for (const { port } of this.lanes) port.postMessage(message);
  }
}

/** Null where the thread does not answer, or cannot play. */
function startLane(port: MessagePort, order: ToLane): Promise<Lane | null> {
  return new Promise((resolve) => {
    const silent = setTimeout(resolve, START_MS, null);
    port.onmessage = ({ data }: MessageEvent<FromLane>) => {
      clearTimeout(silent);
      resolve(data.type === "LANE_READY" ? { port, units: data.units, trainable: data.trainable, slowest: 0 } : null);
    };
    port.postMessage(order);
  });
}

/** One that is not there yet hears of it when it comes. */
function endLane(port: MessagePort): void {
  port.postMessage({ type: "END" } satisfies ToLane);
  port.close();
}

/** Sums, and extremes of the extremes: learning/telemetry/report.py's `merge`. */
export function merged(parts: readonly Float64Array[]): Float64Array {
  const [low, high] = [STATS.indexOf("return_min"), STATS.indexOf("return_max")];
  return parts.reduce((all, part) =>
    all.map((value, k) => (k === low ? Math.min(value, part[k]!) : k === high ? Math.max(value, part[k]!) : value + part[k]!)),
  );
}
