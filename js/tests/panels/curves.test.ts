/** The curves of every run, and those that an algorithm declares. */
import { describe, expect, it } from "vitest";
import type { DeclaredCurve, DrillSpec } from "../../contract/protocol";
import { curvesOf, declared } from "../../panels/charts/curves";

const drill = (sides: number) => ({ sides, baselines: ["script"], terms: [] }) as unknown as DrillSpec;

function keys(sides: number, own: DeclaredCurve[] = []): string[][] {
  return curvesOf(drill(sides), own).map(({ series }) => series.map(({ key }) => key));
}

const SEARCHED: DeclaredCurve = {
  title: "With search",
  help: "Win rate when search decides, beside the policy alone. Should rise.",
  lines: { searched_win_rate: "search", win_rate_ema: "policy" },
  format: "percent",
  colour: 6,
  zero: true,
  log: false,
};

describe("curves", () => {
  it("are those of every run and those that the algorithm declares, before the reward's", () => {
    const shared = keys(1);
    expect(keys(1, [SEARCHED])).toEqual([...shared, ["searched_win_rate", "win_rate_ema"]]);
  });

  it("that are declared are drawn as they say", () => {
    const curve = declared(SEARCHED);
    expect(curve).toMatchObject({ title: "With search", filled: true, range: [0, 1] });
    expect(curve.series.map(({ name, colour }) => [name, colour])).toEqual([
      ["search", "--curve-6"],
      ["policy", "--curve-1"],
    ]);
    expect(curve.format(0.25)).toBe("25%");
    const loss = declared({ ...SEARCHED, format: "number", zero: false, log: true });
    expect(loss.range).toBeUndefined();
    expect(loss.log).toEqual({ distr: 3 });
    expect(declared({ ...SEARCHED, format: "signed" }).format(0.5)).toBe("+0.50");
  });

  it("count draws as not won: one win and many draws are no mastery", () => {
    expect(keys(2)).toContainEqual(["win_share", "win_share_random"]);
    expect(keys(2).flat()).not.toContain("win_rate_ema");
  });

  it("that stand still are not shown: of Elo one rating alone", () => {
    expect(
      curvesOf(drill(2))
        .filter(({ moves }) => moves)
        .map(({ title }) => title),
    ).toEqual(["Elo"]);
  });

  it("give each of six reward terms a colour of its own", () => {
    const terms = ["goal", "draw", "stall", "approach", "ball_to_goal", "more"].map((name) => ({ name }));
    const spec = { ...drill(2), terms } as unknown as DrillSpec;
    const { series } = curvesOf(spec).find(({ title }) => title === "Reward by term")!;
    expect(new Set(series.map(({ colour }) => colour)).size).toBe(6);
    expect(series.some(({ dashed }) => dashed)).toBe(false);
  });
});
