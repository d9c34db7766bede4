/**
 * Live learning curves. Each says in a sentence what it shows and whether it should rise. New rows only mark them as behind; a
 * clock draws one of them at a time, each once a second, so that no frame of the match pays for all of them.
 */
import type uPlot from "uplot";
import type { DrillSpec, MetricsRow } from "../../contract/protocol";
import { METRICS, REWARD_TERM } from "../../contract/tables";
import { type Columns, columns, decimate } from "../../session/history";
import { button, download, h, select, setAttribute, setText } from "../../ui/dom";
import { compact, percent } from "../../ui/format";
import type { Panel, PanelView } from "../panel";
import { csvOf, type Drawn, pngOf } from "./chart_export";
import { plotter } from "./plotter";

interface Series {
  key: string;
  name: string;
  colour: string; // a custom property of style.css
  dashed?: boolean;
}

interface Curve {
  title: string;
  help: string;
  series: Series[];
  band?: [high: string, low: string]; // metrics between which the first series' colour is laid
  format: (value: number | null | undefined) => string;
  range?: uPlot.Range.MinMax | uPlot.Range.Function; // of y; the data with some air where it is left out
  filled?: boolean; // down to zero
  log?: uPlot.Scale; // of y, where a logarithmic one says more
}

const COLOURS = ["--curve-1", "--curve-2", "--curve-3", "--curve-4"];
const LINEAR_BELOW = 1e-2; // a loss may be zero or negative: asinh is linear around zero and logarithmic beyond

const ELO: Curve = {
  title: "Elo",
  help: "Strength of the newest version in the league; the band holds it with 95 % certainty. Should rise.",
  series: [{ key: "elo", name: "Elo", colour: "--curve-1" }],
  band: ["elo_high", "elo_low"],
  format: (value) => (value == null ? "–" : String(Math.round(value))),
};
const CURVES: Curve[] = [
  {
    title: "Return",
    help: metricHelp("return_mean"),
    series: [
      { key: "return_mean", name: "mean", colour: "--curve-1" },
      { key: "evaluated_return", name: "evaluated", colour: "--curve-3" },
    ],
    format: compact,
  },
  {
    title: "Entropy",
    help: metricHelp("entropy"),
    series: [{ key: "entropy", name: "nats", colour: "--curve-4" }],
    format: compact,
    range: fromZero,
    filled: true,
  },
  {
    title: "Losses",
    help: "How wrong policy and value still are. The value's should fall; the policy's hovers around zero.",
    series: [
      { key: "loss_policy", name: "policy", colour: "--curve-1" },
      { key: "loss_value", name: "value", colour: "--curve-2" },
    ],
    format: compact,
    log: { distr: 4, asinh: LINEAR_BELOW },
  },
  {
    title: "Speed",
    help: "Decisions of learning sides per second. Should stay steady.",
    series: [{ key: "agent_steps_per_second", name: "steps / s", colour: "--curve-3" }],
    format: compact,
    range: fromZero,
    filled: true,
    log: { distr: 3 },
  },
];

/** What needs somebody to win against: the drill's own script, and random play. */
function duelsOf(spec: DrillSpec | undefined): Curve[] {
  if (spec?.sides === 1) return [];
  const script = (spec?.baselines ?? []).slice(0, 1).map((name) => ({ key: "win_rate_ema", name, colour: "--curve-1" }));
  const series = [...script, { key: "win_rate_random", name: "random", colour: "--curve-2" }];
  const help = "Won of decided matches against each opponent, smoothed. Should rise.";
  return [{ title: "Win rate", help, series, format: percent, range: [0, 1] }, ELO];
}

/** What the terms of the reward bring, each on its own. */
function rewardsOf(spec: DrillSpec | undefined): Curve[] {
  const series = (spec?.terms ?? []).map(({ name }, k) => ({
    key: `reward_${name}`,
    name: name.replaceAll("_", " "),
    colour: COLOURS[k % COLOURS.length]!,
    dashed: k >= COLOURS.length,
  }));
  const help = `${REWARD_TERM.text.replace("this", "each")} Their sum, the return, should rise; one may fall for another's sake.`;
  return series.length > 1 ? [{ title: "Reward by term", help, series, format: compact }] : [];
}

const AXES = [
  ["agent_steps", "agent steps"],
  ["seconds", "seconds"],
] as const;
const POINTS_PER_PIXEL = 1;
const EVERY_MS = 1000; // between two drawings of a curve

