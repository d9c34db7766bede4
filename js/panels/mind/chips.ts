/** Chips on the pitch: the value map and what the player sees, while a trained network plays, and "Why that move?", once the match is paused. */
import { sightsOf } from "../../match/sights";
import { button, h, setAttribute } from "../../ui/dom";
import type { PanelView } from "../panel";

export function buildChips({ session, open, signal }: PanelView): HTMLElement {
  const map = button("value-map", { class: "chip", title: "Value map: colours show how good each ball position is for blue" }, () =>
    session.thoughts.setMap(!session.thoughts.map),
  );
  const sight = button("sight", { class: "chip", title: "What it sees: lines from the player to the things in its observations, by their names" }, () =>
    session.thoughts.setSight(!session.thoughts.sight),
  );
  const why = button("why", { class: "chip", title: "Why that move? Tries the likeliest moves on copies of the match" }, () => {
    open("mind");
    session.events.emit("why", undefined);
  });

  for (const chip of [map, sight]) chip.setAttribute("role", "switch");
  let places = false; // the drill's observations have places of things
  const follow = () => {
    const { version, playing } = session.state;
    const movable = (session.model.get("drill")?.spec.drag.length ?? 0) > 0; // something that could be somewhere else
    setAttribute(map, "aria-checked", String(session.thoughts.map));
    map.hidden = !movable || (version === 0 && !session.thoughts.map);
    setAttribute(sight, "aria-checked", String(session.thoughts.sight));
    sight.hidden = !places || (version === 0 && !session.thoughts.sight);
    why.hidden = playing || version === 0;
  };
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    places = Boolean(spec && sightsOf(spec).length && spec.drag.some(({ kind }) => kind === "player"));
    follow();
  };
  for (const name of ["state", "mind"] as const) session.events.on(name, follow, signal);
  session.events.on("drill", rebuild, signal);
  rebuild();
  return h("span", { class: "chip-pair" }, map, sight, why);
}
