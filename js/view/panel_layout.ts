/** Places the panels of a view: the trait `controls` names them. A panel is built when it is first needed, and kept. */
import type { PanelName } from "../contract/protocol";
import { PANEL_NAMES, PANELS } from "../panels";
import type { Area } from "../panels/panel";
import type { View } from "./view";

/** Fills the columns and keeps them true; a column without a panel or anything else is hidden. */
export function placePanels(view: View, columns: Record<Area, HTMLElement>): void {
  const { session, signal } = view;
  const built = new Map<PanelName, HTMLElement>();

  const place = (name: PanelName) => {
    const { area, build } = PANELS[name];
    const element = built.get(name) ?? build(view);
    built.set(name, element);
    const later = PANEL_NAMES.slice(PANEL_NAMES.indexOf(name) + 1).map((other) => built.get(other));
    columns[area].insertBefore(element, later.find((other) => other?.parentElement === columns[area]) ?? null);
  };
  const follow = () => {
    const named = session.model.get("controls") ?? PANEL_NAMES;
    const wanted: readonly PanelName[] = named.includes("training") ? [...named, "seat"] : named; // a server's rules stand wherever one trains
    for (const name of PANEL_NAMES) {
      const element = built.get(name);
      if (!wanted.includes(name) || PANELS[name].applies?.(session) === false) {
        if (element instanceof HTMLDetailsElement) element.open = false; // what it asked for while open, it asks for no more
        element?.remove();
      } else if (!element?.isConnected) place(name);
    }
    for (const column of Object.values(columns)) column.hidden = column.childElementCount === 0;
  };
  session.events.on("controls", follow, signal);
  session.events.on("config", follow, signal);
  follow();
}