export const charts: Panel = { area: "learn", build };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const axis = select({ class: "quiet", title: "What the curves run over", "aria-label": "Chart axis" }, AXES);
  const cursor = `dshq-${session.id}-${serial++}`;
  const log = button(
    "Log scale",
    { text: "Log", class: "button quiet toggle", title: "Log scale: for losses and speed, where small changes hide beside large ones" },
    () => {
      setAttribute(log, "aria-pressed", String(log.getAttribute("aria-pressed") !== "true"));
      refresh();
    },
  );
  setAttribute(log, "aria-pressed", "false");
  const csv = button("Export CSV", { text: "CSV", class: "button quiet", title: "Export CSV: every metric of this training, one row per report" }, () =>
    download(`${fileName()}.csv`, new Blob([csvOf(session.history.rows)], { type: "text/csv" })),
  );
  const png = button("Export PNG", { text: "PNG", class: "button quiet", title: "Export PNG: the curves as they are drawn" }, () => {
    const { backgroundColor, color, fontFamily } = getComputedStyle(png.closest(".dshq-widget")!);
    const drawn = figures.flatMap((figure) => figure.drawn() ?? []);
    pngOf(drawn, { background: backgroundColor, text: color, font: fontFamily }).then(
      (blob) => download(`${fileName()}.png`, blob),
      (error: Error) => session.events.emit("notice", error.message),
    );
  });
  const fileName = () => `${session.model.get("drill")?.spec.name ?? "training"}-${session.history.rows.at(-1)?.agent_steps ?? 0}-steps`;
  const tools = h("span", { class: "tools", role: "group", "aria-label": "Chart tools" }, log, axis, csv, png);
  const spec = session.model.get("drill")?.spec;
  const figures = [...duelsOf(spec), ...CURVES, ...rewardsOf(spec)].map((curve) => new Figure(curve, cursor));
  const [first, ...others] = figures.map((figure) => figure.element);
  const empty = h("p", { class: "sentence" }, "The curves begin with the first update.");
  const lead = h("div", { class: "lead" }, h("div", { class: "bar" }, h("h3", { class: "heading" }, "Learning curves"), tools), empty, first);
  const grid = h("div", { class: "curves" }, ...others);

  const behind = new Set<Figure>(); // whose curve has points that are not drawn yet
  const seen = new Set<Element>();
  const frames = { all: 0, next: 0 }; // requested
  const drawable = () => seen.size > 0 && !document.hidden;
  const draw = (figure: Figure) => {
    behind.delete(figure);
    figure.draw(session.history.rows, axis.value, log.getAttribute("aria-pressed") === "true");
  };
  const drawAll = () => {
    frames.all = 0;
    if (drawable()) for (const figure of [...behind]) draw(figure);
  };
  const drawNext = () => {
    frames.next = 0;
    const [figure] = behind;
    if (figure && drawable()) draw(figure);
  };
  const appear = () => {
    for (const figure of figures) figure.appear(session.history.rows.at(-1) ?? {});
  };
  const refresh = () => {
    for (const figure of figures) behind.add(figure);
    appear();
    empty.hidden = session.history.rows.length > 0;
    for (const part of [first!, grid, tools]) part.hidden = !empty.hidden;
    frames.all ||= requestAnimationFrame(drawAll);
  };
  const grow = () => {
    if (!empty.hidden) return refresh();
    appear();
    for (const figure of figures) behind.add(figure);
  };
  const clock = setInterval(() => {
    if (behind.size > 0) frames.next ||= requestAnimationFrame(drawNext);
  }, EVERY_MS / figures.length);

  const visibility = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) seen[isIntersecting ? "add" : "delete"](target);
    if (seen.size && behind.size) frames.all ||= requestAnimationFrame(drawAll);
  });
  const size = new ResizeObserver(refresh);
  for (const part of [lead, grid]) {
    visibility.observe(part);
    size.observe(part);
  }
  session.events.on("history", grow, signal);
  axis.addEventListener("change", refresh);
  document.addEventListener("visibilitychange", refresh, { signal });
  view.themed(refresh);
  signal.addEventListener(
    "abort",
    () => {
      clearInterval(clock);
      cancelAnimationFrame(frames.all);
      cancelAnimationFrame(frames.next);
      visibility.disconnect();
      size.disconnect();
      for (const figure of figures) figure.dispose();
    },
    { once: true },
  );
  refresh();
  return h("section", { class: "charts", "aria-label": "Learning curves" }, lead, grid);
}
let serial = 0;

