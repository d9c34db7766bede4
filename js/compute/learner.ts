/**
 * PPO on one WebGPU device: games, network, samples and Adam stay there; only metrics, and weights when asked for, come back.
 *
 *   const learner = await GpuLearner.create(device, { network, games, minibatchSize: 2048, epochs: 2 });
 *   await learner.rollout({ gamma: 0.995, gae_lambda: 0.95 });
 *   const metrics = await learner.update(hyper);
 *   const weights = await learner.readWeights();
 */
import type { Discounts } from "./games";
import { Kit } from "./kit";
import { Network, type NetworkDescription } from "./network";
import { type GamesDescription, Rollout, type RolloutMetrics } from "./rollout";
import { type GivenSamples, Samples } from "./samples";
import { type Hyper, Update, type UpdateMetrics } from "./update";

export interface LearnerState {
  weights: Float32Array;
  first: Float32Array;
  second: Float32Array;
}

const BETAS = [0.9, 0.999]; // of Adam, as in norm.wgsl

/** Either `games` that are played here, or the number of `samples` that are given to each update. */
export interface LearnerOptions {
  network: NetworkDescription;
  games?: GamesDescription;
  samples?: number;
  masked?: boolean; // whether the given samples have masks
  minibatchSize: number; // a divisor of the samples of a rollout
  epochs: number; // the most of an update
  seed?: number; // of actions drawn and of the minibatches' order
}

export class GpuLearner {
  private draw: number;

  /**
   * Throws an Error with a sentence for what WebGPU does not learn (a network that is not dense), for sizes that do not fit one another
   * or this device, and where the device refuses a shader.
   */
  static async create(device: GPUDevice, options: LearnerOptions): Promise<GpuLearner> {
    const kit = new Kit(device);
    device.pushErrorScope("validation");
    const [result] = await Promise.allSettled([GpuLearner.made(kit, options)]);
    const refused = await device.popErrorScope();
    if (result.status === "fulfilled" && !refused) return result.value;
    kit.destroy();
    if (refused) throw new Error(`This device refused the learner: ${refused.message}`);
    throw (result as PromiseRejectedResult).reason;
  }

  private static async made(kit: Kit, options: LearnerOptions): Promise<GpuLearner> {
    const network = new Network(kit, options.network);
    const games = options.games ? await Rollout.create(kit, network, options.games) : null;
    const words = options.masked ? Math.ceil((network.nOut - 1) / 32) : 0;
    const samples = games?.samples ?? new Samples(kit, options.samples ?? 0, network.nObs, words);
    return new GpuLearner(kit, network, games, samples, new Update(kit, network, samples, options.minibatchSize, options.epochs), options);
  }

  private constructor(
    private readonly kit: Kit,
    private readonly network: Network,
    private readonly games: Rollout | null,
    private readonly samples: Samples,
    private readonly learning: Update,
    { seed = 0 }: LearnerOptions,
  ) {
    this.draw = (seed ^ 0x5bd1e995) >>> 0 || 1;
  }

  /** Agent steps of a rollout, which are the samples of an update. */
  get size(): number {
    return this.samples.count;
  }

  /** Plays on; the samples of the last rollout are gone. Throws an Error where there are no games. */
  async rollout(discounts: Discounts): Promise<RolloutMetrics> {
    if (!this.games) throw new Error("This learner has no games: create it with `games`, or give samples to `write`.");
    return this.games.run(discounts, this.random());
  }

  /** Samples from elsewhere, in place of a rollout. */
  write(samples: GivenSamples): void {
    this.samples.write(samples);
  }

  /** One update of `epochs` on the samples, in an order drawn here, or in the one given (whole epochs of it). */
  async update(hyper: Hyper, epochs = 1, order = this.shuffled(epochs)): Promise<UpdateMetrics> {
    return this.learning.run(hyper, order);
  }

  /** The flat weights, as in a policy. */
  async readWeights(): Promise<Float32Array> {
    const [weights] = await this.kit.read(this.network.weights);
    return weights!.subarray(0, this.network.floats);
  }

  /** Replaces the weights; Adam's moments stay. Throws an Error where their number is another. */
  writeWeights(weights: Float32Array): void {
    if (weights.length !== this.network.floats) throw new Error(`Wanted ${this.network.floats} weights, got ${weights.length}.`);
    this.kit.write(this.network.weights, weights);
  }

  /** The flat weights and Adam's moments, as all that was submitted before leaves them. */
  async readState(): Promise<LearnerState> {
    const { moments } = this.learning;
    const { floats, weights } = this.network;
    const read = await this.kit.read(weights, moments.first, moments.second);
    const [own, first, second] = read.map((words) => words.subarray(0, floats));
    return { weights: own!, first: first!, second: second! };
  }

  /** Replaces Adam's moments by those after `steps` steps. Throws an Error where their number is another. */
  writeMoments(first: Float32Array, second: Float32Array, steps: number): void {
    const { floats } = this.network;
    for (const moment of [first, second]) if (moment.length !== floats) throw new Error(`Wanted ${floats} numbers as a moment, got ${moment.length}.`);
    const { moments } = this.learning;
    this.kit.write(moments.first, first);
    this.kit.write(moments.second, second);
    this.kit.write(
      moments.powers,
      Float32Array.from(BETAS, (beta) => -Math.expm1(steps * Math.log(beta))),
    );
  }

  /** Weights of reward terms from the next rollout on, where they differ from the drill's. */
  setRewards(weights: Readonly<Record<string, number>>): void {
    this.games?.setRewards(weights);
  }

  /** Gives all memory of the device back. */
  destroy(): void {
    this.games?.destroy();
    this.learning.destroy();
    this.kit.destroy();
  }

  private shuffled(epochs: number): Uint32Array {
    const { count } = this.samples;
    const order = new Uint32Array(epochs * count);
    for (let epoch = 0; epoch < epochs; epoch++) {
      const part = order.subarray(epoch * count, (epoch + 1) * count);
      for (let k = 0; k < count; k++) {
        const other = Math.floor((this.random() / 2 ** 32) * (k + 1));
        part[k] = part[other]!;
        part[other] = k;
      }
    }
    return order;
  }

  /** A u32; xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
  private random(): number {
    this.draw ^= this.draw << 13;
    this.draw ^= this.draw >>> 17;
    this.draw ^= this.draw << 5;
    this.draw >>>= 0;
    return this.draw;
  }
}
