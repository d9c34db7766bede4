import { Z95 } from "../../contract/tables";

/** 95 % interval of wins / (wins + losses): E. B. Wilson, "Probable inference", JASA 1927. [0, 1] when nothing was decided. */
export function wilson(wins: number, losses: number): [low: number, high: number] {
  const n = wins + losses;
  if (n === 0) return [0, 1];
  const p = wins / n;
  const z2 = Z95 * Z95;
  const middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z95 / (1 + z2 / n)) * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
