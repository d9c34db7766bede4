// @vitest-environment happy-dom
import type uPlot from "uplot";
import Plot from "uplot";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { pngOf } from "../../panels/charts/chart_export";
import { type Curve, curvesOf } from "../../panels/charts/curves";
import { Figure } from "../../panels/charts/figure";

it("a curve that says something only once it has moved takes no place before", () => {
  const elo = curvesOf({ sides: 2, terms: [], baselines: ["chaser"] } as unknown as DrillSpec).find(({ moves }) => moves)!;
  const figure = new Figure(elo, "cursor", false);
  const rows = [1, 2, 3].map((k) => ({ agent_steps: k, elo: 1000, elo_low: 900, elo_high: 1100 }));
  expect(figure.element.hidden).toBe(true);
  figure.appear(rows[0]!);
  figure.draw(rows, "agent_steps", false);
  expect(figure.element.hidden).toBe(true);
  figure.draw([...rows, { ...rows[2]!, agent_steps: 4, elo: 1200 }], "agent_steps", false);
  expect(figure.element.hidden).toBe(false);
});

const drawing: CanvasRenderingContext2D = new Proxy({} as Record<PropertyKey, unknown>, {
  get: (own, name) => (name in own ? own[name] : name === "measureText" ? () => ({ width: 10 }) : () => undefined),
}) as unknown as CanvasRenderingContext2D;

/** A figure with a size, in the page, and these values drawn. */
async function drawn(curve: Curve, values: readonly number[], log = false) {
  const figure = new Figure(curve, "cursor", true);
  const plot = figure.element.querySelector<HTMLElement>(".plot")!;
  for (const [name, value] of Object.entries({ clientWidth: 300, clientHeight: 120 })) Object.defineProperty(plot, name, { value });
  document.body.append(figure.element);
  const draw = async (all: readonly number[]) => {
    const rows = all.map((value, k) => ({ agent_steps: k + 1, [curve.series[0]!.key]: value }));
    figure.draw(rows, "agent_steps", log);
    await Promise.resolve(); // uPlot draws in a microtask
    const { chart } = figure as unknown as { chart: uPlot };
    return { range: [chart.scales.y!.min, chart.scales.y!.max], said: figure.element.querySelector("output")!.textContent };
  };
  return { ...(await draw(values)), draw };
}

describe("with a canvas", () => {
  const curves = curvesOf({ sides: 1, terms: [], baselines: [] } as unknown as DrillSpec);
  const [losses, speed] = ["Losses", "Speed"].map((name) => curves.find(({ title }) => title === name)!) as [Curve, Curve];

  beforeEach(() => {
    vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(drawing as never);
    vi.stubGlobal("Path2D", class extends Map {});
    for (const name of ["moveTo", "lineTo", "rect", "arc", "closePath", "addPath"]) Object.assign(Path2D.prototype, { [name]: () => undefined });
    Object.assign(globalThis, { [Symbol.for("dshq-widget.uplot.1")]: Plot });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    document.body.replaceChildren();
  });

  it("a logarithmic scale takes zeros and values below, and continues with those that come after", async () => {
    const { range, said, draw } = await drawn(speed, [0, 0], true);
    expect([range, said]).toEqual([[0, 1.1], "0"]);
    expect((await draw([0, 0, 1000])).range).toEqual([100, 10000]);
    const mixed = await draw([0, 1000, 3000, -2]);
    expect(mixed).toEqual({ range: [1000, 10000], said: "-2" });
    expect((await drawn(losses, [0, 0], true)).range).toEqual([-0.001, 0.001]);
  });

  it("an axis from zero goes down where values do", async () => {
    const [low, high] = (await drawn(speed, [-5, -2])).range;
    expect(low).toBeLessThan(-5);
    expect(high).toBe(0);
  });
});

it("a table without points has no row, and no picture is made of no curve", async () => {
  const figure = new Figure(curvesOf(undefined)[0]!, "cursor", true);
  figure.asTable(true);
  figure.draw([], "agent_steps", false);
  expect(figure.element.querySelectorAll("tbody tr")).toHaveLength(0);
  await expect(pngOf([], { background: "", text: "", font: "" })).rejects.toThrow("No curve is drawn yet. Export CSV instead.");
});
