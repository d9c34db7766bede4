/** Puts the expected reward of every chunk on the map, of one kind of spawn. */

import type { PanelView } from "../../../panels/panel";
import { button, field, h, select, setAttribute } from "../../../ui/dom";
import { GateLink } from "../link";
import type { SpawnKind } from "../messages";

export function buildMapChoice({ session, signal }: PanelView): HTMLElement {
  const gate = session.link(GateLink);
  const kind = select({ class: "kind" }, [
    ["energy", "Energy"],
    ["combat", "Combat"],
  ]);
  const chosen = () => kind.value as SpawnKind;
  const title = "Expected reward map: colours show what the gate expects of a spawn in each chunk, if the queen can pay for it";
  const toggle = button("gate-map", { class: "button toggle", title }, () => gate.setMap(gate.map ? "" : chosen()));
  kind.addEventListener("change", () => {
    if (gate.map) gate.setMap(chosen());
  });
  const follow = () => {
    setAttribute(toggle, "aria-pressed", String(gate.map !== ""));
    if (gate.map) kind.value = gate.map;
  };
  session.events.on("gate", follow, signal);
  follow();
  return h("div", { class: "cluster" }, toggle, field("gate-map-kind", kind));
}
