/**
 * For debugging (docs/explain/webgpu.md, "Both side by side"): learns every k-th update of a run twice more, by WebAssembly and on the page's
 * GPU, from the same weights, optimiser and rollout, and says how far apart the results are. The run itself is left alone.
 */
import type { GivenSamples, GpuLearner, NetworkDescription } from "../../compute";
import type { DrillSpec } from "../../contract/protocol";
import type { Experience } from "../games/games";
import { LANES } from "../games/samples";
import { parts } from "../layers";
import type { Learner } from "../ppo/learner";
import { minibatchCount } from "../ppo/minibatches";
import type { Hyper } from "../ppo/schedule";
import type { Settings } from "../settings";
import { cannotLearn, networkOf } from "./gpu";

/** The most that rounding explains (measured, see there): of a metric in parts of it, of a layer's weights in parts of their largest step. */
const TOLERANCE = 0.01;
/** Metrics, and the least that a difference is a part of: a sum of both signs, or a count of few samples, may be nearly zero. */
const METRICS = { loss_policy: 0.01, loss_value: 1e-6, entropy: 0.01, approx_kl: 1e-3, clip_fraction: 0.1, explained_variance: 0.1, grad_norm: 1e-6 };

/** A learner by WebAssembly that no run has. */
export type Cpu = Pick<Learner, "load" | "restore" | "update" | "weights">;
/** One on the GPU. */
export type Gpu = Pick<GpuLearner, "write" | "writeWeights" | "writeMoments" | "update" | "readWeights" | "destroy">;

/** What a learner on the GPU is made for. */
export interface Sizes {
  samples: number;
  minibatchSize: number;
  epochs: number;
  masked: boolean;
}

/** A GPU to compare with. */
export interface Compared {
  /** As part of a sentence. */
  name: string;
  create(network: NetworkDescription, sizes: Sizes): Promise<Gpu>;
  close(): void;
}

/** Which updates are compared, and with what; `open` rejects with an Error of one sentence where it cannot. */
export interface Asked {
  every: number;
  open(): Promise<Compared>;
}

/** A quantity of both learners: a metric, or the largest step of a layer's weights. */
export interface Row {
  WebAssembly: number;
  GPU: number;
  difference: number; // relative; infinite where one is not finite
  largest: number; // of all updates compared so far
}

export class Comparison {
  private compared: Compared | null = null;
  private learner: Gpu | null = null;
  private sizes = ""; // of `learner`
  private updates = 0;
  private over = false;
  private readonly largest = new Map<string, number>();
  private readonly named = new Set<string>();

  /** `warn` gets a sentence, `tell` each update that was compared and its rows by quantity. */
  constructor(
    private readonly spec: DrillSpec,
    private readonly cpu: Cpu,
    private readonly asked: Asked,
    private readonly warn: (text: string) => void,
    private readonly tell = toConsole,
  ) {}

  /** The largest difference so far as part of a sentence, behind where a run trains; "" before the first. */
  get result(): string {
    const worst = [...this.largest].sort(([, a], [, b]) => b - a)[0];
    if (!worst || !this.compared) return "";
    return `, compared with ${this.compared.name}: largest difference ${percent(worst[1])} (${worst[0]})`;
  }

  /** Compares what `learner` is about to learn from `experience`, where it is this update's turn. */
  async look(learner: Pick<Learner, "weights" | "state">, experience: Experience, settings: Settings, hyper: Hyper): Promise<void> {
    this.updates += 1;
    if (this.over || this.updates % this.asked.every !== 0) return;
    try {
      this.report(await this.both(learner, experience, settings, hyper));
    } catch (error) {
      this.warn(`the GPU is no longer compared with WebAssembly: ${(error as Error).message}`);
      this.close();
    }
  }

  close(): void {
    this.over = true;
    this.learner?.destroy();
    this.compared?.close();
    this.learner = this.compared = null;
  }

