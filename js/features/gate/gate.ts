/**
 * The gate: what a proposed spawn is expected to bring. The same functions as dshq_widget/algorithms/gate/components.py and
 * gate.py, which say where they come from; a test holds both equal. Doubles throughout; nothing is allocated per judgement.
 */
import type { GameState } from "../../match/rules";
import type { GateSettings, SpawnKind } from "./messages";

export const KINDS: readonly SpawnKind[] = ["energy", "combat"];
export const SIDE = 20; // chunks along an edge; a chunk is z * SIDE + x
export const CHUNKS = SIDE * SIDE;
export const COSTS = [15, 25]; // queen energy of each kind
const HIVE = 190;
const FARTHEST = Math.sqrt(19 * 19 + 19 * 19);
const [DEADLY, SEEN, FADING] = [2, 8, 0.5]; // of protectors
const [DRAIN_RADIUS, GUARD_RADIUS, FIGHT_RADIUS] = [6, 1.2, 7.5];
const [FAR_FROM_HIVE, FAR_FROM_WORKER] = [0.3, 0.4];
const FRESH_SECONDS = 300; // then a chunk counts as unexplored again
const UNAFFORDABLE = -1; // gate signal and expected reward
const TOLERANCE = 1e-9; // a signal up to this is WAIT

/** Fields of the drill's state that the gate reads. */
export const FIELDS = ["worker_chunk", "protector_chunk", "queen_energy", "spawned_at"] as const;
export interface Territory extends GameState {
  readonly worker_chunk: Int32Array; // -1: dead
  readonly protector_chunk: Int32Array;
  readonly queen_energy: Float32Array; // [1]
  readonly spawned_at: Int32Array; // [CHUNKS] tick of the last spawn, 0: none
}

/** Judges proposals by `settings`, which may be replaced at any time. The last judgement stays readable. */
export class Gate {
  readonly components = new Float64Array(5); // survival, disruption, location, capacity, exploration
  expected = 0;
  signal = 0;

  constructor(public settings: GateSettings) {}

  set(settings: GateSettings): void {
    this.settings = settings;
  }

  /** Whether the proposal judged last is carried out. */
  get sends(): boolean {
    return this.components[3]! > 0 && (this.settings.mode === "ungated" || this.signal > TOLERANCE);
  }

  /** `kind`: index in KINDS. */
  judge(state: Territory, chunk: number, kind: number): void {
    const worth = this.worth(state, chunk, kind);
    const payable = this.components[3]! > 0;
    this.expected = payable ? worth : UNAFFORDABLE;
    this.signal = payable ? Math.min(Math.max(worth - this.settings.threshold, -1), 1) : UNAFFORDABLE;
  }

  /** The expected reward of a spawn that the queen can pay for, whether she can or not. */
  worth(state: Territory, chunk: number, kind: number): number {
    const { components, settings } = this;
    components[0] = survival(chunk, state.protector_chunk);
    components[1] = disruption(chunk, kind, state.worker_chunk, state.protector_chunk);
    components[2] = location(chunk, state.worker_chunk);
    components[3] = state.queen_energy[0]! >= COSTS[kind]! ? 1 : 0;
    components[4] = settings.epsilon * Math.min(1, (state.ticks[0]! - state.spawned_at[chunk]!) / FRESH_SECONDS);
    return settings.survival_weight * components[0] + settings.disruption_weight * components[1] + settings.location_weight * components[2] + components[4];
  }
}

function distance(a: number, b: number): number {
  const dx = (a % SIDE) - (b % SIDE);
  const dz = Math.floor(a / SIDE) - Math.floor(b / SIDE);
  return Math.sqrt(dx * dx + dz * dz);
}

/** Probability that a parasite spawned in `chunk` is not caught. */
function survival(chunk: number, protectors: Int32Array): number {
  let alive = 1;
  for (let k = 0; k < protectors.length; k++) {
    if (protectors[k]! < 0) continue;
    const d = distance(chunk, protectors[k]!);
    if (d < DEADLY) alive = 0;
    else if (d < SEEN) alive *= 1 - Math.exp(-FADING * (d - DEADLY));
  }
  return alive;
}

/** Share of the units that the parasite disturbs: energy -1..1, combat 0..1. */
function disruption(chunk: number, kind: number, workers: Int32Array, protectors: Int32Array): number {
  const combat = kind === 1;
  const all = within(workers, chunk);
  const near = within(workers, chunk, combat ? FIGHT_RADIUS : DRAIN_RADIUS);
  const guards = within(protectors, chunk, combat ? FIGHT_RADIUS : GUARD_RADIUS);
  if (!combat) return all ? Math.min(Math.max((near - guards) / all, -1), 1) : 0;
  const units = all + within(protectors, chunk);
  return units ? (near + guards) / units : 0;
}

/** Penalty for a spawn far from every worker or, without workers, far from the hive. */
function location(chunk: number, workers: Int32Array): number {
  let nearest = Number.POSITIVE_INFINITY;
  for (let k = 0; k < workers.length; k++) if (workers[k]! >= 0) nearest = Math.min(nearest, distance(chunk, workers[k]!));
  if (nearest === Number.POSITIVE_INFINITY) return (-FAR_FROM_HIVE * distance(chunk, HIVE)) / FARTHEST;
  return (-FAR_FROM_WORKER * nearest) / FARTHEST;
}

/** Those that are alive, within a radius of a chunk or anywhere. */
function within(units: Int32Array, chunk: number, radius = Number.POSITIVE_INFINITY): number {
  let near = 0;
  for (let k = 0; k < units.length; k++) if (units[k]! >= 0 && distance(chunk, units[k]!) <= radius) near++;
  return near;
}
