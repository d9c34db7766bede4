/** Both learners side by side, where both are the same few lines: what a GPU that is right says, and one that is wrong in one place. */
import { beforeEach, expect, test } from "vitest";
import type { NetworkDescription } from "../../compute";
import type { DrillSpec } from "../../contract/protocol";
import { Comparison, type Cpu, type Gpu, type Row, type Sizes } from "../../trainer/engines/comparison";
import { number, type Tensors, tensor } from "../../trainer/files/tensors";
import type { Experience } from "../../trainer/games/games";
import type { Block } from "../../trainer/games/heap";
import { LANES, type Samples } from "../../trainer/games/samples";
import { parts } from "../../trainer/layers";
import type { Hyper } from "../../trainer/ppo/schedule";
import type { Settings } from "../../trainer/settings";

const SPEC = { n_obs: 3, n_actions: 33, sides: 1, baselines: [] as string[], masked: true } as unknown as DrillSpec;
const SETTINGS = { hidden_sizes: [8, 8], activation: "tanh", separate_value_net: false, memory: 0, priority_alpha: 0 } as unknown as Settings;
const HYPER = { epochs: 2, minibatch_size: 32, learning_rate: 0.5, minibatch_order: "random", target_kl: 0.01 } as Hyper;
const LAYERS = [3, 8, 8, 34];
const FLOATS = parts(LAYERS).reduce((sum, { inputs, outputs }) => sum + (inputs + 1) * outputs, 0);
const UNITS = [0, 1, 2, 4, 5, 7]; // of eight: the others have no side that learns
const COUNT = UNITS.length * LANES;

/** One sample, whichever layout it was read from. */
type Sample = number[];

/** What learns: weights, a moment and Adam's steps, which all decide where the weights go. */
class Toy {
  weights = new Float32Array(FLOATS);
  moment = new Float32Array(FLOATS);
  steps = 0;

  learn(samples: Sample[], size: number, rate: number): Record<string, number> {
    for (let first = 0; first < samples.length; first += size) {
      this.steps += 1;
      const said = samples.slice(first, first + size).flatMap((sample, row) => sample.map((x, k) => x * Math.sin(1 + row + 7 * k)));
      const slope = said.reduce((sum, x) => sum + x, 0) / said.length;
      for (let i = 0; i < FLOATS; i++) {
        this.moment[i] = 0.9 * this.moment[i]! + 0.1 * slope * Math.cos(i);
        this.weights[i]! += (rate * this.moment[i]!) / this.steps;
      }
    }
    const metrics = { loss_policy: 0.1, loss_value: 2, entropy: 1, approx_kl: 0.01, clip_fraction: 0.1, explained_variance: 0.5, grad_norm: 3 };
    return Object.fromEntries(Object.entries(metrics).map(([name, value], k) => [name, value * (1 + this.weights[k]!)]));
  }
}

class ToyCpu extends Toy implements Cpu {
  load(weights: Float32Array): void {
    [this.weights, this.moment, this.steps] = [weights.slice(), new Float32Array(FLOATS), 0];
  }

  restore({ adam_m, adam_step }: Tensors): void {
    [this.moment, this.steps] = [(adam_m!.data as Float32Array).slice(), Number(adam_step!.data[0])];
  }

  state(): Tensors {
    return { adam_m: tensor("F32", this.moment.slice()), adam_v: tensor("F32", new Float32Array(FLOATS)), adam_step: number("I64", this.steps) };
  }

