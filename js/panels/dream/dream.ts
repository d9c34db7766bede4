/**
 * The panel "Dream": what the policy sees, what its world model makes of that, what it imagines next beside what comes, and a way into
 * its dream. Asks for all this only while it is open.
 */
import { h, icon, setText } from "../../ui/dom";
import type { Panel, PanelView } from "../panel";
import { buildFilm } from "./film";
import { buildInside } from "./inside";
import { buildPicture } from "./picture";
import { buildSurprise } from "./surprise";

export const dream: Panel = { area: "more", applies: ({ dream: link }) => link.on, build };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const [seen, made] = [buildPicture("What it sees"), buildPicture("What it makes of it")];
  const none = h("p", { class: "sentence", role: "status" });
  const now = h(
    "div",
    { class: "now" },
    h("figure", {}, h("figcaption", {}, "What it sees"), seen.element),
    h("figure", {}, h("figcaption", {}, "What it makes of it"), made.element),
    buildSurprise(view),
  );
  const shown = h("div", { class: "shown" }, now, buildFilm(view), buildInside(view));
  const about = h("span", { class: "caption" }, "Frames, expectations, imagination");
  const panel = h(
    "details",
    { class: "fold dream" },
    h("summary", {}, icon("chevron"), h("span", { class: "heading" }, "Dream"), about),
    h("div", { class: "body" }, none, shown),
  );

  const follow = () => {
    const { playing, now: moment } = session.dream;
    const person = session.taken || session.show.mode === "human_vs_ai";
    none.hidden = playing && !person;
    setText(none, person ? "A person plays: the model dreams again when the policy does." : "The policy has not played yet. Press Play.");
    shown.hidden = !playing;
    seen.show(moment?.seen ?? null);
    made.show(moment?.made ?? null);
  };
  let watching = false;
  const watch = (wanted: boolean) => {
    if (wanted === watching) return;
    watching = wanted;
    session.dream.watch(wanted);
  };
  panel.addEventListener("toggle", () => watch(panel.open));
  signal.addEventListener("abort", () => watch(false), { once: true });
  session.events.on("dream", follow, signal);
  session.events.on("show", follow, signal);
  follow();
  return panel;
}
