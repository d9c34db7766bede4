/** The gate's weights and its threshold: a slider and a number each. They act on the match while they move, on training once let go. */

import { parse } from "../../../panels/hyper/hyper";
import type { PanelView } from "../../../panels/panel";
import { control, focused, h, setAttribute, setText } from "../../../ui/dom";
import { GateLink } from "../link";

const KEYS = ["survival_weight", "disruption_weight", "location_weight", "threshold"];
const STEP = 0.01;

export function buildDials({ session, signal }: PanelView): HTMLElement {
  const gate = session.link(GateLink);
  const dials = KEYS.filter((key) => key in gate.schema).map((key) => buildDial(gate, key));
  const follow = () => {
    for (const { show } of dials) show();
  };
  session.events.on("gate", follow, signal);
  session.events.on("config", follow, signal);
  follow();
  return h("div", { class: "dials" }, ...dials.map(({ element }) => element));
}

function buildDial(gate: GateLink, key: string): { element: HTMLElement; show(): void } {
  const entry = gate.schema[key]!;
  const { label, help, min, max } = entry;
  const slider = h("input", { type: "range", min: min ?? -1, max: max ?? 1, step: STEP, ...control([`dial-${key}-slider`, `${label}, slider`]), title: help });
  const number = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", ...control([`dial-${key}`, label]), title: help });
  const problem = h("span", { class: "problem", role: "alert" });
  slider.addEventListener("input", () => gate.attempt(key, Number(slider.value)));
  slider.addEventListener("change", () => gate.change(key, Number(slider.value)));
  number.addEventListener("change", () => {
    const { value, problem: text } = parse(entry, number);
    setText(problem, text);
    setAttribute(number, "aria-invalid", text ? "true" : null);
    if (typeof value === "number") gate.change(key, value);
  });
  const show = () => {
    const value = gate.value(key);
    if (!focused(slider) || Number(slider.value) !== value) slider.value = String(value);
    if (!focused(number) && !problem.textContent) number.value = String(Number(value.toPrecision(4)));
    setAttribute(slider, "aria-valuetext", String(value));
  };
  const element = h("div", { class: "dial" }, h("span", { class: "label" }, label), slider, number, problem);
  return { element, show };
}
