/** One titled plot of a curve. */
import type uPlot from "uplot";
import type { MetricsRow } from "../../contract/protocol";
import { type Columns, columns, decimate } from "../../session/history";
import { h, setAttribute, setText } from "../../ui/dom";
import { compact } from "../../ui/format";
import type { Drawn } from "./chart_export";
import type { Curve } from "./curves";

const POINTS_PER_PIXEL = 1;
const TABLE_ROWS = 12;

declare const require: (name: "uplot") => typeof uPlot;

const KEY = Symbol.for("dshq-widget.uplot.1");

/**
 * uPlot, once per page. It listens to the window for good as soon as it is evaluated, and every widget evaluates its own copy of
 * this bundle: `require` leaves that to the first chart of the page.
 */
function plotter(): typeof uPlot {
  const page = globalThis as { [KEY]?: typeof uPlot };
  page[KEY] ??= require("uplot");
  return page[KEY];
}

/** It appears with its first point, or keeps its place from the start where it leads; it offers only the series that have any points. */
export class Figure {
  readonly element: HTMLElement;
  private readonly plot: HTMLElement;
  private readonly table = h("table", { class: "points" });
  private readonly legend: { item: HTMLElement; value: HTMLElement }[];
  private chart: uPlot | null = null;
  private data: Columns = [[]];
  private log = false; // of the chart as it stands

  constructor(
    private readonly curve: Curve,
    private readonly cursor: string,
    private readonly leads: boolean,
  ) {
    this.legend = curve.series.map(({ name, colour }) => {
      const value = h("output", { class: "number" }, "–");
      const item = h("span", { class: "series", style: `--colour: var(${colour})` }, curve.series.length > 1 ? name : null, value);
      return { item, value };
    });
    this.plot = h("div", {
      class: "plot",
      role: "img",
      "aria-label": curve.title,
      "data-waits": "Begins after the first update.",
      "data-target": curve.target?.name,
    });
    if (curve.target) this.plot.style.setProperty("--at", String(1 - curve.target.value)); // of a range from 0 to 1
    this.element = h(
      "figure",
      { class: "curve" },
      h("figcaption", {}, h("span", { class: "title" }, curve.title), h("span", { class: "legend" }, ...this.legend.map((l) => l.item))),
      this.plot,
      this.table,
      h("p", { class: "help" }, curve.help),
    );
    this.table.hidden = true;
    this.element.hidden = curve.moves === true; // until it has
  }

  /** The points as a table in the place of the plot, or the plot again. */
  asTable(on: boolean): void {
    this.table.hidden = !on;
    this.plot.hidden = on;
  }

  /**
   * Takes its place as soon as there is a point: what takes none is never seen, and what is not seen is not drawn. Its words are those of
   * the newest row at once, as everywhere on the page; the curve follows.
   */
  appear(row: MetricsRow): void {
    if (this.element.hidden) this.element.hidden = this.curve.moves || this.curve.series.every(({ key }) => row[key] === undefined);
    if (this.chart?.cursor.idx != null || !this.chart) return;
    const { band, format, series } = this.curve;
    series.forEach(({ key }, k) => {
      if (row[key] === undefined) return;
      const [high, low] = band ?? [];
      const around = k === 0 && high && low ? ` (${format(row[low])} to ${format(row[high])})` : "";
      setText(this.legend[k]!.value, format(row[key]) + around);
    });
  }

  /** Draws over metric `x`, or hides where there is nothing to draw. */
  draw(rows: readonly MetricsRow[], x: string, log: boolean): void {
    const keys = [...this.curve.series.map(({ key }) => key), ...(this.curve.band ?? [])];
    const all = columns(rows, x, keys);
    const empty = all[0].length === 0 || (this.curve.moves === true && new Set(all[1]).size < 2);
    this.element.hidden = empty && !this.leads;
    if (this.element.hidden) return;
    this.legend.forEach(({ item }, index) => (item.hidden = all[index + 1]!.every((value) => value === null)));

    if (!this.table.hidden) this.tabulate(all, x);
    const size = { width: Math.floor(this.plot.clientWidth), height: this.plot.clientHeight };
    if (size.width === 0) return;
    if (empty) {
      this.dispose(); // the style sheet draws what stands there before
      return;
    }
    this.data = decimate(all, size.width * POINTS_PER_PIXEL);
    if (this.log !== (log && hasLogarithm(this.curve, all))) {
      this.log = !this.log;
      this.dispose();
    }
    this.chart ??= this.create(size);
    if (this.chart.width !== size.width || this.chart.height !== size.height) this.chart.setSize(size);
    this.chart.setData(this.plotted);
    this.readOut();
  }

  dispose(): void {
    this.chart?.destroy();
    this.chart = null;
  }

  /** The chart and its words as they stand; null where nothing is drawn. */
  drawn(): Drawn | null {
    if (!this.chart || this.element.hidden) return null;
    const style = getComputedStyle(this.plot);
    const legend = this.curve.series.flatMap(({ name, colour }, index) => {
      const { item, value } = this.legend[index]!;
      return item.hidden ? [] : [{ text: `${name} ${value.textContent}`, colour: style.getPropertyValue(colour).trim() }];
    });
    return { title: this.curve.title, legend, canvas: this.chart.ctx.canvas };
  }

  /** The points that the scale has a place for: uPlot stops for good at a logarithm of zero or less. */
  private get plotted(): Columns {
    if (!this.log || this.curve.log?.distr !== 3) return this.data;
    const [x, ...series] = this.data;
    return [x, ...series.map((column) => column.map((value) => (value !== null && value > 0 ? value : null)))];
  }

