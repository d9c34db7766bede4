/** The show worker's half of the gate: it stands between side 0's network and the match, and draws what it says. */
import type { ToWorker } from "../../contract/protocol";
import type { LiveMatch, MatchPart, ShowFeature } from "../plug";
import { Gatekeeper } from "./gatekeeper";
import { GateOverlay } from "./overlay";

export const gate: ShowFeature = { begin };

function begin({ show, post }: LiveMatch): MatchPart {
  const decider = new Gatekeeper(show);
  const layer = new GateOverlay(show, decider);
  const receive = (message: ToWorker) => {
    if (message.type === "GATE") decider.set(message.settings);
    else if (message.type === "EXPECTED") layer.expect(message.kind);
    else return null;
    return false;
  };
  const report = () => {
    const proposals = decider.takeNews();
    if (proposals.length > 0) post({ type: "PROPOSALS", proposals });
  };
  return { decider, layer, receive, report };
}
