/** The show worker's half of the ghost: an earlier version plays side 1. */
import type { ToWorker } from "../../contract/protocol";
import type { Policy } from "../../match/network/policy";
import type { LiveMatch, MatchPart, ShowFeature } from "../plug";
import { EarlierVersion } from "./earlier_version";
import type {} from "./messages";

export const ghost: ShowFeature = { begin };

function begin({ show, post }: LiveMatch): MatchPart {
  const substitute = new EarlierVersion(show);
  const receive = (message: ToWorker) => {
    if (message.type !== "PAST") return null;
    substitute.goBack(message.back);
    return true;
  };
  const report = () => {
    const news = substitute.advance();
    if (news) post({ type: "PAST", ...news });
  };
  return { substitute, receive, report, policyCame: (policy: Policy, replaces: boolean) => substitute.add(policy, replaces) };
}
