/**
 * One control per setting that the run's algorithm reads, its own first, generated from the `config` trait's schemas. The control's
 * name is the setting's key, `gate.threshold` where it is the algorithm's own; each says when a change takes effect. A change made while training is sent at once, any other goes along with Train.
 */

import type { ConfigSchemaEntry, ConfigValue } from "../../contract/protocol";
import { plainKey, runSettings } from "../../session/settings/run_settings";
import { checkSetting, namesFor } from "../../session/settings/settings_check";
import { control as controlOf, focused, foldHandle, h, select, setAttribute, setText } from "../../ui/dom";
import type { Panel, PanelView } from "../panel";
import { buildPresets } from "./presets";
import { buildStartFrom } from "./start_from";
import { buildWhoLearns, policies } from "./who_learns";

const ESSENTIALS = "essentials"; // contract/setting.py's group of what most people change
const WIDE_KINDS = ["sizes", "shares", "weights"]; // texts that may be long
const WIDE_CHOICE = 12; // letters; longer ones need the whole width
const EFFECT_HELP: Record<string, string> = {
  now: "Changes take effect immediately.",
  "next update": "Changes take effect at the next update.",
  restart: "Changes take effect when training restarts: press Stop, then Train.",
};
const EFFECT_NAMES: Record<string, string> = { now: "now", "next update": "next update", restart: "next start" };

export const hyper: Panel = { parts: { tab: build } };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const settings = () => runSettings(session.model.get("config"));
  const [groups, rest] = [h("div", { class: "groups" }), h("div", { class: "groups" })];
  const fold = h("details", { class: "fold" }, foldHandle("more-settings"), rest);
  const count = h("span", { class: "caption" });
  const controls = new Map<string, Control>();

  const change = (key: string, value: ConfigValue | null, problem: string) => {
    tell(controls.get(key)!, problem);
    if (value !== null) session.drafts.set(key, value);
  };

  const rebuild = () => {
    const { algorithm } = session.model.get("config") ?? {};
    const { schema } = settings();
    controls.clear();
    for (const [key, entry] of Object.entries(schema)) {
      const names = () => [...namesFor(entry.kind, session.model.get("drill")?.spec), ...policies(session)];
      controls.set(key, buildControl(key, entry, names, change));
    }
    const [first, others] = grouped(schema, controls);
    groups.replaceChildren(...first.map(buildGroup));
    rest.replaceChildren(...others.map(buildGroup));
    fold.hidden = others.length === 0;
    setText(count, [algorithm?.name, `${controls.size} settings`].filter(Boolean).join(" · "));
    follow();
  };

  const follow = () => {
    const { values } = settings();
    const drafts = session.drafts.values;
    for (const [key, control] of controls) {
      const drafted = key in drafts;
      const value = (drafted ? drafts[key] : values[key]) ?? "";
      control.row.toggleAttribute("data-drafted", drafted);
      if (control.valid !== undefined && String(value) !== control.valid) tell(control, ""); // a preset, or Python, has set another one
      control.valid = String(value);
      if (focused(control.input) || control.problem.textContent) continue;
      control.write(value);
    }
  };

  let known = "";
  const configChanged = () => {
    const keys = Object.keys(settings().schema).join();
    if (keys === known) follow();
    else {
      known = keys;
      rebuild();
    }
  };
  session.events.on("config", configChanged, signal);
  configChanged();

  return h(
    "section",
    { class: "hyper body", "aria-label": "Hyper-parameters" },
    buildPresets(view),
    h("div", { class: "run-choices" }, buildStartFrom(view), buildWhoLearns(view)),
    h("p", { class: "bar" }, h("span", { class: "heading" }, "Hyper-parameters"), count),
    groups,
    fold,
  );
}

type Group = [name: string, rows: HTMLElement[]];

/** The rows by group: the algorithm's own and the essentials, which come first, and the others. */
function grouped(schema: Record<string, ConfigSchemaEntry>, controls: ReadonlyMap<string, Control>): [first: Group[], others: Group[]] {
  const byGroup = new Map<string, HTMLElement[]>();
  const leading = new Set([ESSENTIALS]);
  for (const [key, { group = "settings" }] of Object.entries(schema)) {
    if (plainKey(key) !== key) leading.add(group);
    byGroup.set(group, [...(byGroup.get(group) ?? []), controls.get(key)!.row]);
  }
  const groups = [...byGroup];
  return [groups.filter(([name]) => leading.has(name)), groups.filter(([name]) => !leading.has(name))];
}

function buildGroup([name, rows]: Group): HTMLElement {
  return h("div", { class: "group", role: "group", "aria-label": name }, h("h3", {}, name), ...rows);
}

