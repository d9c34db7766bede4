/** Games that continue from rollout to rollout, and their samples: dshq_kernels/play/rollout.py on the learner's module. */
import type { DrillSpec } from "../../contract/protocol";
import { placesOf } from "../../contract/state";
import { Draws } from "../draws";
import { number, type Tensors, tensor } from "../files/tensors";
import { type Plan, pack } from "../ppo/plan";
import type { Settings } from "../settings";
import { DRAWS, MOST_SLOTS, STATS } from "../tables";
import type { Experience, Games } from "./games";
import type { Block } from "./heap";
import type { Modules } from "./modules";
import { kindOf } from "./opponents";
import { POLICY, SELF } from "./players";
import { copyOut, LANES, newSamples, places, type Samples, type Shape } from "./samples";

const POOL = "pool";
/** Different earlier policies that play at once; 0 without a pool. */
export function slotCount({ opponents, num_envs }: Settings): number {
  const tiles = ((opponents[POOL] ?? 0) * num_envs) / LANES;
  return tiles ? Math.min(Math.max(Math.floor(tiles / 2), 1), MOST_SLOTS) : 0;
}

/** Shares of the games by the codes of players; the pool's is split evenly over its slots. */
export function opponentShares(settings: Settings, spec: DrillSpec): Map<number, number> {
  if (spec.sides === 1) return new Map([[SELF, 1]]);
  const shares = new Map<number, number>();
  for (const [name, share] of Object.entries(settings.opponents)) if (name !== POOL) shares.set(kindOf(name, spec), share);
  const slots = slotCount(settings);
  for (let slot = 0; slot < slots; slot++) shares.set(POLICY - slot, settings.opponents[POOL]! / slots);
  return shares;
}

/** Who plays against the learner in each tile, in the given shares (largest remainders), spread evenly. */
export function shareTiles(tiles: number, shares: ReadonlyMap<number, number>): number[] {
  const entries = [...shares].filter(([, share]) => share > 0);
  const total = entries.reduce((sum, [, share]) => sum + share, 0);
  const exact = entries.map(([, share]) => (tiles * share) / total);
  const counts = exact.map(Math.trunc);
  const missing = tiles - counts.reduce((sum, n) => sum + n, 0);
  const most = exact.map((_, k) => k).sort((a, b) => counts[a]! - exact[a]! - (counts[b]! - exact[b]!));
  for (const k of most.slice(0, missing)) counts[k]! += 1;
  const places = entries.flatMap(([kind], k) => Array.from({ length: counts[k]! }, (_, j) => [(j + 0.5) / counts[k]!, kind] as const));
  return places.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, kind]) => kind);
}

/** The side that learns in each tile; those of a kind take turns, whatever lies between them. */
function alternateSides(kinds: readonly number[]): number[] {
  const turns = new Map<number, number>();
  return kinds.map((kind) => {
    const turn = turns.get(kind) ?? 0;
    turns.set(kind, turn + 1);
    return turn & 1;
  });
}

/** Groups of tiles, four numbers each: both sides of a self-play tile, or two tiles' learning sides. */
function makeGroups(kinds: readonly number[], sides: number, learning: readonly number[]): number[][] {
  const groups: number[][] = [];
  const singles: [kind: number, tile: number, side: number][] = [];
  for (const [tile, kind] of kinds.entries()) {
    if (sides === 2 && kind === SELF) groups.push([tile, 0, tile, 1]);
    else singles.push([kind, tile, sides === 1 ? 0 : learning[tile]!]);
  }
  singles.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  for (let k = 0; k + 1 < singles.length; k += 2) groups.push([...singles[k]!.slice(1), ...singles[k + 1]!.slice(1)]);
  if (singles.length % 2) groups.push([...singles.at(-1)!.slice(1), -1, 0]);
  return groups;
}

export class Rollouts implements Games {
  /** Decisions played so far in each game: where the actions' generator stands. */
  private count = 0;
  private readonly seed: number;
  readonly units: Int32Array; // to learn from
  readonly unitCount: number; // of a rollout
  private readonly tiles: Block;
  private readonly running: Block; // f32 [tiles, sides, 16]: returns of the unfinished episodes
  private readonly memories: Block; // f32 [tiles, sides, 2 units, 16]
  private readonly shape: Shape; // of the samples
  private readonly samples: Samples;
  private readonly stats: Block;
  private readonly groups: readonly number[][];
  private readonly policies: Block | null;
  private readonly weights: Block;
  private readonly potential: Block;
  private readonly scratch: Block;
  private readonly fixed: Record<string, number>;
  private scenes: { block: Block; count: number } | null = null;

