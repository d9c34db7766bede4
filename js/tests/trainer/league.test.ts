import { describe, expect, it } from "vitest";
import { League } from "../../trainer/league/league";

const drill = { sides: 2, baselines: ["chaser"], time_limit: 100, action_repeat: 10 };
const even = (_: unknown, __: unknown, matches: number) => ({ wins: matches / 2, draws: 0 }) as never;

describe("a league whose run goes on from an earlier policy", () => {
  it("forgets the later ones and holds rounds again", () => {
    const league = new League(drill, 4, 0, even);
    for (let k = 1; k <= 4; k++) league.holdRound(new Float32Array(4), k, 1000 * k, 100 * k, {});
    expect(league.due(10_000, 1e9, 100)).toBe(true);
    league.goBack(2000);
    expect(
      league
        .rows()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["chaser", "random", "v1", "v2"]);
    expect(league.due(10_000, 2001, 100), "it costs as much as before").toBe(false);
    league.goBack(1e9);
    expect(league.rows()).toHaveLength(4);
  });
});
