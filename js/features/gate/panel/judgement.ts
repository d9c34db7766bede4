/** The newest proposal: its components and what they weigh, the expected reward beside the threshold, and the verdict. */

import { capital } from "../../../contract/sentences";
import type { PanelView } from "../../../panels/panel";
import { h, setAttribute, setBalance, setSpan, setText } from "../../../ui/dom";
import { fixed, percent, signed } from "../../../ui/format";
import { GateLink } from "../link";
import type { Proposal } from "../messages";
import { nameOf } from "./words";

const [LOW, HIGH] = [-0.5, 1]; // ends of the scale of expected rewards
const SHARES = [
  { name: "Survival", weight: "survival_weight", from: 0, to: 1, help: "Probability that no protector catches the parasite" },
  { name: "Disruption", weight: "disruption_weight", from: -1, to: 1, help: "Share of the units in its reach; guards count against an energy parasite" },
  { name: "Location", weight: "location_weight", from: -0.4, to: 0, help: "Penalty for spawning far from every worker" },
] as const;

export function buildJudgement({ session, signal }: PanelView): HTMLElement {
  const gate = session.link(GateLink);
  const none = h("p", { class: "sentence" });
  const [name, confidence, verdict, why] = [h("strong", { class: "proposed" }), h("span", { class: "caption" }), h("strong", { class: "verdict" }), h("span")];
  const rows = SHARES.map(buildShare);
  const bonus = buildRow("Exploration bonus", "Added for a chunk without a spawn in the last five minutes", false);
  const capacity = h("span", { class: "pays" });
  const scale = buildScale();
  const judged = h(
    "div",
    { class: "judgement" },
    h("div", { class: "proposal" }, h("span", { class: "what" }, name, confidence), h("span", { class: "ruling" }, verdict, why)),
    h("div", { class: "weighed" }, ...rows.map(({ element }) => element), bonus.element, row("Capacity", "Whether the queen has the energy for it", capacity)),
    scale.element,
  );

  const follow = () => {
    const [latest] = gate.proposals;
    none.hidden = latest !== undefined;
    judged.hidden = latest === undefined;
    const untrained = session.state.version === 0 && session.show.mode !== "ai_vs_ai";
    setText(none, untrained ? "No network is playing yet. Press Train to see what it proposes." : "The first proposal comes with the next decision.");
    if (!latest) return;
    const payable = latest.components[3] === 1;
    judged.dataset.kind = latest.kind;
    setText(name, capital(nameOf(latest)));
    setText(confidence, `Confidence ${percentOf(latest.confidence)}`);
    judged.dataset.sent = String(latest.sent);
    setText(verdict, latest.sent ? "SEND" : "WAIT");
    setText(why, reason(latest));
    rows.forEach(({ show }, k) => show(latest.components[k]!, gate.value(SHARES[k]!.weight)));
    const most = Math.max(gate.epsilon, latest.components[4]!, 1e-9);
    bonus.show(latest.components[4]! / most, fixed(latest.components[4]!), "", latest.components[4]!);
    setText(capacity, payable ? "can pay" : "cannot pay");
    capacity.dataset.payable = String(payable);
    scale.show(latest, payable, gate.value("threshold"));
  };
  session.events.on("gate", follow, signal);
  session.events.on("state", follow, signal);
  follow();
  return h("section", { class: "part", "aria-label": "Proposal" }, none, judged);
}

function reason({ components, sent, signal }: Proposal): string {
  if (!components[3]) return "the queen cannot pay";
  if (sent && signal <= 0) return "the gate is off";
  return `${fixed(Math.abs(signal))} ${signal > 0 ? "above" : "below"} the threshold`;
}

/** One more digit for the small ones: 400 chunks share the probability. */
function percentOf(share: number): string {
  return share < 0.1 ? `${(100 * share).toFixed(1)}%` : percent(share);
}

interface Row {
  element: HTMLElement;
  show(share: number, number: string, weight: string, brings: number): void;
}

function row(name: string, help: string, ...content: HTMLElement[]): HTMLElement {
  return h("div", { class: "component", title: help, role: "group", "aria-label": name }, h("span", { class: "label" }, name), ...content);
}

function buildRow(name: string, help: string, balanced: boolean): Row {
  const [fill, number, weight, brings] = [
    h("span", { class: "fill" }),
    h("span", { class: "number" }),
    h("span", { class: "weight" }),
    h("span", { class: "number brings" }),
  ];
  const element = row(name, help, h("span", { class: balanced ? "track middle" : "track" }, fill), number, weight, brings);
  const show = (share: number, text: string, factor: string, amount: number) => {
    if (balanced) setBalance(fill, share);
    else setSpan(fill, 0, share);
    setText(number, text);
    setText(weight, factor);
    setText(brings, signed(amount));
    brings.dataset.tone = amount <= -0.005 ? "bad" : "";
  };
  return { element, show };
}

/** A component, its weight, and what both bring. */
function buildShare({ name, from, to, help }: (typeof SHARES)[number]): { element: HTMLElement; show(value: number, weight: number): void } {
  const { element, show } = buildRow(name, `${help}, ${fixed(from, from % 1 ? 1 : 0)} to ${to}`, from === -1);
  const size = Math.max(Math.abs(from), Math.abs(to));
  return {
    element,
    show: (value, weight) => show(from === -1 ? value : Math.abs(value) / size, fixed(value), `× ${fixed(weight)}`, weight * value),
  };
}

/** The expected reward as a bar from zero, and the threshold as a line across it. */
function buildScale(): { element: HTMLElement; show(proposal: Proposal, payable: boolean, threshold: number): void } {
  const at = (value: number) => Math.min(Math.max((value - LOW) / (HIGH - LOW), 0), 1);
  const [fill, line, mark, number] = [
    h("span", { class: "fill" }),
    h("span", { class: "line" }),
    h("span", { class: "mark" }),
    h("strong", { class: "number" }),
  ];
  const bar = h(
    "span",
    { class: "wide", role: "img" },
    h("span", { class: "track" }, fill),
    h("span", { class: "zero", style: `left: ${100 * at(0)}%` }),
    line,
  );
  const ends = [LOW, 0, HIGH].map((value) => h("span", { style: `left: ${100 * at(value)}%` }, fixed(value, value % 1 ? 1 : 0)));
  const element = h(
    "div",
    { class: "expected" },
    h("span", { class: "label" }, "Expected reward"),
    h("span", { class: "place" }, bar, h("span", { class: "ends" }, ...ends, mark)),
    number,
  );
  const show = ({ expected }: Proposal, payable: boolean, threshold: number) => {
    const value = payable ? expected : 0;
    setSpan(fill, Math.min(at(0), at(value)), Math.max(at(0), at(value)));
    fill.dataset.above = String(expected > threshold);
    for (const part of [line, mark]) setAttribute(part, "style", `left: ${(100 * at(threshold)).toFixed(1)}%`);
    setText(mark, `threshold ${fixed(threshold)}`);
    setText(number, payable ? signed(expected) : "–");
    setAttribute(bar, "aria-label", `${payable ? signed(expected) : "none"}, threshold ${fixed(threshold)}`);
  };
  return { element, show };
}
