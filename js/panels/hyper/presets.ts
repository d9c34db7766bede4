/** Presets of the hyper-parameters, and a button that copies the current settings as Python. */

import type { ConfigValue } from "../../contract/protocol";
import { button, control, field, h, select, setText } from "../../ui/dom";
import type { PanelSession, PanelView } from "../panel";
import { pythonOf } from "./python_code";

const CUSTOM = ""; // settings that are no preset's
const CUSTOM_HELP = "Your own settings.";
const COPIED_MS = 2000;

export function buildPresets({ session, signal }: PanelView): HTMLElement {
  const presets = () => session.model.get("config")?.presets ?? {};
  const chosen = select({}, [[CUSTOM, "Custom"], ...Object.entries(presets()).map(([name, { label }]) => [name, label] as const)]);
  const help = h("p", { class: "help" });

  chosen.addEventListener("change", () => {
    for (const [key, value] of Object.entries(presets()[chosen.value]?.values ?? {})) session.drafts.set(key, value);
  });
  const follow = () => {
    const now: Record<string, ConfigValue> = { ...session.model.get("config")?.values, ...session.drafts.values };
    const matches = ({ values }: { values: Record<string, ConfigValue> }) => Object.entries(values).every(([key, value]) => String(now[key]) === String(value));
    const [name = CUSTOM, preset] = Object.entries(presets()).find(([, preset]) => matches(preset)) ?? [];
    chosen.value = name;
    chosen.options[0]!.hidden = name !== CUSTOM;
    chosen.title = "Preset: sets the device, the number of processes and parallel games, and the pace.";
    setText(help, preset?.help ?? CUSTOM_HELP);
  };
  session.events.on("config", follow, signal);
  follow();

  const { copy, shown } = buildCopy(session);
  return h("div", { class: "presets" }, h("div", { class: "cluster" }, field("preset", chosen), copy), help, shown);
}

/** A button, and the code as selected text where the page may not write to the clipboard, as on plain http. */
function buildCopy(session: PanelSession): { copy: HTMLElement; shown: HTMLElement } {
  const code = h("textarea", { readonly: true, rows: 6, spellcheck: "false", ...control("python-code") });
  const shown = h("label", { class: "code" }, h("span", { class: "caption" }, "This page may not write to the clipboard. Copy the code from here."), code);
  shown.hidden = true;
  const copy = button("copy-python", { icon: "copy", title: "Copy as Python: code that creates a widget with these settings" }, async () => {
    const config = session.model.get("config");
    const { python: drill = "drill", spec } = session.model.get("drill") ?? {};
    const { show, model } = session;
    const text = pythonOf({
      drill,
      config,
      drafts: session.drafts.values,
      show,
      controls: model.get("controls"),
      speed: spec?.show_speed,
      algorithm: spec?.algorithm,
    });
    const written = await write(text);
    shown.hidden = written;
    if (written) {
      setText(label, "Copied");
      setTimeout(() => setText(label, "Copy as Python"), COPIED_MS);
    } else {
      code.value = text;
      code.rows = text.trimEnd().split("\n").length;
      code.focus();
      code.select();
    }
  });
  const label = copy.querySelector(".text")!;
  label.setAttribute("aria-live", "polite");
  return { copy, shown };
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // there is no clipboard without https, and a person may have refused it
  }
}
