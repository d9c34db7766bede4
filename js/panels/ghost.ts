/**
 * The ghost panel: a slider over the versions that this page has received. The selected version plays orange in AI vs AI against
 * the current version. The match is not restarted.
 */

import { ghostOf } from "../session/player_names";
import { field, h, setAttribute, setText } from "../ui/dom";
import type { Panel, PanelView } from "./panel";

export const ghost: Panel = { area: "play", applies: ({ dream }) => !dream.on, build };

function build({ session, signal }: PanelView): HTMLElement {
  const slider = h("input", { type: "range", min: 0, max: 1, step: 1, value: 0 });
  const says = h("output", { class: "who" });
  const panel = h("div", { class: "ghost", role: "group", "aria-label": "Ghost" }, field("Ghost: versions back", slider), says);
  /** Earlier than the one that plays, latest first: what the slider's stops stand for; its first stop is off. */
  const stops = () => session.past.versions.filter((version) => version < session.state.version).reverse();

  slider.addEventListener("input", () => {
    const choices = stops();
    const at = Number(slider.value);
    const chosen = choices[at - 1];
    if (chosen === undefined) session.goBack(0);
    else session.goBack(at === choices.length ? Infinity : session.state.version - chosen);
  });

  let known = "";
  const follow = () => {
    const now = [session.state.version, session.back, session.show.mode, session.past.ghost, session.past.versions].join();
    if (now === known) return;
    known = now;
    const choices = stops();
    const { version } = session.state;
    const reached = choices.findIndex((choice) => version - choice >= session.back);
    const at = session.back === 0 ? 0 : reached < 0 ? choices.length : reached + 1;
    slider.max = String(Math.max(choices.length, 1));
    slider.value = String(at);
    slider.disabled = choices.length === 0 || session.show.mode !== "ai_vs_ai";
    const playing = ghostOf(session);
    setText(says, sentence(playing, choices.length, session.show.mode === "ai_vs_ai"));
    setAttribute(slider, "aria-valuetext", playing >= 0 ? `${version - playing} back, version ${playing}` : "off");
    setAttribute(panel, "data-ghost", playing >= 0 ? playing : null);
  };
  const sentence = (playing: number, count: number, alone: boolean): string => {
    const { version } = session.state;
    if (!alone) return "Available only in the mode AI vs AI.";
    if (playing >= 0)
      return `Blue is v${version}, the current version. Orange is v${playing}, ${playing === 0 ? "untrained" : `${version - playing} versions back`}.`;
    return count > 0 ? "Off. Drag to let an earlier version play orange." : "No earlier versions yet.";
  };
  const followDrill = () => {
    panel.hidden = session.model.get("drill")?.spec.sides === 1;
    follow();
  };
  session.events.on("drill", followDrill, signal);
  for (const name of ["past", "show", "state"] as const) session.events.on(name, follow, signal);
  followDrill();
  return panel;
}
