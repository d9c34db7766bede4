/** The list of learning curves. Each has a sentence on what it shows and whether it should rise. */
import type uPlot from "uplot";
import type { DeclaredCurve, DrillSpec } from "../../contract/protocol";
import { METRICS, REWARD_TERM } from "../../contract/tables";
import { compact, percent, signed } from "../../ui/format";

interface Series {
  key: string;
  name: string;
  colour: string; // a custom property of style.css
  dashed?: boolean;
}

export interface Curve {
  title: string;
  help: string;
  series: Series[];
  band?: [high: string, low: string]; // metrics between which the first series' colour is laid
  format: (value: number | null | undefined) => string;
  range?: uPlot.Range.MinMax | uPlot.Range.Function; // of y; the data with some air where it is left out
  target?: { value: number; name: string }; // the line to beat, dashed; it is drawn before there are points
  moves?: boolean; // shown only once it has moved: a line that stands still says nothing
  filled?: boolean; // down to zero
  log?: uPlot.Scale; // of y, where a logarithmic one says more
}

const COLOURS = ["--curve-1", "--curve-2", "--curve-3", "--curve-4", "--curve-5", "--curve-6"];
const LINEAR_BELOW = 1e-2; // a loss may be zero or negative: asinh is linear around zero and logarithmic beyond

const ELO: Curve = {
  title: "Elo",
  help: "Elo rating of the newest version in the league, with its 95 % confidence interval. Should rise.",
  series: [{ key: "elo", name: "Elo", colour: "--curve-1" }],
  band: ["elo_high", "elo_low"],
  range: atLeast(400),
  moves: true,
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
    help: "Losses of policy and value. The value loss should fall; the policy loss stays near zero.",
    series: [
      { key: "loss_policy", name: "policy", colour: "--curve-1" },
      { key: "loss_value", name: "value", colour: "--curve-2" },
    ],
    format: compact,
    log: { distr: 4, asinh: LINEAR_BELOW },
  },
  {
    title: "Speed",
    help: "Agent steps per second. An agent step is one decision of one learning side.",
    series: [{ key: "agent_steps_per_second", name: "steps / s", colour: "--curve-3" }],
    format: compact,
    range: fromZero,
    filled: true,
    log: { distr: 3 },
  },
];

const FORMATS = { number: compact, signed: (value: number | null | undefined) => (value == null ? "–" : signed(value)), percent };

/** A chart that the algorithm declares. */
export function declared({ title, help, lines, format, colour, zero, log }: DeclaredCurve): Curve {
  const series = Object.entries(lines).map(([key, name], k) => ({ key, name, colour: COLOURS[(colour - 1 + k) % COLOURS.length]! }));
  const share = format === "percent";
  return {
    title,
    help,
    series,
    format: FORMATS[format],
    filled: zero,
    ...(share ? { range: [0, 1] } : zero ? { range: fromZero } : {}),
    ...(log ? { log: { distr: 3 } } : {}),
  };
}

/** What needs somebody to win against: the drill's own script, and random play. */
function duelsOf(spec: DrillSpec | undefined): Curve[] {
  if (spec?.sides === 1) return [];
  const script = (spec?.baselines ?? []).slice(0, 1).map((name) => ({ key: "win_share", name, colour: "--curve-1" }));
  const series = [...script, { key: "win_share_random", name: "random", colour: "--curve-2" }];
  const help = "Share of all matches won against each opponent, draws included, smoothed. Should rise.";
  const target = { value: 0.5, name: "half of the matches" };
  return [{ title: "Matches won", help, series, format: percent, range: [0, 1], target }, ELO];
}

/** What the terms of the reward bring, each on its own. */
function rewardsOf(spec: DrillSpec | undefined): Curve[] {
  const series = (spec?.terms ?? []).map(({ name }, k) => ({
    key: `reward_${name}`,
    name: name.replaceAll("_", " "),
    colour: COLOURS[k % COLOURS.length]!,
    dashed: k >= COLOURS.length,
  }));
  const help = `${REWARD_TERM.text.replace("this", "each")} Their sum, the return, should rise. A single term may fall.`;
  return series.length > 1 ? [{ title: "Reward by term", help, series, format: compact }] : [];
}

/** The curves of a drill, in their order; `own` are those of the algorithm that learns it. */
export function curvesOf(spec: DrillSpec | undefined, own: DeclaredCurve[] = []): Curve[] {
  return [...duelsOf(spec), ...CURVES, ...own.map(declared), ...rewardsOf(spec)];
}

/** How many of them, from the first one on, stand before the fold: matches won and Elo, or the return. */
export function leadingOf(spec: DrillSpec | undefined): number {
  return spec?.sides === 1 ? 1 : 2;
}

/** The data with some air, and so much height at least: a band must not fill the chart because nothing has moved yet. */
function atLeast(height: number): uPlot.Range.Function {
  return (_, low, high) => {
    const [middle, half] = [((low ?? 0) + (high ?? 0)) / 2, Math.max(height, 1.16 * ((high ?? 0) - (low ?? 0))) / 2];
    return [middle - half, middle + half];
  };
}

/** Down to less only where there is less. */
function fromZero(_: uPlot, low: number | null, high: number | null): [number, number] {
  const [least, most] = [Math.min(low ?? 0, 0), Math.max(high ?? 0, 0)];
  return [1.1 * least, 1.1 * (most || (least < 0 ? 0 : 1))];
}

/** The table's sentence on a metric, with what to hope for. */
function metricHelp(name: keyof typeof METRICS): string {
  const { text, should_rise }: { text: string; should_rise: boolean | null } = METRICS[name];
  return should_rise ? `${text} Should rise.` : text;
}