interface Control {
  row: HTMLElement;
  input: HTMLInputElement | HTMLSelectElement;
  problem: HTMLElement;
  valid?: string; // the value that it had last, whatever was typed
  write(value: ConfigValue): void;
}

/** What is wrong with what it holds; "": nothing. */
function tell({ input, problem }: Control, text: string): void {
  setText(problem, text);
  setAttribute(input, "aria-invalid", text ? "true" : null);
}

/** `names`: what a table may name. */
function buildControl(
  key: string,
  entry: ConfigSchemaEntry,
  names: () => readonly string[],
  change: (key: string, value: ConfigValue | null, problem: string) => void,
): Control {
  const input = buildInput(entry);
  const tooltip = [entry.label, entry.help, entry.unit && `Unit: ${entry.unit}.`, range(entry) && `Enter ${wanted(entry)}.`, EFFECT_HELP[entry.effect]];
  input.title = tooltip.filter(Boolean).join("\n");
  for (const [name, value] of Object.entries(controlOf([key, key]))) input.setAttribute(name, value);
  const problem = h("span", { class: "problem", role: "alert" });
  const plain = entry.label.toLowerCase().replace(/\W/g, "") === key.replace(/\W|_/g, "") ? entry.unit : entry.label; // in plain words, where the key has others
  const effect = h("span", { class: "effect" }, [plain, EFFECT_NAMES[entry.effect]].filter(Boolean).join(" · "));
  const row = h(
    "label",
    { class: isWide(entry) ? "setting wide" : "setting", title: input.title },
    h("span", { class: "key" }, ...breakable(plainKey(key))),
    effect,
    input,
    problem,
  );
  input.addEventListener("change", () => {
    const { value, problem: text } = parse(entry, input, key, names());
    change(key, value, text);
  });
  const write = (value: ConfigValue) => {
    if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = Boolean(value);
    else input.value = written(value);
  };
  return { row, input, problem, write };
}

function isWide({ kind, choices }: ConfigSchemaEntry): boolean {
  return WIDE_KINDS.includes(kind) || (choices ?? []).some((choice) => String(choice).length > WIDE_CHOICE);
}

/** A key that may be broken after its underscores. */
function breakable(key: string): (string | HTMLElement)[] {
  return key.split(/(?<=_)/).flatMap((part, place) => (place ? [h("wbr"), part] : [part]));
}

function buildInput(entry: ConfigSchemaEntry): HTMLInputElement | HTMLSelectElement {
  if (entry.choices?.length)
    return select(
      {},
      entry.choices.map((choice) => [String(choice), String(choice)]),
    );
  if (entry.kind === "bool") return h("input", { type: "checkbox" });
  // a text field even for numbers: browsers show a number such as 3e-4 in their own way, and 1,5 in others
  const numeric = entry.kind === "int" || entry.kind === "float";
  return h("input", { type: "text", inputmode: numeric ? "decimal" : null, spellcheck: "false", autocomplete: "off" });
}

/** What a control holds, or one sentence about what is wrong with it; tables and sizes need their key and names. */
export function parse(
  entry: ConfigSchemaEntry,
  input: HTMLInputElement | HTMLSelectElement,
  key = "",
  names: readonly string[] = [],
): { value: ConfigValue | null; problem: string } {
  if (input instanceof HTMLInputElement && input.type === "checkbox") return { value: input.checked, problem: "" };
  const text = input.value.trim();
  if (WIDE_KINDS.includes(entry.kind)) {
    try {
      return { value: checkSetting(key, text, entry, names), problem: "" };
    } catch (error) {
      return { value: null, problem: (error as Error).message };
    }
  }
  if (entry.kind !== "int" && entry.kind !== "float") return { value: text, problem: "" };
  const value = Number(text);
  const whole = entry.kind === "int";
  const outside = (entry.min != null && value < entry.min) || (entry.max != null && value > entry.max);
  if (text === "" || !Number.isFinite(value) || outside || (whole && !Number.isInteger(value))) {
    return { value: null, problem: `Enter ${wanted(entry)}.` };
  }
  return { value, problem: "" };
}

/** What may be entered, such as "a whole number from 1 to 8". */
function wanted(entry: ConfigSchemaEntry): string {
  return `${entry.kind === "int" ? "a whole number" : "a number"} ${range(entry)}`.trim();
}

function range({ min, max }: ConfigSchemaEntry): string {
  if (min != null && max != null) return `from ${min} to ${max}`;
  if (min != null) return `of at least ${min}`;
  return max != null ? `of at most ${max}` : "";
}

/** A value as people type it: 64, 64 or self=0.75, chaser=0.125. */
export function written(value: ConfigValue): string {
  return String(value).split(",").join(", ");
}
