/** What came of the proposal before the newest one, and a list of the last eight. */

import type { PanelView } from "../../../panels/panel";
import { h, setText } from "../../../ui/dom";
import { clock, signed } from "../../../ui/format";
import { GateLink } from "../link";
import type { Proposal } from "../messages";
import { nameOf, resultOf, storyOf } from "./words";

const LISTED = 8;

export function buildOutcomes({ session, signal }: PanelView): HTMLElement {
  const story = h("p", { class: "sentence" });
  const rows = Array.from({ length: LISTED }, buildRow);
  const list = h("ol", { class: "proposals", "aria-label": `The last ${LISTED} proposals, newest first` }, ...rows.map(({ element }) => element));
  const follow = () => {
    const spec = session.model.get("drill")?.spec;
    if (!spec) return;
    const { proposals } = session.link(GateLink);
    const before = proposals[1];
    setText(story, before ? storyOf(before, (session.show.action_repeat || spec.action_repeat) / spec.tick_rate) : "Nothing yet.");
    list.hidden = proposals.length === 0;
    rows.forEach(({ show }, k) => show(proposals[k], spec.tick_rate));
  };
  session.events.on("gate", follow, signal);
  session.events.on("drill", follow, signal);
  follow();
  return h("div", { class: "came" }, story, list);
}

function buildRow(): { element: HTMLElement; show(proposal: Proposal | undefined, rate: number): void } {
  const [time, name, expected, verdict, result] = [
    h("span", { class: "when" }),
    h("span", { class: "proposed" }),
    h("span", { class: "number", title: "Expected reward" }),
    h("span", { class: "verdict" }),
    h("span", { class: "result" }),
  ];
  const element = h("li", {}, time, name, expected, verdict, result);
  const show = (proposal: Proposal | undefined, rate: number) => {
    element.hidden = !proposal;
    if (!proposal) return;
    const { kind, sent, outcome, components } = proposal;
    element.dataset.kind = kind;
    element.dataset.sent = String(sent);
    setText(time, clock(proposal.tick / rate));
    setText(name, nameOf(proposal));
    setText(expected, components[3] ? signed(proposal.expected) : "–");
    setText(verdict, sent ? "SEND" : "WAIT");
    setText(result, resultOf(proposal));
    result.dataset.tone = outcome === null ? "" : outcome > 0 ? "good" : "bad";
  };
  return { element, show };
}
