/** The panel that the run's algorithm declares as data: a sentence, the newest values of its metrics, its curves. */
import type { DeclaredPanel, MetricsRow } from "../contract/protocol";
import { h, setText } from "../ui/dom";
import { compact, percent } from "../ui/format";
import { buildOwnCurves } from "./charts/own_curves";
import type { Panel, PanelSession, PanelView } from "./panel";

const panelOf = ({ model }: PanelSession) => model.get("config")?.algorithm?.panel;

export const algorithm: Panel = {
  applies: (session) => Boolean(panelOf(session)),
  title: (session) => panelOf(session)!.title,
  parts: { tab: build },
};

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const { title, help, rows } = panelOf(session)!;
  const values = rows.map(() => h("dd", { class: "number" }));
  const list = h("dl", { class: "values" }, ...rows.flatMap((row, k) => [h("dt", { title: row.help }, row.name), values[k]!]));
  const follow = () => {
    const newest = session.history.rows.at(-1) ?? {};
    rows.forEach((row, k) => setText(values[k]!, read(row, newest)));
  };
  session.events.on("history", follow, signal);
  follow();
  return h("section", { class: "algorithm body", "aria-label": title }, h("p", { class: "help" }, help), rows.length ? list : null, buildOwnCurves(view));
}

/** A metric's value with its unit; a share in percent. */
function read({ key, unit }: DeclaredPanel["rows"][number], newest: MetricsRow): string {
  const value = newest[key];
  if (unit === "share") return percent(value);
  return value === undefined || !unit ? compact(value) : `${compact(value)} ${unit}`;
}