  constructor(
    private readonly modules: Modules,
    private readonly plan: Plan,
    private readonly settings: Settings,
    private readonly games: number = settings.num_envs,
    seed: number = settings.seed,
    first = 0, // the tile of all `num_envs` games that these begin with
  ) {
    this.seed = seed >>> 0;
    const { spec, heap, tileWords } = modules;
    const tiles = games / LANES;
    const here = <T>(all: readonly T[]) => all.slice(first, first + tiles);
    const { sides, terms } = spec;
    const length = settings.rollout_length;
    const everywhere = shareTiles(settings.num_envs / LANES, opponentShares(settings, spec));
    const kinds = here(everywhere);
    const draws = Draws.seeded(modules, this.seed, DRAWS.starts);
    const inOrder = makeGroups(kinds, sides, here(alternateSides(everywhere)));
    this.groups = Array.from(draws.permutation(inOrder.length), (k) => inOrder[k]!);
    const units = this.groups.length * length * 2;
    const keep = (group: readonly number[], half: number) => half === 0 || group[2]! >= 0;
    this.units = Int32Array.from(
      this.groups.flatMap((group, g) =>
        Array.from({ length: length * 2 }, (_, k) => (keep(group, k & 1) ? g * length * 2 + k : -1)).filter((unit) => unit >= 0),
      ),
    );
    this.shape = { spec, memory: plan.memory, length };
    this.samples = newSamples(heap, this.shape, units);
    this.unitCount = units;
    this.tiles = heap.take(tiles * modules.tileBytes);
    this.running = heap.floats(tiles * sides * LANES);
    this.memories = heap.floats(tiles * sides * 2 * plan.memory * LANES);
    this.memories.f32.fill(0);
    this.stats = heap.take(8 * (STATS.length + terms.length));
    const slots = slotCount(settings);
    this.policies = slots ? heap.floats(slots * plan.floats) : null;
    this.weights = heap.floats(terms.length);
    this.potential = heap.take(terms.length);
    this.potential.u8.set(terms.map(({ kind }) => Number(kind === "potential")));
    this.scratch = heap.floats(modules.scratchFloats(length) + plan.playScratch);
    this.fixed = {
      ...modules.game,
      tiles: this.tiles.at,
      n_tiles: tiles,
      groups: heap.i64(this.groups.flat()).at,
      n_groups: this.groups.length,
      opponents: heap.i64(kinds).at,
      length,
      plan: plan.at,
      layers: plan.rows,
      activation: plan.activation,
      policies: this.policies?.at ?? 0,
      policy_bytes: 4 * plan.floats,
      weights: this.weights.at,
      potential: this.potential.at,
      n_terms: terms.length,
      seed: this.seed,
      scene_words: tileWords,
      running: this.running.at,
      memories: plan.memory ? this.memories.at : 0,
      ...places(this.samples),
      stats: this.stats.at,
      scratch: this.scratch.at,
    };
    this.begin(draws);
  }

  /** Plays one rollout with the padded parameters at address `params`. The samples are overwritten by the next one. */
  play(params: number, settings: Settings): Experience {
    const { terms } = this.modules.spec;
    this.weights.f32.set(terms.map(({ name, weight }) => settings.reward_weights[name] ?? weight));
    const stats = this.stats.f64;
    stats.fill(0);
    stats[STATS.indexOf("return_min")] = Number.POSITIVE_INFINITY;
    stats[STATS.indexOf("return_max")] = Number.NEGATIVE_INFINITY;
    this.modules.call("play", {
      ...this.fixed,
      params,
      gamma: settings.gamma,
      gae_lambda: settings.gae_lambda,
      first_count: this.count,
      scenes: this.scenes?.block.at ?? 0,
      n_scenes: this.scenes?.count ?? 0,
      scene_share: settings.scene_share,
    });
    this.count = (this.count + this.settings.rollout_length) % 2 ** 32;
    return { samples: this.samples, units: this.units, stats: stats.slice(0, STATS.length + terms.length) };
  }

  next(params: number, _weights: () => Float32Array, settings: Settings): Experience {
    return this.play(params, settings);
  }

  /** Plays the pool's games against these earlier policies from now on, flat weights for each slot. */
  setOpponents(policies: readonly Float32Array[]): void {
    const { floats } = this.plan;
    for (const [slot, weights] of policies.entries()) pack(this.plan, weights, this.policies!.f32.subarray(slot * floats, (slot + 1) * floats));
  }

