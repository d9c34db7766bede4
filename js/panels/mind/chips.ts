/** Chips on the pitch: the value map, while a trained network plays, and "Why that move?", once the match is paused. */
import { button, h, setAttribute } from "../../ui/dom";
import type { PanelView } from "../panel";

export function buildChips({ session, open, signal }: PanelView): HTMLElement {
  const map = button("Value map", { text: "Value map", class: "chip", title: "Value map: colours show how good each ball position is for blue" }, () =>
    session.setMap(!session.map),
  );
  const why = button(
    "Why that move?",
    { text: "Why that move?", class: "chip", title: "Why that move? Tries the likeliest moves on copies of the match" },
    () => {
      open("mind");
      session.events.emit("why", undefined);
    },
  );

  const follow = () => {
    const { version, playing } = session.state;
    const movable = (session.model.get("drill")?.spec.drag.length ?? 0) > 0; // something that could be somewhere else
    setAttribute(map, "aria-pressed", String(session.map));
    map.hidden = !movable || (version === 0 && !session.map);
    why.hidden = playing || version === 0;
  };
  for (const name of ["state", "mind", "drill"] as const) session.events.on(name, follow, signal);
  follow();
  return h("span", { class: "chip-pair" }, map, why);
}
