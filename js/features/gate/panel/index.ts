/** The gate panel: what the network proposes, what the gate expects of it, what came of it, and the gate's own settings. */

import { buildOwnCurves } from "../../../panels/charts/own_curves";
import type { Panel, PanelView } from "../../../panels/panel";
import { h, setText } from "../../../ui/dom";
import { GateLink } from "../link";
import { buildDials } from "./dials";
import { buildJudgement } from "./judgement";
import { buildMapChoice } from "./map_choice";
import { buildOutcomes } from "./outcomes";
import { nameOf } from "./words";

export const panel: Panel = { applies: (session) => session.link(GateLink).on, parts: { tab: build } };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const about = h("p", { class: "caption" });
  const element = h(
    "section",
    { class: "gate body", "aria-label": "The gate" },
    about,
    buildMapChoice(view),
    buildJudgement(view),
    part("Outcomes", "", buildOutcomes(view)),
    part("Weights and threshold", "Changes take effect immediately, in the match and in training.", buildDials(view)),
    part("How it goes", "", buildOwnCurves(view)),
  );

  const follow = () => {
    const [latest] = session.link(GateLink).proposals;
    setText(about, latest ? `${nameOf(latest)} · ${latest.sent ? "SEND" : "WAIT"}` : "It judges every proposal.");
  };
  session.events.on("gate", follow, signal);
  follow();
  return element;
}

/** A titled part with a sentence. */
function part(title: string, help: string, ...content: HTMLElement[]): HTMLElement {
  return h("section", { class: "part" }, h("h3", {}, title), help ? h("p", { class: "help" }, help) : null, ...content);
}