  private async both(learner: Pick<Learner, "weights" | "state">, experience: Experience, settings: Settings, hyper: Hyper): Promise<Record<string, Row>> {
    const why = cannotLearn(this.spec, settings);
    if (why) throw new Error(why);
    const [before, state] = [learner.weights, learner.state()];
    const units = experience.units.length;
    const minibatchSize = equalMinibatches(units, hyper.minibatch_size);
    const same: Hyper = { ...hyper, minibatch_size: minibatchSize, minibatch_order: "sequential", target_kl: 0 }; // to the end, in one order

    const { cpu } = this;
    cpu.load(before);
    cpu.restore(state);
    const cpuMetrics = cpu.update(experience, same);

    const { epochs } = hyper;
    const network = networkOf(this.spec, settings, before);
    const gpu = await this.gpuFor(network, { samples: units * LANES, minibatchSize, epochs, masked: experience.samples.mask !== null });
    const { adam_m, adam_v, adam_step } = state;
    gpu.writeWeights(before);
    gpu.writeMoments(adam_m!.data as Float32Array, adam_v!.data as Float32Array, Number(adam_step!.data[0]));
    gpu.write(given(experience, this.spec));
    const gpuMetrics = await gpu.update(
      same,
      epochs,
      Uint32Array.from({ length: epochs * units * LANES }, (_, k) => k % (units * LANES)),
    );
    const [cpuWeights, gpuWeights] = [cpu.weights, await gpu.readWeights()];

    const ofMetrics = Object.entries(METRICS).map(([name, least]) => {
      const [a, b] = [cpuMetrics[name]!, gpuMetrics[name as keyof typeof METRICS]];
      return this.row(name, a, b, Math.abs(a - b), Math.max(Math.abs(a), least));
    });
    const ofLayers = parts(network.layers).map(({ at, inputs, outputs }, k) => {
      const apart = (a: Float32Array, b: Float32Array) => {
        let most = 0;
        for (let i = at; i < at + (inputs + 1) * outputs; i++) most = Math.max(most, Math.abs(a[i]! - b[i]!));
        return most;
      };
      const step = apart(before, cpuWeights);
      return this.row(`weights of layer ${k + 1}`, step, apart(before, gpuWeights), apart(cpuWeights, gpuWeights), step);
    });
    return Object.fromEntries([...ofMetrics, ...ofLayers]);
  }

  /** A quantity and its row; they are `apart`, in parts of `scale`. */
  private row(name: string, WebAssembly: number, GPU: number, apart: number, scale: number): [string, Row] {
    const share = apart === 0 ? 0 : apart / scale;
    const difference = Number.isFinite(share) ? share : Number.POSITIVE_INFINITY;
    const largest = Math.max(difference, this.largest.get(name) ?? 0);
    this.largest.set(name, largest);
    return [name, { WebAssembly, GPU, difference, largest }];
  }

  /** Names the quantity that is furthest apart, once. */
  private report(rows: Record<string, Row>): void {
    this.tell(this.updates, rows);
    const [name, { difference }] = Object.entries(rows).sort(([, a], [, b]) => b.difference - a.difference)[0]!;
    if (difference <= TOLERANCE || this.named.has(name)) return;
    this.named.add(name);
    const most = `most in ${name}: ${percent(difference)}, where rounding explains ${percent(TOLERANCE)}`;
    this.warn(`WebAssembly and ${this.compared!.name} learn different things from the same samples in update ${this.updates}, ${most}`);
  }

  /** A learner on the GPU for these sizes. */
  private async gpuFor(network: NetworkDescription, sizes: Sizes): Promise<Gpu> {
    this.compared ??= await this.asked.open();
    const wanted = JSON.stringify(sizes);
    if (this.learner && wanted === this.sizes) return this.learner;
    this.learner?.destroy();
    this.learner = await this.compared.create(network, sizes);
    this.sizes = wanted;
    return this.learner;
  }
}

function percent(share: number): string {
  return Number.isFinite(share) ? `${Number((100 * share).toPrecision(2))} %` : "not a number";
}

function toConsole(update: number, rows: Record<string, Row>): void {
  console.info(`dshq-widget: update ${update} by WebAssembly and on the GPU`);
  console.table(rows);
}

/** Agent steps of a minibatch where all are of one size, as the GPU has them: nearly as many as asked for. */
function equalMinibatches(units: number, size: number): number {
  let count = minibatchCount(units, size);
  while (units % count) count -= 1;
  return (units * LANES) / count;
}

/** A rollout's samples as the GPU takes them: each of a unit's 16 lanes is a sample. */
function given({ samples, units }: Experience, { n_obs, n_actions }: DrillSpec): GivenSamples {
  /** `[all units, numbers, 16]` as `[samples, numbers]`. */
  const turned = <A extends Float32Array | Int32Array | Uint32Array>(from: A, numbers: number): A => {
    const to = new (from.constructor as new (length: number) => A)(units.length * LANES * numbers);
    for (let at = 0; at < to.length; at++) {
      const [sample, number] = [Math.floor(at / numbers), at % numbers];
      to[at] = from[(units[Math.floor(sample / LANES)]! * numbers + number) * LANES + (sample % LANES)]!;
    }
    return to;
  };
  const { obs, action, log_prob, value, advantage, returns, mask } = samples;
  return {
    observations: turned(obs!.f32, n_obs),
    action: Float32Array.from(turned(action!.i32, 1)),
    log_prob: turned(log_prob!.f32, 1),
    value: turned(value!.f32, 1),
    advantage: turned(advantage!.f32, 1),
    returns: turned(returns!.f32, 1),
    ...(mask && { mask: turned(mask.u32, Math.ceil(n_actions / 32)) }),
  };
}
