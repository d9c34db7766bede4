/** The event log panel, a fold, newest first. Lines are built only while it is open and seen, each of them once. */

import type { Kind, Line } from "../session/journal";
import { foldHandle, h, setText } from "../ui/dom";
import { clock } from "../ui/format";
import type { Panel, PanelView } from "./panel";

const KINDS: Record<Kind, string> = {
  goal: "match",
  swap: "policy",
  setting: "setting",
  training: "training",
  champion: "league",
  warning: "warning",
};

export const log: Panel = { parts: { tab: build } };

function build({ session, shown, signal }: PanelView): HTMLElement {
  const about = h("span", { class: "caption" });
  const lines = h("ol", { class: "lines", role: "log", "aria-live": "off", "aria-label": "Event log", tabindex: 0 });
  const empty = h("p", { class: "sentence" }, "No events yet. Goals, new policies and changed settings will appear here.");
  const panel = h("details", { class: "log fold" }, foldHandle("event-log", about), h("div", { class: "body" }, empty, lines));
  const made = new WeakMap<Line, HTMLElement>();

  const row = (line: Line) => {
    const known = made.get(line);
    if (known) return known;
    const rate = session.model.get("drill")?.spec.tick_rate ?? 120;
    const element = h(
      "li",
      { "data-kind": line.kind, title: new Date(line.at).toLocaleTimeString() },
      h("span", { class: "when" }, clock(line.tick / rate)),
      h("span", { class: "kind" }, KINDS[line.kind]),
      h("span", { class: "what" }, line.text),
    );
    made.set(line, element);
    return element;
  };
  const follow = () => {
    const entries = session.journal.lines;
    setText(about, entries.length > 0 ? "Newest first, by match time" : "Goals, new policies, changed settings");
    if (!panel.open || !shown.now) return;
    empty.hidden = entries.length > 0;
    lines.hidden = entries.length === 0;
    lines.replaceChildren(...entries.map(row));
  };
  panel.addEventListener("toggle", follow);
  shown.follow(follow);
  session.events.on("journal", follow, signal);
  follow();
  return panel;
}
