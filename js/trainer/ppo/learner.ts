/** PPO on the learner's module, in one thread: dshq_widget/algorithms/ppo/learners/fused.py. */

import { Draws } from "../draws";
import { number, type Tensors, tensor } from "../files/tensors";
import type { Experience } from "../games/games";
import type { Block } from "../games/heap";
import type { Modules } from "../games/modules";
import { LANES, places, type Samples } from "../games/samples";
import type { Settings } from "../settings";
import { ADAM_EPSILON, DRAWS, KL_MARGIN, SUM_NAMES } from "../tables";
import { Minibatches } from "./minibatches";
import { learningMask, untrained } from "./network";
import { Normalizer } from "./normalizer";
import { type Plan, pack, unpack } from "./plan";
import type { Hyper } from "./schedule";

export const ALGORITHM = "ppo"; // its name in Python
const SUMS = SUM_NAMES.length;

export class Learner {
  /** Minibatches left out so far because their gradient was not finite. */
  skipped = 0;
  readonly normalizer: Normalizer;
  private step = 0; // of Adam
  private draws: Draws;
  private readonly seed: number;
  private first: Float32Array | null = null; // untrained weights
  private readonly params: Block; // parameters and Adam's two moments, a padded block each
  private readonly scratch: Block;
  private readonly gradients: Block;
  private readonly trained: Block | null;
  private readonly normal: Block;
  private readonly sums: Block;
  private readonly minibatches: Minibatches;

  constructor(
    private readonly modules: Modules,
    readonly plan: Plan,
    settings: Settings,
    weights: Float32Array,
  ) {
    const { heap } = modules;
    this.normalizer = new Normalizer(modules, plan.layers, settings);
    this.seed = settings.seed;
    this.draws = Draws.seeded(modules, this.seed, DRAWS.orders);
    this.params = heap.floats(3 * plan.floats);
    this.gradients = heap.floats(2 * (plan.floats + 16));
    this.scratch = heap.floats(plan.learnScratch);
    this.trained = plan.separate ? heap.floats(plan.floats) : null;
    if (this.trained) pack(plan, learningMask(plan.layers), this.trained.f32);
    this.normal = heap.floats(2 * plan.layers[0]!);
    this.sums = heap.take(8 * (SUMS + 4));
    this.minibatches = new Minibatches(heap);
    this.set(weights);
  }

  /** Address of the padded parameters, as rollouts read them; they change with every update. */
  get at(): number {
    return this.params.at;
  }

  /** Learns from a rollout. Returns metrics by the names of contract/metrics.py. */
  update({ samples, units }: Experience, hyper: Hyper): Record<string, number> {
    const { normalizer, plan, modules } = this;
    const [mean, deviation, explained] = this.moments(units, samples);
    if (normalizer.measures) {
      this.set(normalizer.measured(this.weights, samples, units));
      return { explained_variance: explained };
    }
    if (normalizer.active) this.set(normalizer.convert(this.weights, true));
    this.minibatches.plan(this.draws, units, samples.length, samples.advantage!, hyper);
    const inputs = normalizer.inputs;
    this.normal.f32.set(inputs);
    const sums = this.sums.f64;
    sums.fill(0);
    const scaled = hyper.normalize_advantages;
    modules.call("learn", {
      plan: plan.at,
      layers: plan.rows,
      activation: plan.activation,
      state: this.params.at,
      floats: plan.floats,
      gradients: this.gradients.at,
      scratch: this.scratch.at,
      scratch_floats: this.scratch.bytes / 4,
      ...places(samples),
      length: samples.length,
      ...this.minibatches.fields,
      normal: this.normal.at,
      n_normal: inputs.length / 2,
      advantage_mean: scaled ? mean : 0,
      advantage_scale: scaled ? 1 / (deviation + 1e-8) : normalizer.rewardScale,
      reward_scale: normalizer.rewardScale,
      trained: this.trained?.at ?? 0,
      n_trained: this.trained ? plan.floats : 0,
      clip: hyper.clip_epsilon,
      clip_value: Number(hyper.clip_value),
      value_coef: hyper.value_coef,
      entropy_coef: hyper.entropy_coef,
      learning_rate: hyper.learning_rate,
      epsilon: ADAM_EPSILON,
      max_norm: hyper.max_grad_norm,
      target_kl: hyper.target_kl * KL_MARGIN,
      steps: this.step,
      metrics: this.sums.at,
      n_metrics: SUMS + 4,
    });
    const [norms, applied, skipped] = [sums[SUMS + 1]!, sums[SUMS + 2]!, sums[SUMS + 3]!];
    const metrics: Record<string, number> = {};
    if (applied) {
      for (const [k, name] of SUM_NAMES.entries()) metrics[name] = sums[k]! / sums[SUMS]!;
      metrics.loss_value! /= normalizer.rewardScale ** 2;
      metrics.grad_norm = norms / applied;
    }
    this.step += applied;
    this.skipped += skipped;
    if (normalizer.active) this.set(normalizer.learned(this.weights, samples, units));
    return { ...metrics, explained_variance: explained };
  }

  /** The policy's flat weights, a copy. */
  get weights(): Float32Array {
    return unpack(this.plan, this.params.f32);
  }

  /** Loads flat weights and resets the optimiser. */
  load(weights: Float32Array): void {
    this.params.f32.fill(0);
    this.set(weights);
    this.step = 0;
    this.normalizer.loaded(this.normalizer.active && this.isUntrained(weights));
  }

  /** State for exact resuming, besides the weights. */
  state(): Tensors {
    const moment = (k: number) => tensor("F32", unpack(this.plan, this.params.f32.subarray(k * this.plan.floats)));
    return {
      adam_m: moment(1),
      adam_v: moment(2),
      adam_step: number("I64", this.step),
      generator_update: tensor("U64", this.draws.state),
      ...this.normalizer.state(),
    };
  }

  /** Takes over what `state` returned, if it is there; after `load`. */
  restore(state: Tensors): void {
    const { adam_m, adam_v, adam_step, generator_update } = state;
    if (!adam_m || !adam_v || !adam_step || !generator_update) return;
    for (const [k, tensor] of [adam_m, adam_v].entries()) pack(this.plan, tensor.data as Float32Array, this.params.f32.subarray((k + 1) * this.plan.floats));
    this.step = Number(adam_step.data[0]);
    this.draws = Draws.restored(this.modules, generator_update.data as BigUint64Array);
    this.normalizer.restore(state);
  }

  private isUntrained(weights: Float32Array): boolean {
    const { layers, separate } = this.plan;
    this.first ??= untrained(layers, separate, Draws.seeded(this.modules, this.seed, DRAWS.weights));
    return this.first.every((weight, k) => weight === weights[k]);
  }

  private set(weights: Float32Array): void {
    pack(this.plan, weights, this.params.f32);
  }

  /** Mean and deviation of the advantages, and how much of the returns the values explain. */
  private moments(units: Int32Array, { advantage, value, returns }: Samples): [mean: number, deviation: number, explained: number] {
    const { heap } = this.modules;
    return heap.borrow(() => {
      const arrays = { advantage: advantage!.at, value: value!.at, returns: returns!.at, all_units: advantage!.bytes / (4 * LANES) };
      const given = { ...arrays, units: heap.i64(units).at, n: units.length };
      return this.modules.values("moments", given, "mean", "deviation", "explained") as [number, number, number];
    });
  }
}
