/** The show worker's half of search: it decides for the side that the policy plays, and draws what it looked at. */
import type { ToWorker } from "../../contract/protocol";
import type { LiveMatch, MatchPart, ShowFeature } from "../plug";
import { Futures } from "./futures";
import { Searcher } from "./searcher";

export const search: ShowFeature = { begin };

function begin({ show, post }: LiveMatch): MatchPart {
  const decider = new Searcher(show);
  const layer = new Futures(show, decider);
  const receive = (message: ToWorker) => {
    if (message.type !== "SEARCH") return null;
    decider.set(message.settings);
    return true;
  };
  const report = () => {
    const futures = layer.report();
    if (futures !== undefined) post({ type: "FUTURES", futures });
  };
  return { decider, layer, receive, report };
}
