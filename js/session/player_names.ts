/** Names of the players on each side, for the scoreboard and the event log. */
import type { Model } from "../contract/model";
import type { ShowTrait } from "../contract/protocol";
import type { PastState, ShowState } from "./events";

const LEAGUE = "league:";

/** What says who plays; a session is one. */
export interface Lineup {
  readonly model: Pick<Model, "get">;
  readonly show: ShowTrait;
  readonly state: ShowState;
  readonly past: PastState;
  readonly taken: boolean; // a person plays side 0, whatever the mode
  readonly opponent: string;
  readonly elsewhere: boolean; // the policy plays in the kernel, and side 0 only
  readonly replay?: { readonly recording: object | null }; // of another match, in the live one's place
}

/** Of side 0 and side 1; in a replay their colours. Before any training the scripts play, except that AI vs AI shows the untrained network where there is one. */
export function playerNames(session: Lineup): [string, string] {
  if (session.replay?.recording) return ["Blue", "Orange"];
  const { mode } = session.show;
  const { version } = session.state;
  const ghost = ghostOf(session);
  const untrained = (mode === "ai_vs_ai" || session.elsewhere) && session.model.get("policy")?.layers.length ? "Untrained" : "";
  const network = version > 0 ? (ghost >= 0 ? `v${version}` : "AI") : untrained;
  const blue = mode === "human_vs_ai" || session.taken ? "You" : network || "random";
  if (ghost >= 0) return [blue, `v${ghost}`];
  return [blue, mode === "sandbox" || session.elsewhere ? opponentName(session.opponent) : network || session.opponent];
}

/** How an opponent is called: `league:best` and `league:v120` are the champion and a version of the league. */
export function opponentName(opponent: string): string {
  const version = opponent.startsWith(LEAGUE) ? opponent.slice(LEAGUE.length) : "";
  return version === "best" ? "the champion" : version || opponent;
}

/** The earlier version that plays side 1 just now, -1: none. */
export function ghostOf(session: Lineup): number {
  return session.show.mode === "ai_vs_ai" && !session.replay?.recording ? session.past.ghost : -1;
}
