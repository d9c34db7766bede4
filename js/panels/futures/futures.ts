/**
 * The panel "16 futures": a switch that lets search decide for the policy, how many copies it plays and how far, and what it saw: the
 * likeliest moves before and after search, how many copies still count, and the time of a decision.
 */
import { sideName } from "../../contract/sides";
import { button, h, setAttribute, setText } from "../../ui/dom";
import type { Panel, PanelView } from "../panel";
import { buildMoves } from "./moves";
import { buildSizes } from "./sizes";

export const futures: Panel = { area: "play", applies: ({ pictures, gate, dream }) => !pictures && !gate.on && !dream.on, build };

const PARTICLES = [1, 4, 16, 64];
const DEEPEST = 8;

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const { search } = session;
  const title = "16 futures: before each decision, play copies of the match ahead and take the move that did best";
  const toggle = button("16 futures", { text: "16 futures", class: "button toggle switch", title }, () => search.change({ on: !search.on }));
  toggle.setAttribute("role", "switch");
  const particles = h("input", { type: "range", min: 0, max: PARTICLES.length - 1, step: 1, title: "Copies of the match that are played ahead" });
  const depth = h("input", { type: "range", min: 1, max: DEEPEST, step: 1, title: "Decisions that each copy is played ahead" });
  particles.addEventListener("input", () => search.change({ particles: PARTICLES[Number(particles.value)]! }));
  depth.addEventListener("input", () => search.change({ depth: Number(depth.value) }));
  const [copies, decisions] = [h("output", { class: "number" }), h("output", { class: "number" })];
  const time = h("span", { class: "ms", title: "Time of a decision, on average" });
  const dials = h(
    "div",
    { class: "dials" },
    dial("Futures", "Number of futures", particles, copies),
    dial("Decisions ahead", "Decisions ahead", depth, decisions),
  );
  const says = h("p", { class: "help" });
  const seen = h("div", { class: "seen" }, buildMoves(view), buildSizes(view));
  const panel = h("section", { class: "futures", "aria-label": "Search" }, h("div", { class: "cluster" }, toggle, dials, time), says, seen);

  const follow = () => {
    const { on, futures: now } = search;
    setAttribute(toggle, "aria-checked", String(on));
    dials.hidden = time.hidden = !on;
    particles.value = String(PARTICLES.indexOf(search.particles));
    depth.value = String(search.depth);
    setAttribute(particles, "aria-valuetext", String(search.particles));
    setText(copies, String(search.particles));
    setText(decisions, String(search.depth));
    setText(time, now ? `${now.ms.toFixed(1)} ms a decision` : "");
    setText(says, sentence());
    seen.hidden = !now;
    setAttribute(panel, "data-side", now ? now.side : null);
  };
  const sentence = (): string => {
    const { on, futures: now, particles: count, depth: far } = search;
    if (!on) return "Let the policy look ahead before each decision.";
    if (!now) return "No network plays a side that could look ahead. Train one, or give it a side.";
    const many = count === 1 ? "one copy" : `${count} copies`;
    return `Before each decision ${sideName(now.side)} plays ${many} of the match ${far} ${far === 1 ? "decision" : "decisions"} ahead, and does what worked best.`;
  };
  session.events.on("futures", follow, signal);
  follow();
  return panel;
}

/** A slider between its caption and its number; `name` is its accessible name. */
function dial(caption: string, name: string, slider: HTMLInputElement, number: HTMLElement): HTMLElement {
  slider.setAttribute("aria-label", name);
  return h("label", { class: "dial" }, h("span", { class: "caption" }, caption), slider, number);
}
