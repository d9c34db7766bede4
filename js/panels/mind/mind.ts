/**
 * What the policy thinks: chips on the pitch for the value map and for other moves; in a tab the chosen player's action probabilities,
 * its inputs and their effect on the current move, and, while the match is paused, the outcomes of other moves. Requests the analysis
 * only while the tab is open.
 */

import type { DrillSpec, Thought } from "../../contract/protocol";
import { capital } from "../../contract/sentences";
import { sideName } from "../../contract/sides";
import { field, h, select, setAttribute, setBalance, setOptions, setSpan, setText } from "../../ui/dom";
import { compact, fixed, percent, signed } from "../../ui/format";
import type { Panel, PanelView } from "../panel";
import { buildAnswer } from "./answer";
import { buildChips } from "./chips";
import { buildOutcomes } from "./outcomes";

export const mind: Panel = { applies: ({ elsewhere, pictures }) => !elsewhere && !pictures, parts: { chips: buildChips, strip: buildAnswer, tab: build } };

function build(view: PanelView): HTMLElement {
  const { session, shown, signal } = view;
  const player = select({ class: "player" }, []);
  player.addEventListener("change", () => session.thoughts.choosePlayer(Number(player.value)));
  const worth = h("output", { class: "worth" });
  const about = h("output", { class: "version-seen" });
  const none = h("p", { class: "sentence" });
  const moves = h("div", { class: "moves" });
  const inputs = h("div", { class: "senses", role: "table", "aria-label": "What it sees" });
  const thoughts = h("div", { class: "thoughts" }, ...buildParts(view, moves, inputs));
  const panel = h(
    "section",
    { class: "mind body", "aria-label": "What it thinks" },
    h("div", { class: "cluster" }, field("player", player), said("Expected return", worth), said("Version", about)),
    none,
    thoughts,
  );

  let bars: { options: Bar[][]; inputs: Input[] } = { options: [], inputs: [] };
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    if (!spec) return;
    setOptions(
      player,
      Array.from({ length: spec.sides }, (_, side) => [String(side), capital(sideName(side))] as const),
    );
    player.parentElement!.hidden = spec.sides === 1;
    bars = { options: buildMoves(spec, moves), inputs: buildInputs(spec, inputs) };
    follow();
  };
  const follow = () => {
    if (!shown.now) return;
    const { player: side, version, thought } = session.thoughts.now;
    player.value = String(side);
    setText(about, `v${version}`);
    panel.dataset.side = String(side);
    setText(none, nobody(session));
    none.hidden = thought !== null;
    thoughts.hidden = thought === null;
    setText(worth, thought ? signed(thought.value) : "–");
    const spec = session.model.get("drill")?.spec;
    if (spec && thought?.observations.length === bars.inputs.length) show(spec, thought, bars);
  };

  let watching = false;
  const watch = () => {
    if (shown.now === watching) return;
    watching = shown.now;
    session.thoughts.watch(watching);
    follow();
  };
  shown.follow(watch);
  session.events.on("drill", rebuild, signal);
  for (const name of ["mind", "replay"] as const) session.events.on(name, follow, signal);
  rebuild();
  watch();
  return panel;
}

function buildParts(view: PanelView, moves: HTMLElement, inputs: HTMLElement): HTMLElement[] {
  return [
    part("Why that move? What else it could do", "", buildOutcomes(view)),
    part("What it would do", "Probability of each option now. The dot marks the current choice.", moves),
    part("What it sees", "The inputs of the network, and how strongly each one affects the current move.", inputs),
  ];
}

/** Why there is no network to ask. */
function nobody({ live, model }: PanelView["session"]): string {
  if (!live) return "A replay shows what was recorded. It contains no network.";
  return model.standalone ? "No network is playing." : "No network is playing yet. Press Train to see what it thinks.";
}

const MOST_BARS = 12; // a choice of more options shows the likeliest ones alone
const LIKELIEST = 5;

interface Bar {
  row: HTMLElement;
  label: HTMLElement;
  fill: HTMLElement;
  number: HTMLElement;
}
interface Input {
  row: HTMLElement;
  fill: HTMLElement;
  number: HTMLElement;
  weight: HTMLElement;
}

