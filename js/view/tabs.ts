/** The tabs beside the match: a list of names, of which one is selected, and what stands under it. Arrow keys, Home and End move. */
import type { TabName } from "../contract/protocol";
import { capital } from "../contract/sentences";
import { TABS } from "../contract/tables";
import { h, setAttribute, setText } from "../ui/dom";

export const TAB_NAMES = Object.keys(TABS) as readonly TabName[];
const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

interface Tab {
  handle: HTMLElement;
  panel: HTMLElement;
}

export class Tabs {
  readonly element: HTMLElement;
  selected: TabName | null = null;
  private readonly tabs: Readonly<Record<TabName, Tab>>;
  private readonly list = h("div", { class: "tab-list", role: "tablist", "aria-label": "Panels" });
  private offered: readonly TabName[] = [];

  /** `changed`: another tab is selected; `id` is the view's own. */
  constructor(
    id: string,
    private readonly changed: () => void,
  ) {
    this.tabs = Object.fromEntries(TAB_NAMES.map((name) => [name, this.build(name, `${id}-${name}`)])) as Record<TabName, Tab>;
    const all = Object.values(this.tabs);
    this.list.append(...all.map(({ handle }) => handle));
    this.list.addEventListener("keydown", (event) => this.move(event));
    this.element = h("section", { class: "tabs", "aria-label": "Panels" }, this.list, ...all.map(({ panel }) => panel));
  }

  /** Calls a tab something else. */
  rename(name: TabName, title: string): void {
    setText(this.tabs[name].handle, title);
  }

  /** What stands under a tab's name. */
  panel(name: TabName): HTMLElement {
    return this.tabs[name].panel;
  }

  /** Shows these tabs. Where the selected one is not among them, the first one is selected; says nothing of that. */
  offer(names: ReadonlySet<TabName>): void {
    this.offered = TAB_NAMES.filter((name) => names.has(name));
    if (!this.selected || !names.has(this.selected)) this.selected = this.offered[0] ?? null;
    this.element.hidden = this.offered.length === 0;
    this.follow();
  }

  open(name: TabName): void {
    if (name === this.selected || !this.offered.includes(name)) return;
    this.selected = name;
    this.follow();
    this.changed();
  }

  private build(name: TabName, id: string): Tab {
    const handle = h(
      "button",
      { type: "button", class: "tab", role: "tab", "data-control": `tab-${name}`, id: `${id}-tab`, "aria-controls": id },
      capital(name),
    );
    handle.addEventListener("click", () => this.open(name));
    return { handle, panel: h("div", { class: "tab-panel", role: "tabpanel", id, "aria-labelledby": `${id}-tab` }) };
  }

  private follow(): void {
    for (const name of TAB_NAMES) {
      const { handle, panel } = this.tabs[name];
      const selected = name === this.selected;
      handle.hidden = !this.offered.includes(name);
      panel.hidden = !selected;
      setAttribute(handle, "aria-selected", String(selected));
      handle.tabIndex = selected ? 0 : -1;
    }
  }

  private move(event: KeyboardEvent): void {
    const to = MOVES[event.key]?.(this.offered.indexOf(this.selected!), this.offered.length);
    const name = to === undefined ? undefined : this.offered[to];
    if (!name) return;
    event.preventDefault();
    this.open(name);
    this.tabs[name].handle.focus({ preventScroll: true });
  }
}
