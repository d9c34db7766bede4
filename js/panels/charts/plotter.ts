/**
 * uPlot, once per page. It listens to the window for good as soon as it is evaluated, and every widget evaluates its own copy of
 * this bundle: `require` leaves that to the first chart of the page.
 */
import type uPlot from "uplot";

declare const require: (name: "uplot") => typeof uPlot;

const KEY = Symbol.for("dshq-widget.uplot.1");

export function plotter(): typeof uPlot {
  const page = globalThis as { [KEY]?: typeof uPlot };
  page[KEY] ??= require("uplot");
  return page[KEY];
}
