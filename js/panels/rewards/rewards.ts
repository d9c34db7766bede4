/**
 * The rewards panel: every reward term with its weight, and the rewards of winners and losers in the last games with these weights.
 * Works before any training; a change sets the hyper-parameter `reward_weights`.
 */

import type { DrillSpec } from "../../contract/protocol";
import { type Group, groupsOf, insight, readWeights, spoken, totalOf, type Weights, weightOf, writeWeights } from "../../match/scores";
import { button, control, focused, h, setAttribute, setBalance, setText } from "../../ui/dom";
import { compact, signed } from "../../ui/format";
import type { Panel, PanelView } from "../panel";
import { buildOwnReward } from "./own_reward";

export const rewards: Panel = { applies: ({ model }) => (model.get("drill")?.spec.terms.length ?? 0) > 0, parts: { tab: build } };

type Term = DrillSpec["terms"][number];

const KINDS: Record<Term["kind"], string> = {
  reward: "Reward: paid when something happens.",
  potential: "Potential: only a change is paid. Moving closer pays, moving away costs the same amount. The optimal policy stays the same.",
};
const FATES: Record<Group["name"], [who: string, help: string]> = {
  won: ["winner", "Mean reward per game for the winner"],
  lost: ["loser", "Mean reward per game for the loser"],
  drawn: ["draw", "Mean reward per drawn game for each player"],
  all: ["a game", "Mean reward per game"],
};
const MOST = 1000; // of a weight, as dshq_widget/contract/settings.py takes it
const ROOM = 3; // times a term's own weight (1 where that is 0) is where its slider ends

function build(view: PanelView): HTMLElement {
  const { session, shown, signal } = view;
  const about = h("span", { class: "caption" });
  const effect = h("p", { class: "help" });
  const lesson = h("p", { class: "lesson", role: "status" });
  const list = h("div", { class: "terms" });
  const sum = h("div", { class: "sum" });
  const reset = button("reset-rewards", { title: "Reset rewards: restore the drill's default weights" }, () => {
    put({});
    rebuild();
  });
  const foot = h("div", { class: "cluster" }, reset, about);
  const panel = h("section", { class: "rewards body", "aria-label": "Rewards" }, buildOwnReward(view), effect, lesson, list, sum, foot);

  const spec = () => session.model.get("drill")?.spec;
  const value = (key: string) => session.drafts.values[key] ?? session.model.get("config")?.values[key] ?? "";
  let trial: Weights | null = null; // while a slider is dragged
  const weights = () => trial ?? readWeights(String(value("reward_weights")));
  const put = (next: Weights) => {
    trial = null;
    session.drafts.set("reward_weights", writeWeights(spec()?.terms ?? [], next));
    follow();
  };

  const tryOut = (term: Term, weight: number) => {
    trial = { ...weights(), [term.name]: weight };
    follow();
  };

  let rows: Row[] = [];
  let total: Bars | null = null;
  const rebuild = () => {
    const terms = spec()?.terms ?? [];
    rows = terms.map((term) => buildRow(term, tryOut, (weight) => put({ ...weights(), [term.name]: weight })));
    total = new Bars();
    list.replaceChildren(...rows.map(({ element }) => element));
    sum.replaceChildren(h("span", { class: "entry-name" }, "Total"), total.element);
    sum.hidden = terms.length < 2;
    follow();
  };
  const follow = () => {
    const drill = spec();
    if (!drill || !shown.now) return;
    const { terms } = drill;
    if (terms.length !== rows.length) return; // another drill: rebuild() follows, and games of these terms
    const now = weights();
    const changed = terms.filter((term) => weightOf(term, now) !== term.weight).length;
    setText(about, changedOf(changed, terms.length));
    reset.disabled = changed === 0;
    setText(effect, `${effectOf(session.scores.length, drill.sides)} New weights take effect ${whenOf(session)}.`);
    const groups = groupsOf(drill, session.scores, Number(value("gamma")) || 1);
    setText(lesson, insight(terms, groups, now, signed));
    lesson.hidden = !lesson.textContent;
    const told = groups.slice(0, groups[0]?.name === "won" ? 2 : 1);
    const pairs = terms.map((term, k) => told.map((group) => ({ group, before: term.weight * group.earned[k]!, now: weightOf(term, now) * group.earned[k]! })));
    const sums = groups.map((group) => ({ group, before: totalOf(terms, group, {}), now: totalOf(terms, group, now) }));
    const scale = Math.max(1e-6, ...[...pairs.flat(), ...sums].flatMap((pair) => [Math.abs(pair.before), Math.abs(pair.now)]));
    rows.forEach((row, k) => row.show(weightOf(terms[k]!, now), pairs[k]!, scale));
    total?.show(sums, scale);
  };

  shown.follow(follow);
  session.events.on("drill", rebuild, signal);
  for (const name of ["config", "status", "scores"] as const) session.events.on(name, follow, signal);
  rebuild();
  return panel;
}

