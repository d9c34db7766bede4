/** The curves that the run's algorithm declares, for a panel of its own. */
import { h } from "../../ui/dom";
import type { PanelView } from "../panel";
import { declared } from "./curves";
import { Figure } from "./figure";
import { Redraw } from "./redraw";

export function buildOwnCurves(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const { name, curves: given = [] } = session.model.get("config")?.algorithm ?? {};
  const curves = given.map(declared);
  const figures = curves.map((curve) => new Figure(curve, `dshq-${session.id}-${name}`, false));
  const empty = h("p", { class: "sentence" }, "The charts appear after the first training step.");
  const grid = h("div", { class: "curves" }, ...figures.map(({ element }) => element));
  const redraw = new Redraw(figures, (figure) => figure.draw(session.history.rows, "agent_steps", false), [grid], signal);
  const refresh = () => {
    const row = session.history.rows.at(-1) ?? {};
    empty.hidden = curves.length === 0 || curves.some(({ series }) => row[series[0]!.key] !== undefined);
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
