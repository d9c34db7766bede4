/** Tables as text, "goal=1, approach=3": names and what they have, as they are written. "none" has no names. */
export function pairsIn(text: string): [name: string, number: string][] {
  if (text === "none") return [];
  const parts = text.split(",").filter((part) => part.trim());
  return parts.map((part) => part.split("=").map((word) => word.trim()) as [string, string]);
}
