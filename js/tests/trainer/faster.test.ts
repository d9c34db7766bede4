/** When a run's engine changes, with engines that learn nothing and a clock of their own. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Engine, Update } from "../../trainer/engines/engine";
import { type Away, type Beginning, FasterEngine } from "../../trainer/engines/faster";
import type { Tensors } from "../../trainer/files/tensors";
import type { Hyper } from "../../trainer/ppo/schedule";
import type { Settings } from "../../trainer/settings";

const SETTINGS = { epochs: 1 } as Settings;
const HYPER = {} as Hyper;
const STEPS = 1000;

/** Adds one to its weight in each update, which takes that many ms. */
class Counting implements Engine {
  threads = 0;
  weights: Float32Array = Float32Array.of(0);
  restored: Tensors | null = null;
  loaded: number[] = [];
  closed = false;
  skipped = 0;
  failure: Error | null = null;

  constructor(
    readonly place: string,
    private readonly ms: number,
  ) {}

  async update(): Promise<Update> {
    if (this.failure) throw this.failure;
    vi.advanceTimersByTime(this.ms);
    this.weights = this.weights.map((weight) => weight + 1);
    const { ms, skipped } = this;
    return { agentSteps: STEPS, stats: new Float64Array(0), learned: {}, skipped, meanReturn: 0, rolloutMs: ms / 4, updateMs: (3 * ms) / 4 };
  }

  load(weights: Float32Array): void {
    this.weights = weights;
    this.loaded.push(weights[0]!);
  }

  state(): Tensors {
    return { adam_step: { dtype: "I64", shape: [], data: BigInt64Array.of(BigInt(this.weights[0]!)) } };
  }

  restore(state: Tensors): void {
    this.restored = state;
  }

  close(): void {
    this.closed = true;
  }

  setOpponents(): void {}
  practise(): void {}
  mend(): void {}
}

class Gpu extends Counting implements Away {
  fits(settings: Settings): boolean {
    return settings.epochs <= 1;
  }
}

let home: Counting;
let gpu: Gpu;
let begun: Beginning[];
let warnings: string[];
let engine: FasterEngine;

function make(forced: boolean, open: (beginning: Beginning) => Promise<Away | null> = async () => gpu): void {
  const opened = async (beginning: Beginning) => {
    begun.push(beginning);
    const found = await open(beginning);
    found?.load(beginning.weights);
    return found;
  };
  engine = new FasterEngine(home, { open: opened, forced }, (text) => warnings.push(text));
}

async function updates(count: number, settings = SETTINGS): Promise<void> {
  for (let k = 0; k < count; k++) await engine.update(settings, HYPER);
}

beforeEach(() => {
  vi.useFakeTimers();
  [home, gpu, begun, warnings] = [new Counting("home", 500), new Gpu("gpu", 10), [], []];
});
afterEach(() => void vi.useRealTimers());

test("looks elsewhere after two seconds, with the rates it has measured, and takes the weights along", async () => {
  make(false);
  await updates(4);
  expect([engine.place, begun.length]).toEqual(["home", 0]);
  await updates(1);
  expect(engine.place).toBe("gpu");
  expect(begun[0]!.rates.whole).toBeCloseTo(2000, 6);
  expect(begun[0]!.rates.learning).toBeCloseTo(8000 / 3, 6);
  expect(engine.weights).toEqual(Float32Array.of(5));
  expect(engine.state()).toEqual(gpu.state());
});

test("stays, and looks no further, where the other is not faster", async () => {
  make(false, async () => null);
  await updates(12);
  expect([engine.place, begun.length, warnings]).toEqual(["home", 1, []]);
});

test("says why the other cannot be opened, and stays", async () => {
  make(true, async () => {
    throw new Error("no shaders today");
  });
  await updates(3);
  expect([engine.place, begun.length, warnings]).toEqual(["home", 1, ["this page's GPU cannot train: no shaders today"]]);
});

test("settings that the other lacks, and scenes, bring it back with the optimiser's state", async () => {
  make(true);
  await updates(3);
  const kept = gpu.state();
  await updates(1, { epochs: 2 } as Settings);
  expect([begun.length, gpu.closed, home.loaded]).toEqual([2, true, [3]]);
  expect(home.restored).toEqual(kept);
  engine.practise([Uint32Array.of(1)]);
  await updates(2);
  expect([engine.place, begun.length, warnings]).toEqual(["home", 2, []]);
  engine.practise([]);
  await updates(1);
  expect(engine.place).toBe("gpu");
});

test.each(["gone", "skipped", "not finite"])("goes back for good to the last weights where it fails: %s", async (how) => {
  make(true);
  await updates(3);
  if (how === "gone") gpu.failure = new Error("the device is lost");
  if (how === "skipped") gpu.skipped = 1;
  if (how === "not finite") gpu.load(Float32Array.of(Number.NaN));
  const before = engine.weights[0]!;
  await updates(1);
  expect([engine.place, gpu.closed, home.loaded, home.restored]).toEqual(["home", true, [before], null]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(how === "gone" ? "the device is lost" : "not finite");
  await updates(9);
  expect([engine.place, begun.length, warnings.length]).toEqual(["home", 1, 1]);
});

test("a GPU that never answers an update is left after two minutes", async () => {
  make(true);
  await updates(3);
  gpu.update = () => new Promise(() => {});
  const going = engine.update(SETTINGS, HYPER);
  await vi.advanceTimersByTimeAsync(120_000);
  await going;
  expect([engine.place, gpu.closed]).toEqual(["home", true]);
  expect(warnings[0]).toContain("it has not answered for 120 s");
});

test("one that cannot be opened in two minutes is done without, and closed should it come", async () => {
  let come = (_: Away) => {};
  make(true, () => new Promise((resolve) => (come = resolve)));
  const going = updates(1);
  await vi.advanceTimersByTimeAsync(120_000);
  await going;
  expect([engine.place, warnings]).toEqual(["home", ["this page's GPU cannot train: it has not answered for 120 s"]]);
  come(gpu);
  await vi.advanceTimersByTimeAsync(0);
  expect([engine.place, gpu.closed]).toEqual(["home", true]);
});
