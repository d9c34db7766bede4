/**
 * The panel "16 futures": a chip that lets search decide for the policy, in the strip how many copies it plays and how far, and in a tab
 * what it saw: the likeliest moves before and after search, how many copies still count.
 */
import { memoryOf } from "../../../contract/memory";
import { sideName } from "../../../contract/sides";
import type { Panel, PanelView } from "../../../panels/panel";
import { button, control, h, setAttribute, setText } from "../../../ui/dom";
import { SearchLink } from "../link";
import { buildMoves } from "./moves";
import { buildSizes } from "./sizes";

export const panel: Panel = {
  applies: ({ pictures, claimed }) => !pictures && !claimed,
  parts: { chips: buildChip, strip: buildDials, tab: buildSeen },
};

const PARTICLES = [1, 4, 16, 64];
const DEEPEST = 8;
const SLOW = 0.25; // times real time

/** There while a trained network plays, or while it is on. */
function buildChip({ session, signal }: PanelView): HTMLElement {
  const search = session.link(SearchLink);
  const title = "16 futures: before each decision, play copies of the match ahead and take the move that did best";
  const chip = button("futures", { class: "chip", title }, () => search.change({ on: !search.on }));
  chip.setAttribute("role", "switch");
  const follow = () => {
    setAttribute(chip, "aria-checked", String(search.on));
    chip.hidden = (session.state.version === 0 && !search.on) || remembers(session);
  };
  for (const name of ["futures", "state"] as const) session.events.on(name, follow, signal);
  follow();
  return chip;
}

/** Whether the policy that plays has a memory. */
function remembers({ model }: PanelView["session"]): boolean {
  return memoryOf(model.get("policy")?.layers ?? []) > 0;
}

function buildDials({ session, signal }: PanelView): HTMLElement {
  const search = session.link(SearchLink);
  const particles = h("input", { type: "range", min: 0, max: PARTICLES.length - 1, step: 1, title: "Copies of the match that are played ahead" });
  const depth = h("input", { type: "range", min: 1, max: DEEPEST, step: 1, title: "Decisions that each copy is played ahead" });
  particles.addEventListener("input", () => search.change({ particles: PARTICLES[Number(particles.value)]! }));
  depth.addEventListener("input", () => search.change({ depth: Number(depth.value) }));
  const [copies, decisions] = [h("output", { class: "number" }), h("output", { class: "number" })];
  const time = h("span", { class: "ms", title: "Time of a decision, on average" });
  let usual = 1; // the speed before
  let slowed = false; // by this switch
  const slow = button("slow-motion", { class: "chip", title: "Slow motion: a quarter of the speed, so that eyes can follow the futures" }, () => {
    const { speed } = session.show;
    if (speed > SLOW) usual = speed;
    session.setShow({ speed: speed > SLOW ? SLOW : usual });
    slowed = speed > SLOW;
  });
  slow.setAttribute("role", "switch");
  const dials = h("div", { class: "search-dials" }, slow, dial("futures-number", particles, copies), dial("futures-depth", depth, decisions), time);
  const follow = () => {
    const { on, futures: now } = search;
    dials.hidden = !on;
    slowed &&= session.show.speed === SLOW;
    if (slowed && !on) {
      slowed = false;
      session.setShow({ speed: usual });
    }
    particles.value = String(PARTICLES.indexOf(search.particles));
    depth.value = String(search.depth);
    setAttribute(particles, "aria-valuetext", String(search.particles));
    setText(copies, String(search.particles));
    setText(decisions, String(search.depth));
    setAttribute(slow, "aria-checked", String(session.show.speed <= SLOW));
    setText(time, now ? `${now.ms.toFixed(1)} ms a decision` : "");
  };
  session.events.on("futures", follow, signal);
  session.events.on("show", follow, signal);
  follow();
  return dials;
}

/** A slider between its name and its number. */
function dial(id: "futures-number" | "futures-depth", slider: HTMLInputElement, number: HTMLElement): HTMLElement {
  const { "data-control": key, "aria-label": name } = control(id);
  slider.setAttribute("data-control", key);
  slider.setAttribute("aria-label", name);
  return h("label", { class: "foot-dial" }, h("span", { class: "caption" }, name), slider, number);
}

function buildSeen(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const search = session.link(SearchLink);
  const says = h("p", { class: "help" });
  const seen = h("div", { class: "seen" }, buildMoves(view), buildSizes(view));
  const element = h("section", { class: "futures part" }, h("h3", {}, "16 futures"), says, seen);

  const follow = () => {
    const { futures: now } = search;
    setText(says, sentence());
    seen.hidden = !now;
    setAttribute(element, "data-side", now ? now.side : null);
  };
  const sentence = (): string => {
    const { on, futures: now, particles: count, depth: far } = search;
    if (remembers(session)) return "A network with a memory decides alone: search would have to copy what it remembers.";
    if (!on) return "Let the policy look ahead before each decision: press 16 futures on the pitch.";
    if (!now) return "No network plays a side that could look ahead. Train one, or give it a side.";
    const many = count === 1 ? "one copy" : `${count} copies`;
    return `Before each decision ${sideName(now.side)} plays ${many} of the match ${far} ${far === 1 ? "decision" : "decisions"} ahead, and does what worked best.`;
  };
  session.events.on("futures", follow, signal);
  follow();
  return element;
}