  update({ samples, units }: Experience, hyper: Hyper): Record<string, number> {
    expect(hyper).toMatchObject({ minibatch_order: "sequential", target_kl: 0 });
    const all = Array.from({ length: hyper.epochs }, () => [...units]).flat();
    const read = (unit: number, lane: number): Sample => {
      const at = unit * LANES + lane;
      const numbers = [samples.log_prob!, samples.value!, samples.advantage!, samples.returns!].map(({ f32 }) => f32[at]!);
      const row = (k: number, n: number) => (unit * n + k) * LANES + lane;
      const seen = [0, 1, 2].map((k) => samples.obs!.f32[row(k, 3)]!);
      const masks = [0, 1].map((k) => samples.mask!.u32[row(k, 2)]!);
      return [samples.action!.i32[at]!, ...numbers, ...seen, ...masks];
    };
    return this.learn(
      all.flatMap((unit) => Array.from({ length: LANES }, (_, lane) => read(unit, lane))),
      hyper.minibatch_size,
      hyper.learning_rate,
    );
  }
}

class ToyGpu extends Toy {
  private samples: Sample[] = [];
  destroyed = false;

  constructor(
    readonly sizes: Sizes,
    private readonly wrong: Wrong,
  ) {
    super();
  }

  write(given: Parameters<Gpu["write"]>[0]): void {
    const { observations, action, log_prob, value, advantage, returns, mask } = given;
    this.samples = Array.from({ length: this.sizes.samples }, (_, k) => [
      ...[action, log_prob, value, advantage, returns].map((plane) => plane![k]!),
      ...observations.subarray(3 * k, 3 * k + 3),
      ...mask!.subarray(2 * k, 2 * k + 2),
    ]);
  }

  writeWeights(weights: Float32Array): void {
    this.weights = weights.slice();
  }

  writeMoments(first: Float32Array, _second: Float32Array, steps: number): void {
    [this.moment, this.steps] = [first.slice(), steps];
  }

  async update({ learning_rate }: Hyper, _epochs: number, order: Uint32Array): Promise<Record<string, number>> {
    const inOrder = [...order].map((k) => this.samples[k]!);
    const metrics = this.learn(inOrder, this.sizes.minibatchSize, learning_rate);
    this.wrong(this, metrics);
    return metrics;
  }

