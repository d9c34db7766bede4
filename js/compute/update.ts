/** PPO's update as one command buffer: every minibatch's forward, loss, backward and Adam, and how long the GPU took. */
import { groupsOf, type Kit, record, type Step } from "./kit";
import type { Network } from "./network";
import type { Samples } from "./samples";
import adam from "./shaders/adam.wgsl";
import common from "./shaders/common.wgsl";
import loss from "./shaders/loss.wgsl";
import moments from "./shaders/moments.wgsl";
import norm from "./shaders/norm.wgsl";
import pick from "./shaders/pick.wgsl";
import sum from "./shaders/sum.wgsl";
import { Timer } from "./timer";

const ADAM_EPSILON = 1e-8;
const KL_MARGIN = 1.5; // times target_kl: where an update stops, as everywhere in this project
const REPORT = 12; // numbers of norm.wgsl and moments.wgsl

/** Settings of one update, by the names of docs/reference/settings.md. */
export interface Hyper {
  learning_rate: number;
  clip_epsilon: number;
  clip_value: boolean;
  value_coef: number;
  entropy_coef: number;
  max_grad_norm: number; // 0: no limit
  target_kl: number; // 0: no limit
  normalize_advantages: boolean;
}

/** Metrics by the names of docs/reference/settings.md; means over what was learned from. */
export interface UpdateMetrics {
  loss_policy: number;
  loss_value: number;
  entropy: number;
  approx_kl: number;
  clip_fraction: number;
  grad_norm: number;
  explained_variance: number;
  mean_return: number; // of the samples
  minibatches: number; // those applied
  skipped: number; // those whose gradient was not finite
  stopped: boolean; // at target_kl
  gpu_time_ms: number | null; // null where the device has no timestamps
}

export class Update {
  readonly moments: { first: GPUBuffer; second: GPUBuffer; powers: GPUBuffer }; // of Adam; powers: 1 - beta^steps of both
  private readonly timer: Timer;
  private readonly control: GPUBuffer;
  private readonly report: GPUBuffer;
  private readonly order: GPUBuffer;
  private readonly uniforms: Record<"loss" | "norm" | "adam" | "moments", GPUBuffer>;
  private readonly first: Step;
  private readonly minibatch: Step[];

  /** `most` is the largest number of epochs. Throws an Error where `rows`, a minibatch, does not divide the samples. */
  constructor(
    private readonly kit: Kit,
    private readonly network: Network,
    private readonly samples: Samples,
    private readonly rows: number,
    private readonly most: number,
  ) {
    if (samples.count % rows !== 0) throw new Error(`Minibatches of ${rows} samples do not divide ${samples.count}: choose a divisor.`);
    this.timer = new Timer(kit.device);
    const { floats, nObs, nOut } = network;
    [this.control, this.report, this.order] = [kit.zeros(6), kit.zeros(REPORT), kit.zeros(samples.count * most)];
    const [x, outputs, slopes, parts] = [kit.zeros(rows * nObs), kit.zeros(rows * nOut), kit.zeros(rows * nOut), kit.zeros(5 * rows)];
    const [first, second, powers] = [kit.zeros(floats), kit.zeros(floats), kit.zeros(2)];
    this.moments = { first, second, powers };
    const nothing = [0, 0, 0, 0];
    this.uniforms = { loss: kit.uniform(nothing), norm: kit.uniform(nothing), adam: kit.uniform(nothing), moments: kit.uniform(nothing) };
    const { planes, masks, observations, words, count } = samples;
    const { forward, backward } = network.learn(x, outputs, slopes, rows);
    const [picked, judged] = [kit.uniform([rows, nObs]), kit.uniform([rows, nOut - 1, words, count])];
    const ofLoss = { 0: judged, 1: this.uniforms.loss, 2: this.control, 3: this.order, 4: planes, 5: masks, 6: outputs, 7: slopes, 8: parts };
    const ofNorm = { 0: this.uniforms.norm, 1: network.slope, 2: parts, 3: this.control, 4: powers, 5: this.report };
    const ofAdam = { 0: this.uniforms.adam, 1: this.control, 2: powers, 3: network.slope, 4: network.weights, 5: first, 6: second };
    this.first = kit.step(common + sum + moments, "moments", { 0: this.uniforms.moments, 1: planes, 2: this.control, 3: this.report }, [1]);
    this.minibatch = [
      kit.step(common + pick, "pick", { 0: picked, 1: this.control, 2: this.order, 3: observations, 4: x }, groupsOf(rows)),
      ...forward,
      kit.step(common + loss, "loss", ofLoss, groupsOf(rows)),
      ...backward,
      kit.step(common + sum + norm, "norm", ofNorm, [1]),
      kit.step(common + adam, "adam", ofAdam, groupsOf(floats)),
    ];
  }

  /** Learns from the samples in this order, whole epochs of it. Throws an Error for an order of another length. */
  async run(hyper: Hyper, order: Uint32Array): Promise<UpdateMetrics> {
    const { kit, rows } = this;
    const { floats } = this.network;
    const epochs = order.length / this.samples.count;
    if (!Number.isInteger(epochs) || epochs < 1 || epochs > this.most) {
      throw new Error(`Wanted an order of ${this.samples.count} samples, 1 to ${this.most} times, got ${order.length}.`);
    }
    kit.write(this.order, order);
    kit.set(this.uniforms.loss, [{ f32: hyper.clip_epsilon }, { f32: hyper.value_coef }, { f32: hyper.entropy_coef }, Number(hyper.clip_value)]);
    kit.set(this.uniforms.norm, [{ f32: hyper.max_grad_norm }, { f32: hyper.target_kl * KL_MARGIN }, floats, rows]);
    kit.set(this.uniforms.adam, [{ f32: hyper.learning_rate }, { f32: ADAM_EPSILON }, floats]);
    kit.set(this.uniforms.moments, [this.samples.count, Number(hyper.normalize_advantages)]);
    const encoder = kit.device.createCommandEncoder();
    encoder.clearBuffer(this.control);
    encoder.clearBuffer(this.report);
    const pass = encoder.beginComputePass(this.timer.pass);
    record(pass, [this.first]);
    for (let k = 0; k < order.length / rows; k++) record(pass, this.minibatch);
    pass.end();
    const time = this.timer.resolve(encoder);
    kit.device.queue.submit([encoder.finish()]);
    const [[sums], gpu_time_ms] = await Promise.all([kit.read(this.report), time()]);
    return { ...metrics(sums!), gpu_time_ms };
  }

  destroy(): void {
    this.timer.destroy();
  }
}

type Numbers = [number, number, number, number, number, number, number];

function metrics(report: Float32Array): Omit<UpdateMetrics, "gpu_time_ms"> {
  const [policy, value, entropy, divergence, clipped, samples, norms] = Array.from(report) as Numbers;
  const [minibatches, skipped, stopped, explained, returned] = Array.from(report.subarray(7)) as Numbers;
  return {
    loss_policy: policy / samples,
    loss_value: value / samples,
    entropy: entropy / samples,
    approx_kl: divergence / samples,
    clip_fraction: clipped / samples,
    grad_norm: norms / minibatches,
    explained_variance: explained,
    mean_return: returned,
    minibatches,
    skipped,
    stopped: stopped !== 0,
  };
}
