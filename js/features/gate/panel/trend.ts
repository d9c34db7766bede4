/** Small charts of how the gate judges over time. */

import { declared } from "../../../panels/charts/curves";
import { Figure } from "../../../panels/charts/figure";
import { Redraw } from "../../../panels/charts/redraw";
import type { PanelView } from "../../../panels/panel";
import { h } from "../../../ui/dom";

export function buildTrend(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const curves = (session.model.get("config")?.algorithm?.curves ?? []).map(declared);
  const figures = curves.map((curve) => new Figure(curve, `dshq-${session.id}-gate`, false));
  const empty = h("p", { class: "sentence" }, "The charts appear after the first training step.");
  const grid = h("div", { class: "curves" }, ...figures.map(({ element }) => element));
  const redraw = new Redraw(figures, (figure) => figure.draw(session.history.rows, "agent_steps", false), [grid], signal);
  const refresh = () => {
    const row = session.history.rows.at(-1) ?? {};
    empty.hidden = curves.some(({ series }) => row[series[0]!.key] !== undefined);
    grid.hidden = !empty.hidden;
    for (const figure of figures) figure.appear(row);
    redraw.mark();
  };
  const all = () => {
    refresh();
    redraw.all();
  };
  const size = new ResizeObserver(all);
  size.observe(grid);
  session.events.on("history", refresh, signal);
  view.themed(all);
  const end = () => {
    size.disconnect();
    for (const figure of figures) figure.dispose();
  };
  signal.addEventListener("abort", end, { once: true });
  all();
  return h("div", { class: "trend" }, empty, grid);
}
