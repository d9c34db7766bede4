/** The show worker's half of the dream: the match waits for the decisions of a policy that plays in the kernel. */
import type { ToWorker } from "../../contract/protocol";
import { stateHex } from "../../match/recording";
import type { LiveMatch, MatchPart, ShowFeature } from "../plug";
import { Ahead } from "./ahead";
import type {} from "./messages";

export const dream: ShowFeature = { begin };

function begin({ post }: LiveMatch): MatchPart {
  const elsewhere = new Ahead();
  const receive = (message: ToWorker) => {
    if (message.type === "PLAN_AHEAD") elsewhere.set(message.on);
    else if (message.type === "AHEAD") elsewhere.add(message.plan, message.version, message.decisions);
    else return null;
    return false;
  };
  /** What it is to play, and how far the match has come. */
  const frame = () => {
    const wanted = elsewhere.takeWanted();
    if (wanted) post({ type: "WANTED", ...wanted, state: stateHex(wanted.state) });
    const decided = elsewhere.takeDecided();
    if (decided) post({ type: "DECIDED", ...decided });
  };
  return { elsewhere, receive, frame };
}
