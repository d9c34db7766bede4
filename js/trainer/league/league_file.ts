/** The league's part of a policy file: tensors `train.league.*`, as docs/architecture.md, "The league", describes them. */
import type { ConfigValue } from "../../contract/protocol";
import { PolicyFileError } from "../files/policy_tensors";
import type { Tensor } from "../files/tensor";
import { tensor } from "../files/tensors";
import { FILE, LEAGUE } from "../tables";
import type { Champion, Reference, Reign } from "./succession";

/** One earlier policy. */
export interface Snapshot {
  weights: Float32Array;
  number: number; // the round that admitted it
  version: number;
  step: number; // agent steps learned from
  hyper: Record<string, ConfigValue>; // the settings of its update
  share: number; // its points per match against the pinned opponents
  win_rate: number; // the learner's points per match against it, smoothed
  fallen: boolean; // it was found to have fallen in its round, so that the run went back
}

export interface LeagueState {
  counts: Record<"rounds" | "draws" | "last_updates" | "last_step", number>;
  snapshots: Snapshot[];
  reign: Reign;
  opponents: Float32Array[];
  points: Float64Array; // [players * players]
  matches: Float64Array;
}

const COUNTS = ["rounds", "draws", "last_updates", "last_step"] as const;
const SNAPSHOT = ["number", "version", "step"] as const;
const SHARES = ["share", "win_rate"] as const;
const CHAMPION = ["version", "step"] as const;

export function writeState(league: LeagueState, floats: number): Record<string, Tensor> {
  const snapshots = league.snapshots.map(({ weights, ...note }) => note);
  const { champion, reference, ...tests } = league.reign;
  const policies = { champion: noted(champion), ...(reference && { reference: noted(reference) }) };
  const notes = new TextEncoder().encode(JSON.stringify({ ...league.counts, snapshots, ...policies, ...tests }));
  const players = Math.sqrt(league.points.length);
  const table = new Float64Array(2 * league.points.length);
  table.set(league.points);
  table.set(league.matches, league.points.length);
  return {
    "train.league.weights": rowsOf(
      league.snapshots.map((snapshot) => snapshot.weights),
      floats,
    ),
    "train.league.table": tensor("F64", table, [2, players, players]),
    "train.league.notes": tensor("U8", notes),
    "train.league.champion": tensor("F32", champion.weights),
    ...(reference && { "train.league.reference": tensor("F32", reference.weights) }),
    "train.league.opponents": rowsOf(league.opponents, floats),
  };
}

/** What `writeState` wrote, null where there is nothing; throws PolicyFileError where it does not fit. */
export function readState(state: Readonly<Record<string, Tensor>>, pinned: number, floats: number): LeagueState | null {
  const names = ["notes", "weights", "table", "champion", "opponents", "reference"];
  const [notes, weights, table, champion, opponents, reference = champion] = names.map((name) => state[`train.league.${name}`]);
  if (!notes) return null;
  if (
    notes.dtype !== "U8" ||
    weights?.dtype !== "F32" ||
    table?.dtype !== "F64" ||
    champion?.dtype !== "F32" ||
    opponents?.dtype !== "F32" ||
    reference?.dtype !== "F32"
  ) {
    throw unreadable("a tensor is missing or of another type");
  }
  const { counts, snapshots, best, held, tests } = readNotes(notes.data, pinned, reference !== champion);
  if (weights.shape[0] !== snapshots.length) throw unreadable(`weights of ${weights.shape[0]} snapshots, notes of ${snapshots.length}`);
  const players = pinned + snapshots.length;
  const shapes = [
    [weights, [snapshots.length, floats]] as const,
    [champion, [floats]] as const,
    [reference, [floats]] as const,
    [opponents, [opponents.shape[0], floats]] as const,
  ];
  if (shapes.some(([tensor, shape]) => String(tensor.shape) !== String(shape)) || String(table.shape) !== String([2, players, players])) {
    throw new PolicyFileError("its league belongs to a different network or has different pinned opponents");
  }
  const [points, matches] = [table.data.slice(0, players ** 2), table.data.slice(players ** 2)];
  const turned = (k: number) => matches[(k % players) * players + Math.floor(k / players)];
  if (!matches.every((met, k) => 0 <= points[k]! && points[k]! <= met && met === turned(k) && met <= LEAGUE.most_matches)) {
    throw new PolicyFileError("its league has results that no matches give; load only its weights instead");
  }
  const row = (tensor: { data: Float32Array }, k: number) => tensor.data.slice(k * floats, (k + 1) * floats);
  return {
    counts,
    snapshots: snapshots.map((note, k) => ({ ...note, weights: row(weights, k) })),
    reign: { champion: { ...best, weights: champion.data }, reference: held && { ...held, weights: reference.data }, ...tests },
    opponents: Array.from({ length: opponents.shape[0]! }, (_, k) => row(opponents, k)),
    points,
    matches,
  };
}

