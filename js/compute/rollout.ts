/** A rollout of many games, with rewards, ends and advantages, as one command buffer. */
import type { DrillSpec } from "../contract/protocol";
import { type Discounts, Games, kernelOf, rowsOf, shareSides, type Tally } from "./games";
import { type Kit, record } from "./kit";
import type { Network } from "./network";
import { Rules } from "./rules";
import { Samples } from "./samples";
import { Timer } from "./timer";

export interface GamesDescription {
  wgsl: string; // the rules: `CompiledDrill.wgsl`
  spec: DrillSpec;
  opponents: Record<string, number>; // how many games against whom: "self", "random", a baseline of the drill, half of them from either side
  length: number; // decisions of a rollout
  starts: Starts;
  weights?: Record<string, number>; // of reward terms, where they differ from the drill's
}

/** Of every game, in the order of `opponents`. */
export interface Starts {
  keys: Uint32Array; // seeds of their generators
  ticks: Uint32Array; // where the clocks of their first episodes stand
}

export interface RolloutMetrics {
  agent_steps: number;
  episodes: number;
  wins: [number, number];
  draws: number;
  episode_length_mean: number | null; // decisions; null where no episode ended
  returns: number; // episodes of learning sides that ended
  return_mean: number | null; // of these
  return_min: number | null;
  return_max: number | null;
  rewards: number[]; // what each term paid the learning sides, over all decisions
  gpu_time_ms: number | null; // null where the device has no timestamps
}

export class Rollout {
  private begun = false;
  private readonly timer: Timer;

  /** Compiles the rules. Throws an Error for an opponent that the drill does not have, or where the device refuses the rules. */
  static async create(kit: Kit, network: Network, games: GamesDescription): Promise<Rollout> {
    const { spec, opponents } = games;
    const known = ["self", "random", ...spec.baselines];
    const unknown = Object.keys(opponents).find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`Drill ${spec.name} has no opponent ${unknown}: choose from ${known.join(", ")}.`);
    if (network.nObs !== spec.n_obs || network.nOut !== spec.n_actions + 1) {
      throw new Error(
        `Drill ${spec.name} needs a network of ${spec.n_obs} observations and ${spec.n_actions + 1} outputs, got ${network.nObs} and ${network.nOut}.`,
      );
    }
    const kernels = ["observe", "turn", "renew", ...(spec.masked ? ["mask"] : []), ...Object.keys(opponents).map(kernelOf).filter(Boolean)];
    return new Rollout(kit, network, await Rules.compile(kit, games.wgsl, spec, kernels), games);
  }

  readonly samples: Samples;
  private readonly groups: Games[];
  private readonly pays: GPUBuffer; // weights of the reward terms, then which of them are potentials

  private constructor(
    private readonly kit: Kit,
    network: Network,
    rules: Rules,
    private readonly games: GamesDescription,
  ) {
    const { spec, opponents, length, starts, weights = {} } = games;
    const { sides } = spec;
    const wanted = Object.entries(opponents).flatMap(([opponent, games]) =>
      shareSides(games, sides, opponent).map((count, side) => ({ opponent, count, side })),
    );
    const played = wanted.filter(({ count }) => count > 0);
    const rows = played.reduce((sum, { opponent, count }) => sum + rowsOf(count, sides, opponent), 0);
    this.samples = new Samples(kit, rows * length, spec.n_obs, spec.masked ? Math.ceil(spec.n_actions / 32) : 0);
    this.timer = new Timer(kit.device);
    this.pays = kit.zeros(2 * spec.terms.length);
    this.setRewards(weights);
    let [base, first] = [0, 0];
    this.groups = played.map(({ opponent, count, side }) => {
      const [keys, ticks] = [starts.keys, starts.ticks].map((all) => all.slice(first, first + count)) as [Uint32Array, Uint32Array];
      const group = new Games(kit, network, rules, this.samples, { count, length, opponent, side, keys, ticks, base, pays: this.pays });
      base += group.rows * length;
      first += count;
      return group;
    });
  }

  /** Weights of reward terms, where they differ from the drill's. */
  setRewards(weights: Readonly<Record<string, number>>): void {
    const { terms } = this.games.spec;
    const values = [...terms.map(({ name, weight }) => weights[name] ?? weight), ...terms.map(({ kind }) => Number(kind === "potential"))];
    this.kit.write(this.pays, Float32Array.from(values));
  }

  /** Plays `length` decisions of every game into `samples`; equal `draws` give equal draws. */
  async run(discounts: Discounts, draws: number): Promise<RolloutMetrics> {
    if (!this.begun) this.begin();
    const encoder = this.kit.device.createCommandEncoder();
    this.groups.forEach((group, k) => group.prepare(encoder, discounts, (draws + Math.imul(k, 0x9e3779b9)) >>> 0));
    const pass = encoder.beginComputePass(this.timer.pass);
    for (const group of this.groups) {
      for (let t = 0; t < this.games.length; t++) record(pass, group.decision);
      record(pass, group.end);
    }
    pass.end();
    const time = this.timer.resolve(encoder);
    this.kit.device.queue.submit([encoder.finish()]);
    const [tallies, gpu_time_ms] = await Promise.all([Promise.all(this.groups.map((group) => group.tallied())), time()]);
    const sum = (name: Exclude<keyof Tally, "terms">) => tallies.reduce((total, tally) => total + tally[name], 0);
    const [episodes, returns] = [sum("episodes"), sum("returns")];
    const known = (count: number, value: number) => (count ? value : null);
    return {
      agent_steps: this.samples.count,
      episodes,
      wins: [sum("wins0"), sum("wins1")],
      draws: sum("draws"),
      episode_length_mean: known(episodes, sum("decisions") / episodes),
      returns,
      return_mean: known(returns, sum("returnSum") / returns),
      return_min: known(returns, Math.min(...tallies.map(({ returnMin }) => returnMin))),
      return_max: known(returns, Math.max(...tallies.map(({ returnMax }) => returnMax))),
      rewards: this.games.spec.terms.map((_, k) => tallies.reduce((total, { terms }) => total + terms[k]!, 0)),
      gpu_time_ms,
    };
  }

  private begin(): void {
    const encoder = this.kit.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const group of this.groups) record(pass, group.begin);
    pass.end();
    this.kit.device.queue.submit([encoder.finish()]);
    for (const group of this.groups) group.stagger();
    this.begun = true;
  }

  destroy(): void {
    this.timer.destroy();
  }
}