function buildMoves(spec: DrillSpec, moves: HTMLElement): Bar[][] {
  const groups = spec.actions.map(({ name, options }) => {
    const few = options.length <= MOST_BARS;
    const bars = (few ? options : options.slice(0, LIKELIEST)).map((option) => {
      const [label, fill, number] = [h("span", { class: "label", title: option }, option), h("span", { class: "fill" }), h("span", { class: "number" })];
      return { row: h("div", { class: "option" }, label, h("span", { class: "track" }, fill), number), label, fill, number };
    });
    const title = few ? name : `${name}: likeliest of ${options.length}`;
    return { bars, group: h("div", { class: "choice-bars", role: "group", "aria-label": name }, h("h4", {}, title), ...bars.map(({ row }) => row)) };
  });
  moves.replaceChildren(...groups.map(({ group }) => group));
  return groups.map(({ bars }) => bars);
}

function buildInputs(spec: DrillSpec, inputs: HTMLElement): Input[] {
  const rows = spec.observations.map(({ name, scale, unit, help }) => {
    const [fill, number, weight] = [h("span", { class: "fill" }), h("span", { class: "number", role: "cell" }), h("span", { class: "fill" })];
    const row = h(
      "div",
      { class: "sense", role: "row" },
      h("span", { class: "label", role: "rowheader", title: help ? `${name}: ${help}` : name }, name),
      h("span", { class: "track middle", title: `From −${compact(scale)} to +${compact(scale)} ${unit}` }, fill),
      number,
      h("span", { class: "span", role: "cell", title: "Scale: the network gets the value divided by this" }, `±${compact(scale)} ${unit}`.trim()),
      h("span", { class: "track weight", role: "cell" }, weight),
    );
    return { row, fill, number, weight };
  });
  const titles = () => ["input", "value", "", "scale", "effect"].map((title) => h("span", { role: title ? "columnheader" : "cell" }, title));
  const heads = [h("div", { class: "sense head", role: "row" }, ...titles()), h("div", { class: "sense head", "aria-hidden": "true" }, ...titles())];
  inputs.replaceChildren(
    h("div", { class: "heads", role: "rowgroup" }, ...heads),
    h("div", { class: "rows", role: "rowgroup" }, ...rows.map(({ row }) => row)),
  );
  return rows;
}

function show(spec: DrillSpec, thought: Thought, { options, inputs }: { options: Bar[][]; inputs: Input[] }): void {
  options.forEach((bars, choice) => {
    const names = spec.actions[choice]!.options;
    const chances = thought.probabilities[choice] ?? [];
    const shown = bars.length === names.length ? names.map((_, option) => option) : likeliest(chances, thought.action[choice]!, bars.length);
    bars.forEach(({ row, label, fill, number }, place) => {
      const option = shown[place]!;
      const p = chances[option] ?? 0;
      setText(label, names[option]!);
      setAttribute(label, "title", names[option]!);
      setSpan(fill, 0, p);
      setText(number, percent(p));
      row.toggleAttribute("data-chosen", thought.action[choice] === option);
    });
  });
  const most = Math.max(...thought.saliency, 1e-9);
  inputs.forEach(({ fill, number, weight }, k) => {
    const { scale, unit } = spec.observations[k]!;
    const [value, slope] = [thought.observations[k]!, thought.saliency[k]!];
    const share = Math.max(-1, Math.min(1, value));
    setBalance(fill, share);
    setText(number, `${fixed(value * scale, Math.abs(value * scale) < 9.995 ? 2 : 1)} ${unit}`.trim());
    setSpan(weight, 0, slope / most);
    const track = weight.parentElement!;
    setAttribute(track, "title", `${compact(slope)}: change of the current move's log-probability per scale of this input`);
    setAttribute(track, "aria-label", compact(slope));
  });
}

/** The `count` likeliest options, likeliest first; the one that is being carried out is always among them. */
function likeliest(chances: readonly number[], carried: number, count: number): number[] {
  const order = chances.map((_, option) => option).sort((a, b) => chances[b]! - chances[a]! || a - b);
  const first = order.slice(0, count);
  return first.includes(carried) ? first : [...order.slice(0, count - 1), carried];
}

/** A value under its name. */
function said(name: string, value: HTMLElement): HTMLElement {
  return h("span", { class: "field" }, h("span", { class: "caption" }, name), value);
}

/** A titled part with a sentence. */
function part(title: string, help: string, ...content: HTMLElement[]): HTMLElement {
  return h("section", { class: "part" }, h("h3", {}, title), help ? h("p", { class: "help" }, help) : null, ...content);
}
