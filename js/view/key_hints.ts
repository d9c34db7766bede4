/** Help for playing the match, in the strip below it: the keys while a person plays, else how to take over. */

import { type KeyHelp, keyHelp } from "../input/key_names";
import { modeNames } from "../panels/transport/line";
import { rivalName } from "../session/player_names";
import { button, focused, h, setText } from "../ui/dom";
import type { View } from "./view";

/** A choice and the keys for it, a cap for each of its options. */
const words = ({ choice, options }: KeyHelp) =>
  h("span", { class: "choice" }, h("span", { class: "verb" }, choice), ...options.map(({ option, caps }) => h("kbd", { title: option }, caps[0]!)));

/** What the keys do, and before a person has them, against whom: shown while a person plays. */
export function buildKeyHelp({ session, signal }: View): HTMLElement {
  const keys = h("span", { class: "keys" });
  const invitation = h("span", { class: "invitation" });
  const help = h("p", { class: "key-help" }, keys, invitation);

  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    keys.replaceChildren(...(spec ? keyHelp(spec).map(words) : []));
    follow();
  };
  const follow = () => {
    help.hidden = !session.live || session.show.mode !== "human_vs_ai";
    const { cells, sides } = session.model.get("drill")?.spec ?? {};
    const play = sides === 1 ? "Click the pitch to play" : `Click to face ${rivalName(session, session.state.version)}`;
    setText(invitation, cells ? `The cell that you click is the ${cells.choice}.` : `${play}; Escape ends it.`);
  };
  /** Who has the keys already is not invited. */
  const focus = () => {
    const canvas = help.closest(".stage")?.querySelector(".match");
    invitation.hidden = canvas != null && focused(canvas);
  };
  document.addEventListener("focusin", focus, { signal });
  document.addEventListener("focusout", () => setTimeout(focus), { signal });
  session.events.on("drill", rebuild, signal);
  for (const event of ["show", "state", "replay"] as const) session.events.on(event, follow, signal);
  rebuild();
  return help;
}

/**
 * In the other modes what to look at, until it is known or something was trained; then Shift, and the keys that it brings. Where a finger
 * points instead there are no keys (stage.css shows one of the two): You vs AI brings the touch pad.
 */
export function buildHint({ session, signal }: View): HTMLElement {
  const hint = h("p", { class: "hint" });
  let known = false;
  const seen = button("hint-seen", { class: "chip" }, () => {
    known = true;
    rebuild();
  });
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    hint.hidden = !spec || session.pictures || session.show.mode === "human_vs_ai";
    if (!spec || hint.hidden) return;
    if (spec.hint && !known && !session.taken) {
      hint.replaceChildren(h("span", {}, spec.hint, " ", seen));
      return;
    }
    const invitation = [
      h("span", { class: "choice by-keys" }, "Hold", h("kbd", {}, "Shift"), "to take over"),
      h("span", { class: "choice by-touch" }, `To play, set Mode to ${modeNames(session).human_vs_ai}`),
      ...(spec.drag.length ? [h("span", { class: "choice" }, "Drag to move things")] : []),
    ];
    hint.replaceChildren(...(session.taken ? keyHelp(spec).map(words) : invitation));
  };
  session.events.on("drill", rebuild, signal);
  session.events.on("show", rebuild, signal);
  const look = () => {
    if (known || session.history.rows.length === 0) return;
    known = true;
    rebuild();
  };
  session.events.on("history", look, signal);
  rebuild();
  look();
  return hint;
}
