/**
 * The ghost: a chip that lets an earlier version play orange in AI vs AI against the current one, and in the strip a slider over the
 * versions that this page has received, with what the league knows of such a pair. The match is not restarted.
 */

import type { Panel, PanelSession, PanelView } from "../../panels/panel";
import { button, control, h, setAttribute, setText } from "../../ui/dom";
import { percent } from "../../ui/format";
import { scoreAgainst } from "./league_score";
import { GhostLink } from "./link";

export const panel: Panel = {
  applies: ({ elsewhere, pictures, model }) => !elsewhere && !pictures && model.get("drill")?.spec.sides !== 1,
  parts: { chips: buildChip, strip: buildDial },
};

/** Earlier than the one that plays, latest first: what the slider's stops stand for; its first stop is off. */
function stops(session: PanelSession): number[] {
  const { versions } = session.link(GhostLink).past;
  return versions.filter((version) => version < session.state.version).reverse();
}

/** There as soon as there is an earlier version. It begins with the first one, which differs most. */
function buildChip({ session, signal }: PanelView): HTMLElement {
  const link = session.link(GhostLink);
  const title = "Ghost: an earlier version plays orange against the current one";
  const chip = button("ghost", { class: "chip", title }, () => link.goBack(link.back === 0 ? Infinity : 0));
  chip.setAttribute("role", "switch");
  const follow = () => {
    setAttribute(chip, "aria-checked", String(link.back !== 0));
    setAttribute(chip, "hidden", (stops(session).length === 0 && link.back === 0) || session.show.mode !== "ai_vs_ai");
  };
  for (const name of ["past", "show", "state"] as const) session.events.on(name, follow, signal);
  follow();
  return chip;
}

function buildDial({ session, signal }: PanelView): HTMLElement {
  const link = session.link(GhostLink);
  const slider = h("input", { type: "range", min: 0, max: 1, step: 1, value: 0, ...control("ghost-back") });
  const says = h("output", { class: "who" });
  const score = h("output", { class: "score" });
  const dial = h(
    "div",
    { class: "ghost foot-dial", role: "group", "aria-label": "Ghost" },
    h("span", { class: "caption" }, "Ghost: versions back"),
    slider,
    says,
    score,
  );

  slider.addEventListener("input", () => {
    const choices = stops(session);
    const at = Number(slider.value);
    const chosen = choices[at - 1];
    if (chosen === undefined) link.goBack(0);
    else link.goBack(at === choices.length ? Infinity : session.state.version - chosen);
  });

  let known = "";
  const follow = () => {
    const now = [session.state.version, link.back, session.show.mode, link.past.ghost, link.past.versions].join();
    if (now === known) return;
    known = now;
    const choices = stops(session);
    const { version } = session.state;
    const reached = choices.findIndex((choice) => version - choice >= link.back);
    const at = link.back === 0 ? 0 : reached < 0 ? choices.length : reached + 1;
    slider.max = String(Math.max(choices.length, 1));
    slider.value = String(at);
    const playing = link.version;
    dial.hidden = link.back === 0 || session.show.mode !== "ai_vs_ai";
    const old = playing === 0 ? "untrained" : `${version - playing} back`;
    setText(says, playing >= 0 ? `Blue is v${version}. Orange is v${playing}, ${old}.` : "");
    setAttribute(slider, "aria-valuetext", playing >= 0 ? `${version - playing} back, version ${playing}` : "off");
    setAttribute(dial, "data-ghost", playing >= 0 ? playing : null);
  };
  for (const name of ["past", "show", "state", "drill"] as const) session.events.on(name, follow, signal);
  follow();
  const weigh = () => {
    const found = link.version < 0 ? null : scoreAgainst(session.model.get("league") ?? [], link.version);
    score.hidden = !found;
    if (!found) return;
    const { newest, older, matches, share, low, high } = found;
    setText(score, `${newest} against ${older}: ${percent(share)} (${percent(low)} to ${percent(high)})`);
    score.title = `League: share of the points of ${newest} in ${matches} matches against ${older}, with its 95 % interval. A draw counts as half a point.`;
  };
  for (const name of ["past", "show", "league"] as const) session.events.on(name, weigh, signal);
  weigh();
  return dial;
}
