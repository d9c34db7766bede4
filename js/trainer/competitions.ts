/** The competition that there is: a line of its own. */
import { slotCount } from "./games/rollouts";
import { league } from "./league/rounds";
import type { Competition } from "./parts";
import type { Settings } from "./settings";

const FOUND = Object.values<Competition>({
  league,
});

/** One at most, because a run has one pool; null where there is none. Throws an Error of one sentence if these settings need one. */
export function competitionFor(settings: Settings, found: readonly Competition[] = FOUND): Competition | null {
  if (!found[0] && slotCount(settings)) throw new Error("opponents: earlier versions (pool) need a league, and this page has none");
  return found[0] ?? null;
}
