/** Help for playing the match: a row of keys, and a hint on the pitch. */

import { keyHelp } from "../input/key_names";
import { h, setText } from "../ui/dom";
import type { View } from "./view";

/** What the keys do, shown while a person plays. */
export function buildKeyHelp({ session, signal }: View, pitch: HTMLElement): HTMLElement {
  const keys = h("div", { class: "keys" });
  const invitation = h("p", { class: "invitation" }, "Click the pitch to play. Press Escape to stop.");
  const help = h("div", { class: "key-help" }, invitation, keys);

  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    const cells = spec?.cells ? ` The cell that you click is the ${spec.cells.choice}.` : "";
    setText(invitation, `Click the pitch to play.${cells} Press Escape to stop.`);
    keys.replaceChildren(
      ...(spec ? keyHelp(spec) : []).map(({ choice, options }) =>
        h(
          "span",
          { class: "choice" },
          h("span", { class: "verb" }, choice),
          ...options.map(({ option, caps }) => h("span", { class: "key" }, ...caps.map((cap) => h("kbd", {}, cap)), option === "yes" ? null : option)),
        ),
      ),
    );
  };
  const follow = () => {
    help.hidden = session.show.mode !== "human_vs_ai";
  };
  const focus = (has: boolean) => {
    invitation.hidden = has;
  };
  pitch.addEventListener("focusin", () => focus(true), { signal });
  pitch.addEventListener("focusout", () => focus(false), { signal });
  session.events.on("drill", rebuild, signal);
  session.events.on("show", follow, signal);
  rebuild();
  follow();
  return help;
}

/** Shift, and the keys it brings: seen in the other modes while the match has the focus, or the pointer. */
export function buildHint({ session, signal }: View, pitch: HTMLElement): HTMLElement {
  const hint = h("p", { class: "hint" });
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    hint.hidden = !spec || session.show.mode === "human_vs_ai";
    if (!spec || hint.hidden) return;
    const words = ({ choice, options }: ReturnType<typeof keyHelp>[number]) =>
      h("span", { class: "choice" }, h("span", { class: "verb" }, choice), ...options.map(({ caps }) => h("kbd", {}, caps[0]!)));
    const invitation = [
      h("span", { class: "choice" }, "Hold", h("kbd", {}, "Shift"), "to take over"),
      ...(spec.drag.length ? [h("span", { class: "choice" }, "Drag to move things")] : []),
    ];
    hint.classList.toggle("taken", session.taken);
    hint.replaceChildren(...(session.taken ? keyHelp(spec).map(words) : invitation));
  };
  const focus = () => hint.classList.toggle("focused", pitch.contains(document.activeElement));
  for (const type of ["focusin", "focusout"] as const) pitch.addEventListener(type, () => queueMicrotask(focus), { signal });
  session.events.on("drill", rebuild, signal);
  session.events.on("show", rebuild, signal);
  rebuild();
  return hint;
}
