/** Who plays on each side, in a word or two: the scoreboard's names and the log's. */
import type { Session } from "./session";

/** Of side 0 and side 1. Before any training the scripts play, except that AI vs AI shows the untrained network where there is one. */
export function playerNames(session: Session): [string, string] {
  const { mode } = session.show;
  const { version } = session.state;
  const ghost = ghostOf(session);
  const untrained = mode === "ai_vs_ai" && session.model.get("policy")?.layers.length ? "Untrained" : "";
  const network = version > 0 ? (ghost >= 0 ? `v${version}` : "AI") : untrained;
  const blue = mode === "human_vs_ai" || session.taken ? "You" : network || "random";
  if (ghost >= 0) return [blue, `v${ghost}`];
  return [blue, mode === "sandbox" ? session.opponent : network || session.opponent];
}

/** The earlier version that plays side 1 just now, -1: none. */
export function ghostOf(session: Session): number {
  return session.show.mode === "ai_vs_ai" ? session.past.ghost : -1;
}
