/** Places the panels of a view: the trait `controls` names them. A part of a panel is built when it is first seen, and kept. */
import type { PanelName, TabName } from "../contract/protocol";
import { TABS } from "../contract/tables";
import { PANEL_NAMES, PANELS } from "../panels";
import type { Panel, PanelView, Place, Shown } from "../panels/panel";
import type { Frame } from "./frame";
import { TAB_NAMES } from "./tabs";
import type { View } from "./view";

/** Whether a part can be seen, and who wants to know. */
class Seen implements Shown {
  now = false;
  private readonly followers: (() => void)[] = [];

  follow(changed: () => void): void {
    this.followers.push(changed);
  }

  set(now: boolean): void {
    if (now === this.now) return;
    this.now = now;
    for (const changed of this.followers) changed();
  }
}

interface Part {
  readonly name: PanelName;
  readonly panel: Panel;
  readonly place: Place;
  readonly tab: TabName | null;
  readonly build: (view: PanelView) => HTMLElement;
  readonly seen: Seen;
  element: HTMLElement | null;
}

/** Fills the frame and keeps it true; returns what is to be called when another tab is selected. */
export function placePanels(view: View, frame: Frame): () => void {
  const { session, features, signal } = view;
  const panels: Partial<Record<PanelName, Panel>> = Object.assign({}, PANELS, ...features.map((feature) => feature.panels));
  const parts = PANEL_NAMES.flatMap((name) => (panels[name] ? partsOf(name, panels[name]) : []));

  const home = ({ place, tab }: Part) => (place === "tab" ? frame.tabs.panel(tab!) : frame.places[place]);
  const put = (part: Part) => {
    part.element ??= part.build({ ...view, shown: part.seen });
    const parent = home(part);
    if (part.element.parentElement === parent) return;
    const later = parts.slice(parts.indexOf(part) + 1).find(({ element }) => element?.parentElement === parent);
    parent.insertBefore(part.element, later?.element ?? null);
  };
  const wanted = () => {
    const named = session.model.get("controls") ?? PANEL_NAMES;
    const names: readonly PanelName[] = named.includes("training") ? [...named, "seat"] : named; // a server's rules stand wherever one trains
    return new Set(parts.filter(({ name, panel }) => names.includes(name) && panel.applies?.(session) !== false));
  };
  const follow = () => {
    const now = wanted();
    for (const { tab, panel } of now) if (tab && panel.title) frame.tabs.rename(tab, panel.title(session));
    frame.tabs.offer(new Set([...now].flatMap(({ tab }) => tab ?? [])));
    for (const part of parts) {
      const seen = now.has(part) && (!part.tab || part.tab === frame.tabs.selected);
      if (!now.has(part)) part.element?.remove();
      part.seen.set(seen);
      if (seen) put(part);
    }
    frame.tidy();
  };
  for (const event of ["controls", "config", "drill", "seat"] as const) session.events.on(event, follow, signal);
  signal.addEventListener("abort", () => parts.forEach(({ seen }) => void seen.set(false)), { once: true });
  follow();
  return follow;
}

function partsOf(name: PanelName, panel: Panel): Part[] {
  const tab = TAB_NAMES.find((tab) => (TABS[tab] as readonly PanelName[]).includes(name)) ?? null;
  return (Object.entries(panel.parts) as [Place, Part["build"]][]).map(([place, build]) => ({
    ...{ name, panel, place, build },
    tab: place === "tab" ? tab : null,
    seen: new Seen(),
    element: null,
  }));
}
