/** The league's cross table as rows: whole as the league has them, and as few as the page shows. */
import type { ConfigValue, LeagueRow } from "../../contract/protocol";

const [ROWS, NEWEST] = [20, 5]; // players shown, and how many of them are the newest

/** One player; of a snapshot also its points per match, the learner's against it, and the settings of its update. */
export interface TableRow extends Omit<LeagueRow, "rank"> {
  share?: number;
  win_rate?: number;
  hyper?: Record<string, ConfigValue>;
}

/**
 * What the trait `league` holds, strongest first: every pinned player, the champion, the newest snapshots, then the strongest ones,
 * with the rank among all and the results against one another; as `league` of dshq_widget/widget/page_protocol.py.
 */
export function rowsForPage(rows: readonly TableRow[]): LeagueRow[] {
  const versions = rows.flatMap((row) => (row.pinned ? [] : [row.version!]));
  const newest = new Set(versions.sort((a, b) => b - a).slice(0, NEWEST));
  const ranked = rows.map(({ share, win_rate, hyper, ...row }, k): LeagueRow => ({ ...row, rank: k + 1 }));
  const isFirst = (row: LeagueRow) => row.pinned || row.champion || newest.has(row.version!);
  const first = ranked.filter(isFirst);
  const others = ranked.filter((row) => !isFirst(row)).slice(0, Math.max(0, ROWS - first.length));
  const chosen = [...first, ...others].sort((a, b) => a.rank - b.rank);
  const names = new Set(chosen.map(({ name }) => name));
  return chosen.map((row) => ({ ...row, against: Object.fromEntries(Object.entries(row.against).filter(([name]) => names.has(name))) }));
}
