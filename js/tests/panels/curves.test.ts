/** The curves that an algorithm adds to those that every one has. */
import { describe, expect, it } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { curvesOf } from "../../panels/charts/curves";

const drill = (sides: number) => ({ sides, baselines: ["script"], terms: [] }) as unknown as DrillSpec;

function keys(sides: number, algorithm: string): string[][] {
  return curvesOf(drill(sides), algorithm).map(({ series }) => series.map(({ key }) => key));
}

describe("curves", () => {
  it("say what search adds to the policy, by return or by wins", () => {
    expect(keys(1, "spo")).toContainEqual(["searched_return", "evaluated_return"]);
    expect(keys(2, "spo")).toContainEqual(["searched_win_rate", "win_rate_ema"]);
    expect(keys(1, "spo")).toContainEqual(["search_ess"]);
  });

  it("count draws as not won: one win and many draws are no mastery", () => {
    expect(keys(2, "ppo")).toContainEqual(["win_share", "win_share_random"]);
    expect(keys(2, "ppo").flat()).not.toContain("win_rate_ema");
  });

  it("say what a world model knows", () => {
    expect(keys(1, "dreamer")).toContainEqual(["surprise"]);
    expect(keys(1, "dreamer")).toContainEqual(["loss_image"]);
  });

  it("give each of six reward terms a colour of its own", () => {
    const terms = ["goal", "draw", "stall", "approach", "ball_to_goal", "more"].map((name) => ({ name }));
    const spec = { ...drill(2), terms } as unknown as DrillSpec;
    const { series } = curvesOf(spec).find(({ title }) => title === "Reward by term")!;
    expect(new Set(series.map(({ colour }) => colour)).size).toBe(6);
    expect(series.some(({ dashed }) => dashed)).toBe(false);
  });

  it("are the same for every algorithm otherwise", () => {
    const shared = keys(1, "ppo");
    for (const algorithm of ["spo", "dreamer", "gate"]) expect(keys(1, algorithm)).toEqual(expect.arrayContaining(shared));
    expect(shared.flat()).not.toContain("search_ess");
  });
});