  /** The values under the cursor, else the newest ones. */
  private readOut(): void {
    const hovered = this.chart?.cursor.idx;
    const { band, format, series } = this.curve;
    const read = (index: number) => {
      const column = this.data[index + 1]!;
      return format(hovered == null ? column.findLast((v) => v != null) : column[hovered]);
    };
    const [high, low] = [series.length, series.length + 1]; // of the band
    this.legend.forEach(({ value }, index) => setText(value, band && index === 0 ? `${read(0)} (${read(low)} to ${read(high)})` : read(index)));
    const shown = series.flatMap(({ name }, k) => (this.legend[k]!.item.hidden ? [] : [`${name} ${this.legend[k]!.value.textContent}`]));
    setAttribute(this.plot, "aria-label", `${this.curve.title}: ${shown.join(", ")}`);
  }

  private tabulate(all: Columns, x: string): void {
    const { series, format, title } = this.curve;
    const count = all[0].length;
    const places = [...new Set(Array.from({ length: TABLE_ROWS }, (_, k) => Math.round((k * (count - 1)) / (TABLE_ROWS - 1))))].filter(
      (at) => at >= 0 && at < count,
    );
    const head = h("tr", {}, ...[x.replaceAll("_", " "), ...series.map(({ name }) => name)].map((name) => h("th", { scope: "col" }, name)));
    const row = (at: number) => {
      const cells = series.map((_, k) => h("td", {}, format(all[k + 1]![at])));
      return h("tr", {}, h("th", { scope: "row" }, compact(all[0][at]!)), ...cells);
    };
    this.table.replaceChildren(h("caption", {}, title), h("thead", {}, head), h("tbody", {}, ...places.map(row)));
  }

  private create(size: { width: number; height: number }): uPlot {
    const colour = (name: string) => () => getComputedStyle(this.plot).getPropertyValue(name).trim();
    const { curve } = this;
    const axis: uPlot.Axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--hairline"), width: 1 },
      ticks: { show: false },
      font: `13px ${getComputedStyle(this.plot).fontFamily}`,
    };
    return new (plotter())(
      {
        ...size,
        padding: [6, 22, 0, 0], // half of "1.25M" at the right
        legend: { show: false },
        cursor: { sync: { key: this.cursor }, y: false, drag: { x: false, y: false }, points: { size: 7 } },
        scales: { x: { time: false }, y: this.log && curve.log ? curve.log : { range: curve.range ?? padded } },
        axes: [
          { ...axis, size: 22, gap: 4, space: 48, grid: { show: false }, values: (_, splits) => splits.map((v) => compact(v)) },
          {
            ...axis,
            ...(this.log && curve.log?.distr === 4 && { filter: decades, grid: { ...axis.grid, filter: decades } }),
            size: 46,
            gap: 4,
            space: 26,
            values: (_, splits) => splits.map((v) => (v === null ? "" : curve.format(v))),
          },
        ],
        series: [
          {},
          ...curve.series.map(({ name, colour: property, dashed }) => ({
            label: name,
            stroke: colour(property),
            ...(dashed && { dash: [5, 3] }),
            ...(curve.filled && { fill: () => `${colour(property)()}22` }),
            width: 1.75,
            spanGaps: true,
            points: { show: (chart: uPlot) => chart.data[0].length === 1, size: 7 }, // a line of one point would not be seen
          })),
          ...(curve.band ?? []).map((label) => ({ label, width: 0, spanGaps: true, points: { show: false } })),
        ],
        ...(curve.band && { bands: [{ series: [curve.series.length + 1, curve.series.length + 2], fill: () => `${colour(curve.series[0]!.colour)()}33` }] }),
        hooks: { setCursor: [() => this.readOut()], ...(curve.target && { draw: [(chart: uPlot) => this.drawTarget(chart)] }) },
      },
      this.plotted,
      this.plot,
    );
  }

  /** The line to beat, dashed, with its name above it. */
  private drawTarget({ ctx, bbox, valToPos }: uPlot): void {
    const { value, name } = this.curve.target!;
    const y = valToPos(value, "y", true);
    const style = getComputedStyle(this.plot);
    const dpi = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = style.getPropertyValue("--target").trim();
    ctx.lineWidth = 1.5 * dpi;
    ctx.setLineDash([5 * dpi, 4 * dpi]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = `600 ${13 * dpi}px ${style.fontFamily}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.setLineDash([]);
    ctx.lineJoin = "round";
    ctx.lineWidth = 4 * dpi;
    ctx.strokeStyle = style.getPropertyValue("--bg").trim();
    const at = [bbox.left + 4 * dpi, y - 3 * dpi] as const; // where curves begin they are low
    ctx.strokeText(name, ...at); // a halo, so that it is legible over a curve
    ctx.fillText(name, ...at);
    ctx.restore();
  }
}

/** Whether a curve has a logarithmic scale, and any point on it: where all is zero there is nothing to compare. */
function hasLogarithm({ log }: Curve, [, ...series]: Columns): boolean {
  const told = (value: number | null) => value !== null && (log?.distr === 3 ? value > 0 : value !== 0);
  return log !== undefined && series.some((column) => column.some(told));
}

/** A little air around the data, and some height around a constant. */
function padded(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const air = (high - low) * 0.08 || Math.max(Math.abs(high) * 0.1, 1e-3);
  return [low - air, high + air];
}

/** Of an asinh scale's many splits zero and the powers of ten. */
function decades(_: uPlot, splits: number[]): (number | null)[] {
  const round = (power: number) => Math.abs(power - Math.round(power)) < 1e-6;
  return splits.map((v) => (v === 0 || round(Math.log10(Math.abs(v))) ? v : null));
}
