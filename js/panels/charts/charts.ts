/** The charts panel: the curves that say most, and in a fold the others with their horizontal axis and export as CSV or PNG. */
import { button, control, download, foldHandle, h, select, setAttribute } from "../../ui/dom";
import type { Panel, PanelSession, PanelView } from "../panel";
import { csvOf, pngOf } from "./chart_export";
import { curvesOf, leadingOf } from "./curves";
import { Figure } from "./figure";
import { Redraw } from "./redraw";

const AXES = [
  ["agent_steps", "agent steps"],
  ["seconds", "seconds"],
] as const;

const PNG = "Export PNG: the charts as shown";

export const charts: Panel = { parts: { tab: build } };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const cursor = `dshq-${session.id}-${serial++}`;
  const figures: Figure[] = [];
  const { axis, log, table, tools } = buildTools(session, figures, () => refresh());
  const [lead, grid] = [h("div", { class: "curves lead" }), h("div", { class: "curves" })];
  const more = h("details", { class: "fold" }, foldHandle("more-curves"), tools, grid);

  let terms = "";
  const buildFigures = () => {
    const spec = session.model.get("drill")?.spec;
    terms = termsOf(session);
    const curves = curvesOf(spec, session.model.get("config")?.algorithm?.curves);
    for (const figure of figures.splice(0)) figure.dispose();
    figures.push(...curves.map((curve, k) => new Figure(curve, cursor, k === 0)));
    for (const figure of figures) figure.asTable(pressed(table));
    const elements = figures.map((figure) => figure.element);
    lead.replaceChildren(...elements.slice(0, leadingOf(spec)));
    grid.replaceChildren(...elements.slice(leadingOf(spec)));
  };
  buildFigures();

  const draw = (figure: Figure) => figure.draw(session.history.rows, axis.value, pressed(log));
  const redraw = new Redraw(figures, draw, [lead, grid], signal);
  const appear = () => {
    for (const figure of figures) figure.appear(session.history.rows.at(-1) ?? {});
  };
  const refresh = () => {
    redraw.all();
    appear();
    more.hidden = session.history.rows.length === 0;
  };
  const grow = () => {
    if (more.hidden) return refresh();
    appear();
    redraw.mark();
  };

  const rebuild = () => {
    buildFigures();
    redraw.forget();
    refresh();
  };

  const size = new ResizeObserver(refresh);
  for (const part of [lead, grid]) size.observe(part);
  session.events.on("history", grow, signal);
  session.events.on("drill", () => terms !== termsOf(session) && rebuild(), signal);
  axis.addEventListener("change", refresh);
  document.addEventListener("visibilitychange", refresh, { signal });
  view.themed(refresh);
  const end = () => {
    size.disconnect();
    for (const figure of figures) figure.dispose();
  };
  signal.addEventListener("abort", end, { once: true });
  refresh();
  return h("section", { class: "charts", "aria-label": "Learning curves" }, lead, more);
}
let serial = 0;

/** Names of the reward's terms: a reward of one's own is another one, with a curve. */
function termsOf({ model }: PanelSession): string {
  return (model.get("drill")?.spec.terms ?? []).map(({ name }) => name).join();
}

function pressed(toggle: HTMLElement): boolean {
  return toggle.getAttribute("aria-pressed") === "true";
}

function buildToggle(id: "log-scale" | "chart-table", title: string, changed: () => void): HTMLButtonElement {
  const toggle = button(id, { class: "button quiet toggle", title }, () => {
    setAttribute(toggle, "aria-pressed", String(!pressed(toggle)));
    changed();
  });
  setAttribute(toggle, "aria-pressed", "false");
  return toggle;
}

function buildTools(session: PanelSession, figures: readonly Figure[], refresh: () => void) {
  const axis = select({ class: "quiet", title: "Horizontal axis of the charts", ...control("chart-axis") }, AXES);
  const log = buildToggle("log-scale", "Log scale: makes small changes of losses and speed visible beside large ones", refresh);
  const table = buildToggle("chart-table", "Table: the points as numbers, in the place of the curves", () => {
    for (const figure of figures) figure.asTable(pressed(table));
    png.disabled = pressed(table); // the curves behind it stand still
    png.title = png.disabled ? "Export PNG: needs the curves. Turn Table off first" : PNG;
    refresh();
  });
  const [csv, png] = buildExports(session, figures);
  const tools = h("div", { class: "tools", role: "group", "aria-label": "Chart tools" }, log, table, axis, csv, png);
  return { axis, log, table, tools };
}

/** Every metric as CSV, the curves as PNG. */
function buildExports(session: PanelSession, figures: readonly Figure[]): [csv: HTMLButtonElement, png: HTMLButtonElement] {
  const fileName = () => `${session.model.get("drill")?.spec.name ?? "training"}-${session.history.rows.at(-1)?.agent_steps ?? 0}-steps`;
  const csv = button("export-csv", { class: "button quiet", title: "Export CSV: all metrics of this run, one row per report" }, () =>
    download(`${fileName()}.csv`, new Blob([csvOf(session.history.rows)], { type: "text/csv" })),
  );
  const png = button("export-png", { class: "button quiet", title: PNG }, () => {
    const { backgroundColor, color, fontFamily } = getComputedStyle(png.closest(".dshq-widget")!);
    const drawn = figures.flatMap((figure) => figure.drawn() ?? []);
    pngOf(drawn, { background: backgroundColor, text: color, font: fontFamily }).then(
      (blob) => download(`${fileName()}.png`, blob),
      (error: Error) => session.events.emit("notice", error.message),
    );
  });
  return [csv, png];
}