  /** Starts a share of the new games from one of these scenes, a game's words each. */
  practise(scenes: readonly Uint32Array[]): void {
    const { heap, tileWords } = this.modules;
    if (scenes.length > (this.scenes ? this.scenes.block.bytes / (4 * tileWords) : 0))
      this.scenes = { block: heap.floats(scenes.length * tileWords), count: 0 };
    if (!this.scenes) return;
    for (const [k, scene] of scenes.entries()) this.scenes.block.u32.set(scene, k * tileWords);
    this.scenes.count = scenes.length;
  }

  /** Restarts every game with numbers that are not finite; they show in its advantages or its last observations. */
  mend(): void {
    const { spec, tileBytes } = this.modules;
    const { n_obs: observations, sides } = spec;
    const length = this.settings.rollout_length;
    const obs = this.samples.obs!.f32;
    const advantage = this.samples.advantage!.f32;
    const running = this.running.f32;
    for (const [g, group] of this.groups.entries()) {
      for (let half = 0; half < 2; half++) {
        const tile = group[2 * half]!;
        if (tile < 0) continue;
        for (let lane = 0; lane < LANES; lane++) {
          const unit = (t: number) => (g * length + t) * 2 + half;
          const bad = (t: number) => !Number.isFinite(advantage[unit(t) * LANES + lane]);
          const blind = (k: number) => !Number.isFinite(obs[(unit(length - 1) * observations + k) * LANES + lane]);
          if (!range(length).some(bad) && !range(observations).some(blind)) continue;
          this.modules.reset(this.tiles.at + tile * tileBytes, lane);
          for (let side = 0; side < sides; side++) running[(tile * sides + side) * LANES + lane] = 0;
          const rows = 2 * this.plan.memory * sides;
          for (let row = 0; row < rows; row++) this.memories.f32[(tile * rows + row) * LANES + lane] = 0;
        }
      }
    }
  }

  /** A copy of a rollout's samples, to send to another thread. */
  copyOut(samples: Samples): Uint32Array<ArrayBuffer>[] {
    return copyOut(samples, this.shape, this.unitCount);
  }

  /** Every tile's bytes, running returns, memories, the actions' generator. */
  state(): Tensors {
    const tiles = this.games / LANES;
    const { sides } = this.modules.spec;
    const shape = [tiles, sides, LANES];
    const remembered = [tiles, sides, 2 * this.plan.memory, LANES];
    return {
      ...(this.plan.memory && { "train.memories": tensor("F32", this.memories.f32.slice(0, product(remembered)), remembered) }),
      "train.tiles": tensor("U8", this.tiles.u8.slice(0, tiles * this.modules.tileBytes)),
      "train.running": tensor("F32", this.running.f32.slice(0, product(shape)), shape),
      "train.count": number("I64", this.count),
    };
  }

  /** Takes over what `state` returned if the number of games, the rules and the memory are the same; else see `Games`. */
  restore(state: Tensors, version: number): void {
    if (this.resume(state) || this.count > 0 || version === 0) return;
    this.begin(Draws.seeded(this.modules, this.seed, DRAWS.starts, version));
    this.count = (version * this.settings.rollout_length) % 2 ** 32;
  }

  private resume(state: Tensors): boolean {
    const [tiles, running, memories, count] = [state["train.tiles"], state["train.running"], state["train.memories"], state["train.count"]];
    const number = this.games / LANES;
    if (!tiles || !running || !count || tiles.data.length !== number * this.modules.tileBytes) return false;
    const each = number * this.modules.spec.sides * LANES;
    if (running.data.length !== each || (memories?.data.length ?? 0) !== each * 2 * this.plan.memory) return false;
    if (memories) this.memories.f32.set(memories.data as Float32Array);
    this.tiles.u8.set(tiles.data as Uint8Array);
    this.running.f32.set(running.data as Float32Array);
    this.count = Number(count.data[0]);
    return true;
  }

  close(): void {}

  /** Random keys, proper starts, and clocks that are set apart so that not all games end at once. */
  private begin(draws: Draws): void {
    const { spec, tileWords } = this.modules;
    const tiles = this.games / LANES;
    this.modules.begin(this.tiles, draws.words(tiles * LANES), 1);
    const decisions = Math.max(1, Math.floor(spec.time_limit / spec.action_repeat));
    const clocks = draws.below(decisions, tiles * LANES);
    const now = this.tiles.u32;
    const ticks = placesOf(spec.fields).ticks! * LANES;
    for (let k = 0; k < clocks.length; k++) {
      now[Math.floor(k / LANES) * tileWords * LANES + ticks + (k % LANES)] = clocks[k]! * spec.action_repeat;
    }
  }
}

const range = (count: number) => Array.from({ length: count }, (_, k) => k);
const product = (shape: readonly number[]) => shape.reduce((all, n) => all * n, 1);
