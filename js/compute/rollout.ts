/** `step_envs`: many games and the policy that plays them, with rewards, ends and advantages; a rollout is one command buffer. */
import type { DrillSpec } from "../contract/protocol";
import { groupsOf, type Kit, record, type Step } from "./kit";
import type { Network } from "./network";
import { Samples } from "./samples";
import act from "./shaders/act.wgsl";
import common from "./shaders/common.wgsl";
import gae from "./shaders/gae.wgsl";
import rowsOfSamples from "./shaders/record.wgsl";
import settle from "./shaders/settle.wgsl";
import { Timer } from "./timer";

const KINDS: GPUBufferBindingType[] = ["uniform", "storage", "storage", "storage"]; // what the rules' kernels bind

export interface GamesDescription {
  wgsl: string; // the rules: `CompiledDrill.wgsl`
  spec: DrillSpec & { masked?: boolean };
  count: number;
  length: number; // decisions of a rollout
  opponent?: string; // "self", or who plays side 1: a baseline of the drill or "random"
  seed?: number; // of the first game; the others have the next ones
  practice?: boolean; // whether games begin in training's own starts
  weights?: Record<string, number>; // of reward terms, where they differ from the drill's
}

export interface Discounts {
  gamma: number;
  gae_lambda: number;
}

export interface RolloutMetrics {
  agent_steps: number;
  episodes: number;
  wins: [number, number];
  draws: number;
  episode_length_mean: number | null; // decisions; null where no episode ended
  return_mean: number | null; // of side 0
  gpu_time_ms: number | null;
}

/** What the steps of a rollout share. */
interface Held {
  state: GPUBuffer; // u32 [words, games], as the rules' kernels have it
  clock: GPUBuffer; // the decision, and what the draws hang on
  tally: GPUBuffer; // see settle.wgsl
  settled: GPUBuffer; // uniforms of settle.wgsl and gae.wgsl
  advantages: GPUBuffer;
}

export class Games {
  readonly samples: Samples;
  readonly rows: number; // learning sides
  readonly held: Held;
  private readonly timer: Timer;
  private readonly begin: Step[];
  private readonly decision: Step[];
  private readonly end: Step[];
  private begun = false;
  private readonly slots: number; // last observations kept of a row

  /** Compiles the rules. Throws an Error for an opponent that the drill does not have, or where the device refuses the rules. */
  static async create(kit: Kit, network: Network, games: GamesDescription): Promise<Games> {
    const { spec, opponent = "self" } = games;
    const scripted = opponent === "random" ? "random" : `baseline_${opponent}`;
    if (opponent !== "self" && opponent !== "random" && !spec.baselines.includes(opponent)) {
      throw new Error(`Drill ${spec.name} has no opponent ${opponent}: choose one of ${["self", "random", ...spec.baselines].join(", ")}.`);
    }
    if (network.nObs !== spec.n_obs || network.nOut !== spec.n_actions + 1) {
      throw new Error(
        `Drill ${spec.name} needs a network of ${spec.n_obs} observations and ${spec.n_actions + 1} outputs, got ${network.nObs} and ${network.nOut}.`,
      );
    }
    const wanted = ["observe", "turn", "renew", ...(spec.masked ? ["mask"] : []), ...(opponent === "self" ? [] : [scripted])];
    return new Games(kit, network, games, await rulesOf(kit, games, wanted));
  }

  private constructor(
    private readonly kit: Kit,
    network: Network,
    private readonly games: GamesDescription,
    rules: Rules,
  ) {
    const { spec, count, length, opponent = "self" } = games;
    const at = placesOf(spec);
    const [one, words, terms] = [spec.sides === 1 || opponent !== "self", spec.masked ? Math.ceil(spec.n_actions / 32) : 0, spec.terms.length];
    const rows = one ? count : 2 * count;
    this.rows = rows;
    this.slots = 1 + Math.floor((length - 1) / Math.ceil(spec.time_limit / spec.action_repeat));
    this.timer = new Timer(kit.device);
    this.samples = new Samples(kit, rows * length, spec.n_obs, words);
    this.held = {
      state: rules.state,
      clock: kit.zeros(2),
      tally: kit.zeros(6 * count + 2 * rows),
      settled: kit.uniform(new Array(8).fill(0)),
      advantages: kit.uniform(new Array(5).fill(0)),
    };
    const { clock, tally, state, settled, advantages } = this.held;
    const { planes, masks, observations } = this.samples;
    const [seen, x, outputs] = [kit.zeros(spec.sides * spec.n_obs * count), kit.zeros(rows * spec.n_obs), kit.zeros(rows * network.nOut)];
    const [late, lateOutputs] = [kit.zeros(this.slots * rows * spec.n_obs), kit.zeros(this.slots * rows * network.nOut)];
    const [after, before] = [kit.zeros(spec.sides * terms * count), kit.zeros(spec.sides * terms * count)];
    const [ends, unused, whole] = [kit.zeros(2 * count), kit.zeros(2 * count), kit.zeros(spec.sides * Math.max(1, words) * count)];
    kit.write(ends, new Uint32Array(2 * count).fill(1)); // every game is over at first, and a new episode begins

    const sizes = kit.uniform([count, rows, spec.n_obs, words, length, at.action! * count]);
    const heads = kit.uniform([rows, spec.n_actions, words, length, at.action! * count]);
    const samplesStep = (name: string, bound: Record<number, GPUBuffer>, threads: number) => kit.step(common + rowsOfSamples, name, bound, groupsOf(threads));
    const observe = rules.step("observe", seen, unused);
    const see = [observe, samplesStep("record", { 0: sizes, 1: clock, 2: seen, 3: x, 4: observations }, rows)];
    const play = network.play(x, outputs, rows);
    const permit = words ? [rules.step("mask", seen, whole), samplesStep("permit", { 0: sizes, 1: clock, 6: whole, 7: masks }, rows)] : [];
    const scripted = opponent === "random" ? "random" : `baseline_${opponent}`;
    const reply =
      opponent !== "self" && spec.sides === 2 ? [rules.step(scripted, seen, whole), samplesStep("reply", { 0: sizes, 6: whole, 9: state }, count)] : [];
    const ofHeads = { 0: heads, 1: clock, 2: outputs, 3: masks, 4: planes, 5: state };
    const ofSettle = { 0: settled, 1: clock, 2: after, 3: before, 4: paysOf(kit, games), 5: ends, 6: state, 7: planes, 8: tally };
    const renew = rules.step("renew", before, ends);
    this.begin = [renew];
    this.decision = [
      ...see,
      ...permit,
      ...play,
      kit.step(common + act, "act", ofHeads, groupsOf(rows)),
      ...reply,
      rules.step("turn", after, ends),
      kit.step(common + settle, "settle", ofSettle, groupsOf(count)),
      observe,
      samplesStep("keep", { 0: sizes, 1: clock, 2: seen, 5: planes, 8: late }, rows),
      renew,
      samplesStep("advance", { 1: clock }, 1),
    ];
    const ofGae = { 0: advantages, 1: planes, 2: outputs, 3: lateOutputs };
    const values = network.play(late, lateOutputs, this.slots * rows);
    this.end = [...see, ...play, ...values, kit.step(common + gae, "gae", ofGae, groupsOf(rows))];
  }

