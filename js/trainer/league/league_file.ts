/** The league's part of a policy file: tensors `train.league.*`, as docs/architecture.md, "The league", describes them. */
import type { ConfigValue } from "../../contract/protocol";
import { PolicyFileError } from "../files/policy_tensors";
import type { Tensor } from "../files/tensor";

/** One earlier policy. */
export interface Snapshot {
  weights: Float32Array;
  number: number; // the round that admitted it
  version: number;
  step: number; // agent steps learned from
  hyper: Record<string, ConfigValue>; // the settings of its update
  share: number; // its points per match against the pinned opponents
  win_rate: number; // the learner's points per match against it, smoothed
}

/** The policy that did best against the pinned opponents. */
export interface Champion {
  weights: Float32Array;
  version: number;
  step: number;
  points: number;
  matches: number;
}

export interface LeagueState {
  counts: Record<"rounds" | "draws" | "last_updates" | "last_step", number>;
  snapshots: Snapshot[];
  champion: Champion;
  opponents: Float32Array[];
  points: Float64Array; // [players * players]
  matches: Float64Array;
}

const COUNTS = ["rounds", "draws", "last_updates", "last_step"] as const;
const SNAPSHOT = ["number", "version", "step", "share", "win_rate"] as const;
const CHAMPION = ["version", "step", "points", "matches"] as const;

export function writeState(league: LeagueState, floats: number): Record<string, Tensor> {
  const snapshots = league.snapshots.map(({ weights, ...note }) => note);
  const { weights, ...champion } = league.champion;
  const notes = new TextEncoder().encode(JSON.stringify({ ...league.counts, snapshots, champion }));
  const players = Math.sqrt(league.points.length);
  const table = new Float64Array(2 * league.points.length);
  table.set(league.points);
  table.set(league.matches, league.points.length);
  return {
    "train.league.weights": rowsOf(
      league.snapshots.map((snapshot) => snapshot.weights),
      floats,
    ),
    "train.league.table": { dtype: "F64", shape: [2, players, players], data: table },
    "train.league.notes": { dtype: "U8", shape: [notes.length], data: notes },
    "train.league.champion": { dtype: "F32", shape: [floats], data: weights },
    "train.league.opponents": rowsOf(league.opponents, floats),
  };
}

/** What `writeState` wrote, null where there is nothing; throws PolicyFileError where it does not fit. */
export function readState(state: Readonly<Record<string, Tensor>>, pinned: number, floats: number): LeagueState | null {
  const [notes, weights, table, champion, opponents] = ["notes", "weights", "table", "champion", "opponents"].map((name) => state[`train.league.${name}`]);
  if (!notes) return null;
  if (notes.dtype !== "U8" || weights?.dtype !== "F32" || table?.dtype !== "F64" || champion?.dtype !== "F32" || opponents?.dtype !== "F32") {
    throw unreadable("a tensor is missing or of another type");
  }
  const { counts, snapshots, best } = readNotes(notes.data);
  if (weights.shape[0] !== snapshots.length) throw unreadable(`weights of ${weights.shape[0]} snapshots, notes of ${snapshots.length}`);
  const players = pinned + snapshots.length;
  const shapes = [[weights, [snapshots.length, floats]] as const, [champion, [floats]] as const, [opponents, [opponents.shape[0], floats]] as const];
  if (shapes.some(([tensor, shape]) => String(tensor.shape) !== String(shape)) || String(table.shape) !== String([2, players, players])) {
    throw new PolicyFileError("its league belongs to a different network or has different pinned opponents");
  }
  const row = (tensor: { data: Float32Array }, k: number) => tensor.data.slice(k * floats, (k + 1) * floats);
  return {
    counts,
    snapshots: snapshots.map((note, k) => ({ ...note, weights: row(weights, k) })),
    champion: { ...best, weights: champion.data },
    opponents: Array.from({ length: opponents.shape[0]! }, (_, k) => row(opponents, k)),
    points: table.data.slice(0, players ** 2),
    matches: table.data.slice(players ** 2),
  };
}

type Notes = Pick<LeagueState, "counts"> & { snapshots: Omit<Snapshot, "weights">[]; best: Omit<Champion, "weights"> };

function readNotes(bytes: Uint8Array): Notes {
  let notes: unknown;
  try {
    notes = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : String(error));
  }
  const { snapshots, champion } = (notes ?? {}) as Record<string, unknown>;
  if (!Array.isArray(snapshots)) throw unreadable("it has no list of snapshots");
  return {
    counts: numbers(notes, COUNTS),
    snapshots: snapshots.map((note) => ({ ...numbers(note, SNAPSHOT), hyper: hyperOf(note) })),
    best: numbers(champion, CHAMPION),
  };
}

function numbers<K extends string>(note: unknown, keys: readonly K[]): Record<K, number> {
  const values = (note ?? {}) as Record<string, unknown>;
  const wrong = keys.find((key) => !Number.isFinite(values[key]));
  if (wrong) throw unreadable(`${wrong} is not a number`);
  return Object.fromEntries(keys.map((key) => [key, values[key]])) as Record<K, number>;
}

function hyperOf(note: { hyper?: unknown }): Snapshot["hyper"] {
  if (typeof note.hyper !== "object" || note.hyper === null) throw unreadable("a snapshot has no settings");
  return note.hyper as Snapshot["hyper"];
}

function unreadable(reason: string): PolicyFileError {
  return new PolicyFileError(`its league cannot be read (${reason}); load only its weights instead`);
}

function rowsOf(rows: readonly Float32Array[], floats: number): Tensor {
  const data = new Float32Array(rows.length * floats);
  rows.forEach((row, k) => {
    data.set(row, k * floats);
  });
  return { dtype: "F32", shape: [rows.length, floats], data };
}
