/** Plays and learns on the page's GPU: compute's learner as an engine of a run. */
import { GpuLearner, type LearnerState, type NetworkDescription, type Starts } from "../../compute";
import type { Activation, DrillSpec } from "../../contract/protocol";
import { Draws } from "../draws";
import { number, type Tensors, tensor } from "../files/tensors";
import type { Kernels } from "../games/kernels";
import { RANDOM, SELF } from "../games/players";
import { opponentShares, shareTiles } from "../games/rollouts";
import { LANES } from "../games/samples";
import { minibatchCount } from "../ppo/minibatches";
import { layersOf, learningMask } from "../ppo/network";
import type { Hyper } from "../ppo/schedule";
import type { Settings } from "../settings";
import { DRAWS, STATS } from "../tables";
import type { Update } from "./engine";
import type { Away, Beginning } from "./faster";

/** What of a run's settings the GPU's learner is made for. */
interface Sizes {
  opponents: Record<string, number>; // games against each
  samples: number; // of a rollout
  rows: number; // of a minibatch
}

export class GpuEngine implements Away {
  readonly threads = 0;
  private kept: LearnerState; // as the last update left it
  private steps = 0; // of Adam
  private begun: Tensors = {};

  private constructor(
    private readonly device: GPUDevice,
    readonly place: string,
    private readonly spec: DrillSpec,
    private readonly made: { sizes: Sizes; epochs: number },
    private readonly learner: GpuLearner,
    weights: Float32Array,
  ) {
    this.kept = withoutMoments(weights);
  }

  /** `place` as a part of a sentence. Rejects with an Error of one sentence where the settings do not fit, or the device refuses. */
  static async create(
    device: GPUDevice,
    place: string,
    kernels: Kernels,
    spec: DrillSpec,
    wgsl: string,
    { settings, weights, state, version }: Beginning,
  ): Promise<GpuEngine> {
    const { epochs, rollout_length: length, reward_weights } = settings;
    const { starts, seed } = beginningsFor(kernels, spec, settings, version, Number(state.adam_step?.data[0] ?? 0));
    const sizes = sizesFor(spec, settings);
    const learner = await GpuLearner.create(device, {
      network: networkOf(spec, settings, weights),
      games: { wgsl, spec, opponents: sizes.opponents, length, starts, weights: reward_weights },
      minibatchSize: sizes.rows,
      epochs,
      seed,
    });
    return new GpuEngine(device, place, spec, { sizes, epochs }, learner, weights);
  }

  get weights(): Float32Array {
    return this.kept.weights;
  }

  fits(settings: Settings): boolean {
    if (lacks(this.spec, settings)) return false;
    return sizesFor(this.spec, settings).rows === this.made.sizes.rows && settings.epochs <= this.made.epochs;
  }

  async update(settings: Settings, hyper: Hyper): Promise<Update> {
    const { learner } = this;
    const begin = performance.now();
    learner.setRewards(settings.reward_weights);
    const rollout = await learner.rollout(settings);
    const played = performance.now();
    const { epochs } = hyper;
    const order = hyper.minibatch_order === "sequential" ? Uint32Array.from({ length: epochs * learner.size }, (_, k) => k % learner.size) : undefined;
    const [told, kept] = await Promise.all([learner.update(hyper, epochs, order), learner.readState()]);
    const { minibatches, skipped, stopped: _, mean_return: meanReturn, ...metrics } = told;
    this.kept = kept;
    this.steps += minibatches;
    const measured = Object.entries(metrics).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
    return {
      agentSteps: rollout.agent_steps,
      stats: this.statsOf(rollout),
      learned: Object.fromEntries(measured),
      skipped,
      meanReturn,
      rolloutMs: played - begin,
      updateMs: performance.now() - played,
    };
  }

  load(weights: Float32Array): void {
    this.take(withoutMoments(weights), 0);
  }

  setOpponents(): void {}

  practise(): void {}

  mend(): void {}

  state(): Tensors {
    const { first, second } = this.kept;
    return { ...this.begun, adam_m: tensor("F32", first), adam_v: tensor("F32", second), adam_step: number("I64", this.steps) };
  }

  restore(state: Tensors): void {
    const { adam_m, adam_v, adam_step, generator_update } = state;
    if (!adam_m || !adam_v || !adam_step || !generator_update) return;
    this.begun = { generator_update };
    const [first, second] = [adam_m.data as Float32Array, adam_v.data as Float32Array];
    this.take({ weights: this.kept.weights, first, second }, Number(adam_step.data[0]));
  }