  /** Plays `length` decisions of every game into `samples`; equal `draws` give equal draws. */
  async run({ gamma, gae_lambda }: Discounts, draws: number): Promise<RolloutMetrics> {
    const { kit, rows, games } = this;
    const { spec, count, length } = games;
    const { clock, tally, settled, advantages } = this.held;
    const counts = [count, rows, length, spec.action_repeat, spec.time_limit, placesOf(spec).ticks!, spec.terms.length];
    kit.set(settled, [...counts, { f32: gamma }]);
    kit.set(advantages, [length, rows, spec.n_actions + 1, { f32: gamma }, { f32: gae_lambda }]);
    kit.write(clock, Uint32Array.of(0, draws));
    const encoder = kit.device.createCommandEncoder();
    encoder.clearBuffer(tally, 0, 4 * (6 * count + rows)); // returns of running episodes stay
    const pass = encoder.beginComputePass(this.timer.pass);
    if (!this.begun) record(pass, this.begin);
    for (let t = 0; t < length; t++) record(pass, this.decision);
    record(pass, this.end);
    pass.end();
    this.begun = true;
    const time = this.timer.resolve(encoder);
    kit.device.queue.submit([encoder.finish()]);
    const [[tallied], gpu_time_ms] = await Promise.all([kit.read(tally), time()]);
    const sum = (k: number) => tallied!.subarray(k * count, (k + 1) * count).reduce((total, value) => total + value, 0);
    const [episodes, first, second, draw, decisions, returns] = [0, 1, 2, 3, 4, 5].map(sum) as [number, number, number, number, number, number];
    const mean = (total: number) => (episodes ? total / episodes : null);
    return {
      agent_steps: rows * length,
      episodes,
      wins: [first, second],
      draws: draw,
      episode_length_mean: mean(decisions),
      return_mean: mean(returns),
      gpu_time_ms,
    };
  }

  destroy(): void {
    this.timer.destroy();
  }
}

/** The games' state and the launches of the drill's kernels on it. */
interface Rules {
  state: GPUBuffer;
  step(kernel: string, floats: GPUBuffer, whole: GPUBuffer): Step;
}

async function rulesOf(kit: Kit, games: GamesDescription, wanted: readonly string[]): Promise<Rules> {
  const { device } = kit;
  const { wgsl, spec, count } = games;
  const entries = KINDS.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
  const layout = device.createBindGroupLayout({ entries });
  const module = device.createShaderModule({ code: wgsl, label: spec.name });
  const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
  const pipelines = new Map(
    await Promise.all(
      wanted.map(
        async (entryPoint) => [entryPoint, await device.createComputePipelineAsync({ layout: pipelineLayout, compute: { module, entryPoint } })] as const,
      ),
    ),
  );
  const state = kit.filled(newGames(games));
  const size = kit.uniform([count, spec.action_repeat]);
  const step = (kernel: string, floats: GPUBuffer, whole: GPUBuffer) =>
    kit.bind(pipelines.get(kernel)!, layout, { 0: size, 1: state, 2: floats, 3: whole }, groupsOf(count));
  return { state, step };
}

/** In which row of the state each field begins. */
function placesOf(spec: DrillSpec): Record<string, number> {
  const places: Record<string, number> = {};
  let row = 0;
  for (const [name, , length] of spec.fields) {
    places[name] = row;
    row += Math.max(1, length);
  }
  return places;
}

/** Words of games in which no episode has begun. */
function newGames({ spec, count, seed = 0, practice = true }: GamesDescription): Uint32Array {
  const at = placesOf(spec);
  const words = spec.fields.reduce((sum, [, , length]) => sum + Math.max(1, length), 0);
  const state = new Uint32Array(words * count);
  for (let game = 0; game < count; game++) {
    state[at.rng_key! * count + game] = seed + game;
    state[at.practice! * count + game] = Number(practice);
  }
  return state;
}

/** Of the reward terms their weights, then 1 for each that is a potential. */
function paysOf(kit: Kit, { spec, weights = {} }: GamesDescription): GPUBuffer {
  const terms = spec.terms;
  return kit.filled(Float32Array.from([...terms.map(({ name, weight }) => weights[name] ?? weight), ...terms.map(({ kind }) => Number(kind === "potential"))]));
}
