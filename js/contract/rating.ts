import type { LeagueRow } from "./protocol";

/** A rating with its 95 % band, which is wide where few matches were played: "1612 (1570 to 1650)". */
export function rated({ elo, elo_low, elo_high }: Pick<LeagueRow, "elo" | "elo_low" | "elo_high">): string {
  return `${Math.round(elo)} (${Math.round(elo_low)} to ${Math.round(elo_high)})`;
}