  close(): void {
    this.learner.destroy();
    this.device.destroy();
  }

  private take(state: LearnerState, steps: number): void {
    this.kept = state;
    this.steps = steps;
    this.learner.writeWeights(state.weights);
    this.learner.writeMoments(state.first, state.second, steps);
  }

  private statsOf(rollout: Awaited<ReturnType<GpuLearner["rollout"]>>): Float64Array {
    const { episodes, wins, draws, agent_steps, episode_length_mean, returns, return_mean, return_min, return_max, rewards } = rollout;
    const known: Record<(typeof STATS)[number], number> = {
      episodes,
      wins_0: wins[0],
      wins_1: wins[1],
      draws,
      decisions: episodes * (episode_length_mean ?? 0),
      returns,
      return_sum: returns * (return_mean ?? 0),
      return_min: return_min ?? Number.POSITIVE_INFINITY,
      return_max: return_max ?? Number.NEGATIVE_INFINITY,
      agent_steps,
    };
    return Float64Array.from([...STATS.map((name) => known[name]), ...rewards]);
  }
}

/** Why the GPU cannot learn with these settings from samples that it is given, as a sentence; "" where it can. */
export function cannotLearn(spec: DrillSpec, settings: Settings): string {
  const { normalize_observations, normalize_rewards, priority_alpha } = settings;
  if (layersOf(spec, settings).some((size) => size < 0)) return "It learns dense networks only.";
  if (normalize_observations || normalize_rewards) return "It does not normalise observations or rewards.";
  if (priority_alpha > 0) return "It has no priorities.";
  return "";
}

/** The same of playing, too. */
export function lacks(spec: DrillSpec, settings: Settings): string {
  const why = cannotLearn(spec, settings);
  if (why) return why;
  const { opponents, samples, rows } = sizesFor(spec, settings);
  if ("" in opponents) return `It plays against self, ${["random", ...spec.baselines].join(" and ")} only.`;
  if (!Number.isInteger(rows)) return `Its minibatches have to divide the ${samples} agent steps of a rollout.`;
  return "";
}

/** The run's network, two of them side by side where they are separate. */
export function networkOf(spec: DrillSpec, settings: Settings, data: Float32Array): NetworkDescription {
  const layers = layersOf(spec, settings);
  const network = { layers, activation: settings.activation as Activation, data };
  return settings.separate_value_net ? { ...network, mask: learningMask(layers) } : network;
}

/**
 * Where games begin, as in `Rollouts`: generators that other seeds do not share, and clocks that are spread over an episode; and the seed of actions
 * and minibatches. A run that continues after `version` versions, and `steps` of its optimiser, begins with others: its games are not kept.
 */
export function beginningsFor(
  kernels: Kernels,
  { time_limit, action_repeat }: DrillSpec,
  { seed, num_envs }: Settings,
  version: number,
  steps: number,
): { starts: Starts; seed: number } {
  const draws = Draws.seeded(kernels, seed >>> 0, DRAWS.starts, version, steps);
  const keys = draws.words(num_envs);
  const decisions = Math.max(1, Math.floor(time_limit / action_repeat));
  const ticks = draws.below(decisions, num_envs).map((decision) => decision * action_repeat);
  return { starts: { keys, ticks }, seed: draws.words(1)[0]! };
}

/** An opponent that it does not know has the name "", and minibatches that do not divide the samples a share of a row. */
export function sizesFor(spec: DrillSpec, settings: Settings): Sizes {
  const { num_envs, rollout_length, minibatch_size } = settings;
  const opponents: Record<string, number> = {};
  for (const kind of shareTiles(num_envs / LANES, opponentShares(settings, spec))) {
    const name = kind === SELF ? "self" : kind === RANDOM ? "random" : (spec.baselines[kind] ?? "");
    opponents[name] = (opponents[name] ?? 0) + LANES;
  }
  const sides = num_envs + (spec.sides - 1) * (opponents.self ?? 0);
  const samples = sides * rollout_length;
  return { opponents, samples, rows: samples / minibatchCount(samples / LANES, minibatch_size) };
}

function withoutMoments(weights: Float32Array): LearnerState {
  return { weights, first: new Float32Array(weights.length), second: new Float32Array(weights.length) };
}
