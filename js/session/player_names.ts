/** Names of the players on each side, for the scoreboard and the event log. */
import type { Model } from "../contract/model";
import type { ShowTrait } from "../contract/protocol";
import type { ShowState } from "./events";
import type { Facing } from "./facing";
import type { StandIn } from "./link";

const LEAGUE = "league:";
const NAMES: Record<string, string> = { idle: "standing still" };
const IN_SENTENCES: Record<string, string> = { idle: "one that stands still", random: "random play" };

/** What says who plays; a session is one. */
export interface Lineup {
  readonly model: Pick<Model, "get">;
  readonly show: ShowTrait;
  readonly state: ShowState;
  readonly taken: boolean; // a person plays side 0, whatever the mode
  readonly facing: Pick<Facing, "opponent" | "met">;
  readonly elsewhere: boolean; // the policy plays in the kernel, and side 0 only
  readonly live: boolean; // what is seen is the live match, and no replay
  readonly standIn: StandIn | null; // of side 1
}

/** Whether a person has `side`'s keys; nobody has any in a replay. */
export function personPlays({ show, taken, live }: Pick<Lineup, "show" | "taken" | "live">, side: number): boolean {
  return live && side === 0 && (show.mode === "human_vs_ai" || taken);
}

/** Of side 0 and side 1; in a replay their colours. Before any training the scripts play, except that AI vs AI shows the untrained network where there is one. */
export function playerNames(session: Lineup): [string, string] {
  if (!session.live) return ["Blue", "Orange"];
  const { mode } = session.show;
  const { version } = session.state;
  const { standIn } = session;
  const untrained = (mode === "ai_vs_ai" || session.elsewhere) && session.model.get("policy")?.layers.length ? "Untrained" : "";
  const network = version > 0 ? (standIn ? `v${version}` : "AI") : untrained;
  const blue = personPlays(session, 0) ? "You" : network || "random";
  if (standIn) return [blue, standIn.name];
  return [blue, session.facing.met ? opponentName(session.facing.met) : network || opponentName(session.facing.opponent)];
}

/** Whom a person meets in a match that the policy's `version` plays, in a sentence. */
export function rivalName({ model, facing: { met, opponent } }: Pick<Lineup, "model" | "facing">, version: number): string {
  if (version > 0 && !met) return `version ${version}`;
  return model.get("drill")?.spec.baselines.includes(opponent) ? `the ${opponent}` : (IN_SENTENCES[opponent] ?? opponentName(opponent));
}

/** How an opponent is called: `league:best` and `league:v120` are the champion and a version of the league. */
export function opponentName(opponent: string): string {
  const version = opponent.startsWith(LEAGUE) ? opponent.slice(LEAGUE.length) : "";
  return version === "best" ? "the champion" : version || (NAMES[opponent] ?? opponent);
}