  async readWeights(): Promise<Float32Array> {
    return this.weights;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

type Wrong = (gpu: ToyGpu, metrics: Record<string, number>) => void;
const right: Wrong = () => {};

let run: ToyCpu;
let made: ToyGpu[];
let tables: [number, Record<string, Row>][];
let warnings: string[];
let closed: number;

beforeEach(() => {
  run = new ToyCpu();
  run.weights = Float32Array.from({ length: FLOATS }, (_, k) => Math.sin(k));
  run.moment = Float32Array.from({ length: FLOATS }, (_, k) => Math.cos(3 * k));
  run.steps = 5;
  [made, tables, warnings, closed] = [[], [], [], 0];
});

function rollout(): Experience {
  const floats = (n: number, phase: number) => {
    const f32 = Float32Array.from({ length: 8 * LANES * n }, (_, k) => Math.sin(phase + k * phase));
    return { f32 } as Block;
  };
  const action = { i32: Int32Array.from({ length: 8 * LANES }, (_, k) => k % 33) } as Block;
  const mask = { u32: Uint32Array.from({ length: 8 * LANES * 2 }, (_, k) => (k * 2654435761) >>> 0) } as Block;
  const samples = { obs: floats(3, 1), action, log_prob: floats(1, 2), value: floats(1, 3), advantage: floats(1, 4), returns: floats(1, 5), mask };
  return { samples: samples as unknown as Samples, units: Int32Array.from(UNITS), stats: new Float64Array(0) };
}

function comparison(wrong: Wrong = right, every = 1): Comparison {
  const create = async (network: NetworkDescription, sizes: Sizes) => {
    expect(network.layers).toEqual(LAYERS);
    const gpu = new ToyGpu(sizes, wrong);
    made.push(gpu);
    return gpu as unknown as Gpu;
  };
  const close = () => {
    closed += 1;
  };
  const open = async () => ({ name: "a toy", create, close });
  const tell = (update: number, rows: Record<string, Row>) => void tables.push([update, rows]);
  return new Comparison(SPEC, new ToyCpu(), { every, open }, (text) => warnings.push(text), tell);
}

const look = (both: Comparison, settings = SETTINGS, hyper = HYPER) => both.look(run, rollout(), settings, hyper);

test("a GPU that learns the same is not warned of, and the run's own learner stays as it is", async () => {
  const before = [run.weights.slice(), run.moment.slice(), run.steps];
  const both = comparison();
  expect(both.result).toBe("");
  for (let k = 0; k < 3; k++) await look(both);
  expect(warnings).toEqual([]);
  const [update, rows] = tables[2]!;
  expect([update, made.length]).toEqual([3, 1]);
  expect(Object.keys(rows)).toEqual(expect.arrayContaining(["loss_policy", "grad_norm", "weights of layer 1", "weights of layer 3"]));
  for (const row of Object.values(rows)) expect(row.largest).toBeLessThan(1e-6);
  expect(rows["weights of layer 2"]!.WebAssembly).toBeGreaterThan(0.01);
  expect(both.result).toContain("compared with a toy: largest difference 0 %");
  expect([run.weights, run.moment, run.steps]).toEqual(before);
});

const layerOf = (k: number) => parts(LAYERS)[k - 1]!;
const SIX_PERCENT: Wrong = (gpu) => {
  const { at, inputs, outputs } = layerOf(2);
  const most = Math.max(...run.weights.subarray(at, at + (inputs + 1) * outputs).map((weight, k) => Math.abs(weight - gpu.weights[at + k]!)));
  gpu.weights[at + 7]! += 0.06 * most;
};

test.each<[string, Wrong, string]>([
  ["weights of layer 2", SIX_PERCENT, "6 %"],
  ["weights of layer 3", (gpu) => gpu.weights.fill(Number.NaN, layerOf(3).at), "not a number"],
  ["grad_norm", (_, metrics) => (metrics.grad_norm! *= 2), "100 %"],
  ["approx_kl", (_, metrics) => (metrics.approx_kl = Number.NaN), "not a number"],
])("a GPU that is wrong in one place is found, and the place is named once: %s", async (name, wrong, much) => {
  const both = comparison(wrong);
  for (let k = 0; k < 3; k++) await look(both);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`WebAssembly and a toy learn different things from the same samples in update 1, most in ${name}: ${much}`);
  const [, rows] = tables[0]!;
  for (const [other, { difference }] of Object.entries(rows)) if (other !== name) expect(difference).toBeLessThan(1e-6);
  expect(both.result).toContain(`(${name})`);
});

test("only each so many updates are compared", async () => {
  const both = comparison(right, 3);
  for (let k = 0; k < 7; k++) await look(both);
  expect(tables.map(([update]) => update)).toEqual([3, 6]);
});

test("minibatches are of one size, and another size has another learner", async () => {
  const both = comparison();
  await look(both, SETTINGS, { ...HYPER, minibatch_size: 24 }); // four of 1.5 units: three of two
  expect(made[0]!.sizes).toEqual({ samples: COUNT, minibatchSize: 32, epochs: 2, masked: true });
  await look(both, SETTINGS, { ...HYPER, epochs: 1 });
  expect(made.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  expect(made[1]!.sizes.epochs).toBe(1);
  both.close();
  expect([made[1]!.destroyed, closed, warnings]).toEqual([true, 1, []]);
});

test("what cannot be compared is said once, and the run continues", async () => {
  const both = comparison(() => {
    throw new Error("the device is lost");
  });
  for (let k = 0; k < 3; k++) await look(both);
  expect(warnings).toEqual(["the GPU is no longer compared with WebAssembly: the device is lost"]);
  expect([tables.length, made.length, made[0]!.destroyed, closed]).toEqual([0, 1, true, 1]);
  warnings = [];
  const other = comparison();
  await look(other, { ...SETTINGS, normalize_observations: true });
  expect(warnings).toEqual(["the GPU is no longer compared with WebAssembly: It does not normalise observations or rewards."]);
});
