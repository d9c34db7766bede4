/** The frame of a view: the match and what lies around it on the left, Train and the tabs on the right. Empty places are hidden. */
import type { Place } from "../panels/panel";
import { h, icon } from "../ui/dom";
import { Tabs } from "./tabs";

export interface Frame {
  readonly element: HTMLElement;
  readonly stage: HTMLElement;
  readonly column: HTMLElement; // the match, and what lies below it
  readonly places: Readonly<Record<Exclude<Place, "tab">, HTMLElement>>;
  readonly tabs: Tabs;
  /** Hides what holds nothing, and shows what does again. */
  tidy(): void;
}

/** `changed`: another tab is selected. */
export function buildFrame(id: string, changed: () => void): Frame {
  const stage = h("div", { class: "stage" });
  const places = {
    hero: h("div", { class: "hero" }),
    line: h("div", { class: "line" }),
    lab: h("div", { class: "benches" }),
    chips: h("div", { class: "chips", role: "group", "aria-label": "On the pitch" }),
    strip: h("div", { class: "foot" }),
  };
  const summary = h("summary", { "data-control": "lab" }, icon("chevron"), "Lab");
  const lab = h("details", { class: "lab" }, summary, places.lab);
  const below = h("div", { class: "below" }, places.line, lab);
  const tabs = new Tabs(id, changed);
  const side = h("div", { class: "side-column" }, places.hero, tabs.element);
  const column = h("div", { class: "play-column" }, stage, below);
  const element = h("div", { class: "frame" }, column, side);

  const tidy = () => {
    const empty = (place: HTMLElement) => place.childElementCount === 0;
    places.hero.hidden = empty(places.hero);
    places.line.hidden = empty(places.line);
    lab.hidden = empty(places.lab);
    below.hidden = places.line.hidden && lab.hidden;
    side.hidden = places.hero.hidden && tabs.element.hidden;
  };
  return { element, stage, column, places, tabs, tidy };
}
