/** Names of the two sides: the colours they are drawn in. */
const NAMES = ["blue", "orange"];

export function sideName(side: number): string {
  return NAMES[side] ?? `player ${side}`;
}
