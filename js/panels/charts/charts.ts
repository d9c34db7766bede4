/** The charts panel: live learning curves, their horizontal axis, and export as CSV or PNG. */
import { button, download, h, select, setAttribute } from "../../ui/dom";
import type { Panel, PanelSession, PanelView } from "../panel";
import { csvOf, pngOf } from "./chart_export";
import { curvesOf } from "./curves";
import { Figure } from "./figure";
import { Redraw } from "./redraw";

const AXES = [
  ["agent_steps", "agent steps"],
  ["seconds", "seconds"],
] as const;

export const charts: Panel = { area: "learn", build };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const cursor = `dshq-${session.id}-${serial++}`;
  const algorithm = session.model.get("config")?.algorithm?.name;
  const figures = curvesOf(session.model.get("drill")?.spec, algorithm).map((curve) => new Figure(curve, cursor));
  const [first, ...others] = figures.map((figure) => figure.element);
  const axis = select({ class: "quiet", title: "Horizontal axis of the charts", "aria-label": "Chart axis" }, AXES);
  const log = buildLogButton(() => refresh());
  const tools = h("span", { class: "tools", role: "group", "aria-label": "Chart tools" }, log, axis, ...buildExports(session, figures));
  const empty = h("p", { class: "sentence" }, "The curves appear after the first update.");
  const lead = h("div", { class: "lead" }, h("div", { class: "bar" }, h("h3", { class: "heading" }, "Learning curves"), tools), empty, first);
  const grid = h("div", { class: "curves" }, ...others);

  const draw = (figure: Figure) => figure.draw(session.history.rows, axis.value, log.getAttribute("aria-pressed") === "true");
  const redraw = new Redraw(figures, draw, [lead, grid], signal);
  const appear = () => {
    for (const figure of figures) figure.appear(session.history.rows.at(-1) ?? {});
  };
  const refresh = () => {
    redraw.all();
    appear();
    empty.hidden = session.history.rows.length > 0;
    for (const part of [first!, grid, tools]) part.hidden = !empty.hidden;
  };
  const grow = () => {
    if (!empty.hidden) return refresh();
    appear();
    redraw.mark();
  };

  const size = new ResizeObserver(refresh);
  for (const part of [lead, grid]) size.observe(part);
  session.events.on("history", grow, signal);
  axis.addEventListener("change", refresh);
  document.addEventListener("visibilitychange", refresh, { signal });
  view.themed(refresh);
  const end = () => {
    size.disconnect();
    for (const figure of figures) figure.dispose();
  };
  signal.addEventListener("abort", end, { once: true });
  refresh();
  return h("section", { class: "charts", "aria-label": "Learning curves" }, lead, grid);
}
let serial = 0;

function buildLogButton(changed: () => void): HTMLButtonElement {
  const title = "Log scale: makes small changes of losses and speed visible beside large ones";
  const log = button("Log scale", { text: "Log scale", class: "button quiet toggle", title }, () => {
    setAttribute(log, "aria-pressed", String(log.getAttribute("aria-pressed") !== "true"));
    changed();
  });
  setAttribute(log, "aria-pressed", "false");
  return log;
}

/** Every metric as CSV, the curves as PNG. */
function buildExports(session: PanelSession, figures: readonly Figure[]): HTMLButtonElement[] {
  const fileName = () => `${session.model.get("drill")?.spec.name ?? "training"}-${session.history.rows.at(-1)?.agent_steps ?? 0}-steps`;
  const csv = button("Export CSV", { text: "Export CSV", class: "button quiet", title: "Export CSV: all metrics of this run, one row per report" }, () =>
    download(`${fileName()}.csv`, new Blob([csvOf(session.history.rows)], { type: "text/csv" })),
  );
  const png = button("Export PNG", { text: "Export PNG", class: "button quiet", title: "Export PNG: the charts as shown" }, () => {
    const { backgroundColor, color, fontFamily } = getComputedStyle(png.closest(".dshq-widget")!);
    const drawn = figures.flatMap((figure) => figure.drawn() ?? []);
    pngOf(drawn, { background: backgroundColor, text: color, font: fontFamily }).then(
      (blob) => download(`${fileName()}.png`, blob),
      (error: Error) => session.events.emit("notice", error.message),
    );
  });
  return [csv, png];
}
