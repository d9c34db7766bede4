/** What the league's newest version won against an older one, from the matches that they have played. */
import type { LeagueRow } from "../../contract/protocol";
import { Z95 } from "../../contract/tables";

interface LeagueScore {
  newest: string;
  older: string;
  matches: number;
  share: number; // of the points; a draw is half a point
  low: number; // the 95 % interval
  high: number;
}

/** Against the one it has met whose version is the nearest to `version`; null where it has met none. */
export function scoreAgainst(rows: readonly LeagueRow[], version: number): LeagueScore | null {
  const snapshots = rows.filter(({ pinned }) => !pinned).sort((a, b) => b.version! - a.version!);
  const [newest, ...others] = snapshots;
  const distance = (row: LeagueRow) => Math.abs(row.version! - version);
  const [older] = others.filter(({ name }) => newest!.against[name]?.[1]).sort((a, b) => distance(a) - distance(b));
  if (!newest || !older) return null;
  const [points, matches] = newest.against[older.name]!;
  const [low, high] = interval(points, matches);
  return { newest: newest.name, older: older.name, matches, share: points / matches, low, high };
}

/** 95 % interval of a share: A. Agresti and B. Coull, "Approximate is better than exact", 1998: two points and two losses are added. */
function interval(points: number, matches: number): [low: number, high: number] {
  const p = (points + 2) / (matches + 4);
  const half = Z95 * Math.sqrt((p * (1 - p)) / (matches + 4));
  return [Math.max(0, p - half), Math.min(1, p + half)];
}
