/**
 * The panel "Dream": what the policy sees, what its world model makes of that, what it imagines next beside what comes, and a way into
 * its dream. Asks for all this only while it is seen.
 */

import type { Panel, PanelView } from "../../../panels/panel";
import { h, setText } from "../../../ui/dom";
import { DreamLink } from "../link";
import { buildFilm } from "./film";
import { buildInside } from "./inside";
import { buildPicture } from "./picture";
import { buildSurprise } from "./surprise";

export const panel: Panel = { applies: (session) => session.link(DreamLink).dreams, parts: { tab: build } };

function build(view: PanelView): HTMLElement {
  const { session, shown, signal } = view;
  const link = session.link(DreamLink);
  const [seen, made] = [buildPicture("What it sees"), buildPicture("Its reconstruction")];
  const none = h("p", { class: "sentence", role: "status" });
  const now = h(
    "div",
    { class: "now" },
    h("figure", {}, h("figcaption", {}, "What it sees"), seen.element),
    h("figure", {}, h("figcaption", {}, "Its reconstruction"), made.element),
    buildSurprise(view),
  );
  const content = h("div", { class: "shown" }, now, buildFilm(view), buildInside(view));
  const element = h("section", { class: "dream body", "aria-label": "Dream" }, none, content);

  const follow = () => {
    const { playing, now: moment } = link;
    const person = session.taken || session.show.mode === "human_vs_ai";
    none.hidden = playing && !person;
    setText(none, person ? "A person plays. The model imagines again when the policy plays." : "The policy has not played yet. Press Play.");
    content.hidden = !playing;
    seen.show(moment?.seen ?? null);
    made.show(moment?.made ?? null);
  };
  let watching = false;
  const watch = () => {
    if (shown.now === watching) return;
    watching = shown.now;
    link.watch(watching);
  };
  shown.follow(watch);
  session.events.on("dream", follow, signal);
  session.events.on("show", follow, signal);
  follow();
  watch();
  return element;
}