type Notes = Pick<LeagueState, "counts"> & {
  snapshots: Omit<Snapshot, "weights">[];
  best: Omit<Champion, "weights">;
  held: Omit<Reference, "weights"> | null;
  tests: Omit<Reign, "champion" | "reference">;
};

/** The notes; of the reference and the tests only what files have that have a reference. */
function readNotes(bytes: Uint8Array, pinned: number, whole: boolean): Notes {
  let notes: unknown;
  try {
    notes = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : String(error));
  }
  const { snapshots, champion, reference, suspicion, anew } = (notes ?? {}) as Record<string, unknown>;
  if (!Array.isArray(snapshots)) throw unreadable("it has no list of snapshots");
  if (whole && !haveMet(reference, pinned)) throw unreadable(`its reference did not meet the ${pinned} pinned opponents`);
  const most = LEAGUE.most_snapshots; // ratings take the third power of their number
  if (snapshots.length > most) throw unreadable(`it has ${snapshots.length} snapshots, more than ${most}`);
  return {
    counts: numbers(notes, COUNTS, isCount),
    snapshots: snapshots.map((note) => ({
      ...numbers(note, SNAPSHOT, isCount),
      ...numbers(note, SHARES, isShare),
      ...{ hyper: hyperOf(note), fallen: note?.fallen === true },
    })),
    best: numbers(champion, CHAMPION, isCount),
    held: whole
      ? { ...numbers(reference, CHAMPION, isCount), points: listOf(reference, "points", pinned), matches: listOf(reference, "matches", pinned) }
      : null,
    tests: {
      tests: whole ? numbers(notes, ["tests"], isCount).tests : 0,
      suspicion: whole ? listOf({ suspicion }, "suspicion", pinned) : [],
      anew: anew === true,
    },
  };
}

function haveMet(reference: unknown, pinned: number): boolean {
  const [points, matches] = [listOf(reference, "points", pinned), listOf(reference, "matches", pinned)];
  return matches.every((met, k) => met > 0 && met <= LEAGUE.most_matches && points[k]! >= 0 && points[k]! <= met);
}

function listOf(note: unknown, key: string, length: number): number[] {
  const list = ((note ?? {}) as Record<string, unknown>)[key];
  if (!Array.isArray(list) || list.length !== length || !list.every(Number.isFinite)) throw unreadable(`${key} are not ${length} numbers`);
  return list;
}

function noted<T extends { weights: Float32Array }>({ weights, ...note }: T): Omit<T, "weights"> {
  return note;
}

function numbers<K extends string>(note: unknown, keys: readonly K[], is: (value: unknown) => boolean): Record<K, number> {
  const values = (note ?? {}) as Record<string, unknown>;
  const wrong = keys.find((key) => !is(values[key]));
  if (wrong) throw unreadable(`${wrong} is not a ${is === isCount ? "count" : "share"}`);
  return Object.fromEntries(keys.map((key) => [key, values[key]])) as Record<K, number>;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= FILE.most_count;
}

function isShare(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0 && (value as number) <= 1;
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
  for (const [k, row] of rows.entries()) data.set(row, k * floats);
  return tensor("F32", data, [rows.length, floats]);
}