function changedOf(changed: number, terms: number): string {
  return changed ? `${changed} of ${terms} changed` : `${terms} term${terms === 1 ? "" : "s"}`;
}

function whenOf({ status, drafts }: PanelView["session"]): string {
  const soon = ["starting", "training"].includes(status) && !("reward_weights" in drafts.values);
  return soon ? "at the next update" : "when you next press Train";
}

function effectOf(games: number, sides: number): string {
  if (games === 0) return "Let the match run. After the first game, this panel shows what each term pays.";
  const who = sides === 2 ? " for winners and losers" : "";
  return games === 1 ? `Rewards of the last game${who} with these weights.` : `Mean rewards of the last ${games} games${who} with these weights.`;
}

interface Row {
  element: HTMLElement;
  show(weight: number, pairs: Pair[], scale: number): void;
}
interface Pair {
  group: Group;
  before: number; // under the drill's own weights
  now: number;
}

function buildRow(term: Term, tried: (term: Term, weight: number) => void, chosen: (weight: number) => void): Row {
  const name = spoken(term.name);
  const room = ROOM * (Math.abs(term.weight) || 1);
  const slider = h("input", {
    type: "range",
    min: term.weight < 0 ? -room : 0,
    max: room,
    step: room / 60,
    ...control([`weight-${term.name}-slider`, `${name}, slider`]),
    title: `Weight of ${name}`,
  });
  const number = h("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    ...control([`weight-${term.name}`, `Weight of ${name}`]),
    title: `Weight of ${name} (default ${term.weight})`,
  });
  const problem = h("span", { class: "problem", role: "alert" });
  const bars = new Bars();
  const element = h(
    "div",
    { class: "term", role: "group", "aria-label": name },
    h("div", { class: "what" }, h("span", { class: "entry-name" }, name), h("span", { class: "kind", title: KINDS[term.kind] }, term.kind)),
    h("div", { class: "weight" }, slider, number),
    term.help ? h("p", { class: "help" }, term.help) : null,
    problem,
    bars.element,
  );
  const tell = (text: string) => {
    setText(problem, text);
    setAttribute(number, "aria-invalid", text ? "true" : null);
  };
  slider.addEventListener("input", () => tried(term, Number(Number(slider.value).toPrecision(3))));
  slider.addEventListener("change", () => chosen(Number(Number(slider.value).toPrecision(3))));
  number.addEventListener("change", () => {
    const weight = Number(number.value.trim() || Number.NaN);
    const good = Math.abs(weight) <= MOST;
    tell(good ? "" : `Enter a number from −${MOST} to ${MOST}.`);
    if (good) chosen(weight);
  });
  let before = term.weight;
  const show = (weight: number, pairs: Pair[], scale: number) => {
    if (weight !== before) tell(""); // the slider, or Python, has set another one
    before = weight;
    const text = String(Number(weight.toPrecision(6)));
    slider.min = String(Math.min(Number(slider.min), weight));
    slider.max = String(Math.max(Number(slider.max), weight));
    if (!focused(slider)) slider.value = text;
    if (!focused(number) && !problem.textContent) number.value = text;
    element.toggleAttribute("data-changed", weight !== term.weight);
    bars.show(pairs, scale);
  };
  return { element, show };
}

/** What each group earned: a bar from the middle, the number, and the number under the drill's own weights where it differs. */
class Bars {
  readonly element = h("div", { class: "bars" });
  private rows: { name: string; old: HTMLElement; fill: HTMLElement; number: HTMLElement; was: HTMLElement }[] = [];

  show(pairs: Pair[], scale: number): void {
    if (pairs.map(({ group }) => group.name).join() !== this.rows.map(({ name }) => name).join()) this.rebuild(pairs);
    pairs.forEach(({ before, now }, index) => {
      const { old, fill, number, was } = this.rows[index]!;
      setBalance(fill, now / scale);
      stretch(old, before / scale);
      setText(number, reward(now));
      const differs = reward(before) !== reward(now);
      old.hidden = !differs;
      setText(was, differs ? `was ${reward(before)}` : "");
    });
  }

  private rebuild(pairs: Pair[]): void {
    this.rows = pairs.map(({ group: { name } }) => ({
      name,
      old: h("span", { class: "old" }),
      fill: h("span", { class: "fill" }),
      number: h("span", { class: "number" }),
      was: h("span", { class: "was", title: "With the drill's default weights" }),
    }));
    this.element.replaceChildren(
      ...this.rows.map(({ name, old, fill, number, was }) => {
        const [who, help] = FATES[name as Group["name"]];
        return h("div", { class: "bar", title: help }, h("span", { class: "who" }, who), h("span", { class: "track middle" }, fill, old), number, was);
      }),
    );
  }
}

function stretch(bar: HTMLElement, share: number): void {
  bar.style.left = `${50 + 50 * Math.min(share, 0)}%`;
  bar.style.width = `${50 * Math.abs(share)}%`;
}

/** Two decimals; three digits where that would be too many. */
function reward(value: number): string {
  return Math.abs(value) < 100 ? signed(value) : compact(value).replace("-", "−");
}
