/** The learning pace: a slider from slow, where each update can be watched, to full speed. */

import type { ConfigValue, DrillSpec, MetricsRow } from "../contract/protocol";
import { control, focused, h, setText } from "../ui/dom";
import { compact } from "../ui/format";
import type { Panel, PanelView } from "./panel";

/** Agent steps per second. */
export const FULL = 0; // as fast as it goes
export const PACES: readonly number[] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, FULL];

export const pace: Panel = { parts: { lab: build } };

function build({ session, signal }: PanelView): HTMLElement {
  const dial = h("input", {
    type: "range",
    min: 0,
    max: PACES.length - 1,
    step: 1,
    ...control("learning-pace"),
    title: "Learning pace: maximum number of agent steps per second. Takes effect immediately.",
  });
  const value = h("output", { class: "number" });
  const sentence = h("p", { class: "help" });
  const stops = PACES.map((stop, at) => h("span", { style: `--at: ${at / (PACES.length - 1)}` }, stop === FULL ? "Full" : compact(stop)));

  const chosen = () => Number(session.drafts.values.pace ?? session.model.get("config")?.values.pace ?? FULL);
  const follow = () => {
    const now = chosen();
    const name = now === FULL ? "Full speed" : `${compact(now)} steps / s`;
    const meaning = updatesAt(now, session.history.rows.at(-1), session.model.get("config")?.values ?? {}, session.model.get("drill")?.spec);
    if (!focused(dial) || PACES[Number(dial.value)] !== now) dial.value = String(nearestStop(now));
    dial.setAttribute("aria-valuetext", `${name}. ${meaning}`);
    setText(value, name);
    setText(sentence, meaning);
  };
  dial.addEventListener("input", () => session.drafts.set("pace", PACES[Number(dial.value)]!));
  session.events.on("config", follow, signal);
  session.events.on("history", follow, signal);
  follow();

  return h(
    "section",
    { class: "pace", "aria-label": "Learning pace" },
    h("div", { class: "bar" }, h("h3", { class: "heading" }, "Learning pace"), value),
    dial,
    h("div", { class: "stops", "aria-hidden": "true" }, ...stops),
    sentence,
  );
}

/** The place among PACES that is nearest, on a log scale. */
export function nearestStop(pace: number): number {
  if (pace <= 0) return PACES.length - 1;
  const away = (stop = FULL) => (stop === FULL ? Number.POSITIVE_INFINITY : Math.abs(Math.log(stop / pace)));
  return PACES.reduce((best, stop, at) => (away(stop) < away(PACES[best]) ? at : best), 0);
}

/** How often an update comes at that pace, in a sentence. */
export function updatesAt(pace: number, row: MetricsRow | undefined, values: Record<string, ConfigValue>, spec: DrillSpec | undefined): string {
  if (pace === FULL) return "As fast as possible. Lower the pace to watch it learn.";
  const seconds = stepsPerUpdate(row, values, spec) / pace;
  if (!Number.isFinite(seconds) || seconds <= 0) return "Updates come less often, so you can watch each one.";
  if (seconds < 0.95) return `At most about ${compact(Math.round(1 / seconds))} updates per second.`;
  if (seconds < 100) return seconds < 1.5 ? "At most about one update per second." : `At most about one update every ${Math.round(seconds)} seconds.`;
  return `At most about one update every ${Math.round(seconds / 60)} minutes.`;
}

/** As measured in this run, else what the settings come to: every decision of every learning side of a rollout. */
function stepsPerUpdate(row: MetricsRow | undefined, values: Record<string, ConfigValue>, spec: DrillSpec | undefined): number {
  if (row?.agent_steps && row.updates) return row.agent_steps / row.updates;
  const self = Number(/\bself=([\d.e+-]+)/.exec(String(values.opponents))?.[1] ?? 0);
  const learning = spec?.sides === 1 ? 1 : 1 + self;
  return Number(values.num_envs) * Number(values.rollout_length) * learning;
}