/** One titled plot. It appears with its first point, and offers only the series that have any. */
class Figure {
  readonly element: HTMLElement;
  private readonly plot: HTMLElement;
  private readonly legend: { item: HTMLElement; value: HTMLElement }[];
  private chart: uPlot | null = null;
  private data: Columns = [[]];
  private log = false; // of the chart as it stands

  constructor(
    private readonly curve: Curve,
    private readonly cursor: string,
  ) {
    this.legend = curve.series.map(({ name, colour }) => {
      const value = h("output", { class: "number" }, "–");
      const item = h("span", { class: "series", style: `--colour: var(${colour})` }, curve.series.length > 1 ? name : null, value);
      return { item, value };
    });
    this.plot = h("div", { class: "plot" });
    this.element = h(
      "figure",
      { class: "curve" },
      h("figcaption", {}, h("span", { class: "title" }, curve.title), h("span", { class: "legend" }, ...this.legend.map((l) => l.item))),
      this.plot,
      h("p", { class: "help" }, curve.help),
    );
  }

  /** Takes its place as soon as there is a point: what takes none is never seen, and what is not seen is not drawn. */
  appear(row: MetricsRow): void {
    if (this.element.hidden) this.element.hidden = this.curve.series.every(({ key }) => row[key] === undefined);
  }

  /** Draws over metric `x`, or hides where there is nothing to draw. */
  draw(rows: readonly MetricsRow[], x: string, log: boolean): void {
    const keys = [...this.curve.series.map(({ key }) => key), ...(this.curve.band ?? [])];
    const all = columns(rows, x, keys);
    this.element.hidden = all[0].length === 0;
    if (this.element.hidden) return;
    this.legend.forEach(({ item }, index) => (item.hidden = all[index + 1]!.every((value) => value === null)));

    const size = { width: Math.floor(this.plot.clientWidth), height: this.plot.clientHeight };
    if (size.width === 0) return;
    this.data = decimate(all, size.width * POINTS_PER_PIXEL);
    if (this.log !== (log && Boolean(this.curve.log))) {
      this.log = !this.log;
      this.dispose();
    }
    this.chart ??= this.create(size);
    if (this.chart.width !== size.width || this.chart.height !== size.height) this.chart.setSize(size);
    this.chart.setData(this.data);
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

  /** The values under the cursor, else the newest ones. */
  private readOut(): void {
    const hovered = this.chart?.cursor.idx;
    this.legend.forEach(({ value }, index) => {
      const column = this.data[index + 1]!;
      const at = hovered == null ? column.findLast((v) => v != null) : column[hovered];
      setText(value, this.curve.format(at));
    });
  }

  private create(size: { width: number; height: number }): uPlot {
    const colour = (name: string) => () => getComputedStyle(this.plot).getPropertyValue(name).trim();
    const { curve } = this;
    const axis: uPlot.Axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--hairline"), width: 1 },
      ticks: { show: false },
      font: `11px ${getComputedStyle(this.plot).fontFamily}`,
    };
    return new (plotter())(
      {
        ...size,
        padding: [6, 12, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: this.cursor }, y: false, drag: { x: false, y: false }, points: { size: 7 } },
        scales: { x: { time: false }, y: this.log && curve.log ? curve.log : { range: curve.range ?? padded } },
        axes: [
          { ...axis, size: 22, gap: 4, space: 48, grid: { show: false }, values: (_, splits) => splits.map((v) => compact(v)) },
          {
            ...axis,
            ...(this.log && curve.log?.distr === 4 && { filter: decades, grid: { ...axis.grid, filter: decades } }),
            size: 42,
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
            points: { show: false },
          })),
          ...(curve.band ?? []).map((label) => ({ label, width: 0, spanGaps: true, points: { show: false } })),
        ],
        ...(curve.band && { bands: [{ series: [curve.series.length + 1, curve.series.length + 2], fill: () => `${colour(curve.series[0]!.colour)()}33` }] }),
        hooks: { setCursor: [() => this.readOut()] },
      },
      this.data,
      this.plot,
    );
  }
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

function fromZero(_: uPlot, __: number | null, high: number | null): [number, number] {
  return [0, (high || 1) * 1.1];
}

/** The table's sentence on a metric, with what to hope for. */
function metricHelp(name: string): string {
  const { text, should_rise } = (METRICS as Record<string, { text: string; should_rise: boolean | null }>)[name] ?? REWARD_TERM;
  return should_rise ? `${text} Should rise.` : text;
}
