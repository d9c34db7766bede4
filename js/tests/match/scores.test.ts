import { describe, expect, it } from "vitest";
import type { DrillSpec, Episode } from "../../contract/protocol";
import type { Game, GameState } from "../../match/rules";
import { groupsOf, insight, KEPT, readWeights, Scores, totalOf, writeWeights } from "../../match/scores";
import { signed } from "../../ui/format";
import { spec as plain } from "../harness/fakes";

const spec: DrillSpec = {
  ...plain,
  terms: [
    { name: "goal", weight: 1, kind: "reward", help: "" },
    { name: "near_ball", weight: 2, kind: "potential", help: "" },
  ],
};

/** A state is one number: goal is its sign for either side, the potential the number itself. */
const game = {
  terms: (s: unknown, side: number, out: Float32Array) => {
    const { value } = s as { value: number };
    const turned = side === 0 ? value : -value;
    out.set([Math.sign(turned), turned]);
  },
} as Game;
const at = (value: number) => ({ value }) as unknown as GameState;

function played(...values: number[]): Scores {
  const scores = new Scores(game, spec);
  scores.begin(at(values[0]!));
  for (const value of values.slice(1)) scores.decided(at(value));
  return scores;
}

const episode = (winner: number, after: number[][], before: number[][]): Episode => ({ winner, decisions: 1, after, before });
const won = episode(
  1,
  [
    [1, 0.5],
    [-1, -0.5],
  ],
  [
    [0, 0],
    [0, 0],
  ],
); // prettier-ignore
const drawn = episode(
  0,
  [
    [0, 3],
    [0, 3],
  ],
  [
    [0, 0],
    [0, 0],
  ],
); // prettier-ignore

describe("scores", () => {
  it("sums rewards, and potentials before and after each decision", () => {
    const scores = played(1, 2, -4);
    scores.end(-1);
    expect(scores.episodes).toEqual([
      {
        winner: -1,
        decisions: 2,
        after: [
          [0, -2],
          [0, 2],
        ],
        before: [
          [0, 3],
          [0, -3],
        ],
      },
    ]); // prettier-ignore
  });

  it("pays gamma phi(s') - phi(s), as training does", () => {
    const scores = played(1, 2, -4);
    scores.end(-1);
    const [winners, losers] = groupsOf(spec, scores.episodes, 0.5);
    expect(winners).toEqual({ name: "won", games: 1, earned: [0, 0.5 * 2 - -3] });
    expect(losers).toEqual({ name: "lost", games: 1, earned: [0, 0.5 * -2 - 3] });
    expect(totalOf(spec.terms, winners!, {})).toBe(8);
    expect(totalOf(spec.terms, winners!, { near_ball: 0.25 })).toBe(1);
  });

  it("keeps the last games, and none that it did not see from the start", () => {
    const scores = new Scores(game, spec);
    for (let k = 0; k < KEPT + 5; k++) {
      scores.begin(at(k));
      scores.decided(at(k));
      scores.end(1);
    }
    expect(scores.episodes.length).toBe(KEPT);
    expect(scores.episodes[0]!.before[0]![1]).toBe(5);
    expect(scores.changes).toBe(KEPT + 5);
    scores.begin(at(1));
    scores.forget();
    scores.decided(at(1));
    scores.end(1);
    expect(scores.changes).toBe(KEPT + 5);
  });

  it("groups players by what became of them", () => {
    expect(groupsOf(spec, [won, drawn], 1).map(({ name, games }) => [name, games])).toEqual([
      ["won", 1],
      ["lost", 1],
      ["drawn", 2],
    ]); // prettier-ignore
    const alone = groupsOf({ ...spec, sides: 1 }, [won], 1);
    expect(alone).toEqual([{ name: "all", games: 1, earned: [1, 0.5] }]);
    expect(groupsOf(spec, [], 1)).toEqual([]);
  });
});

describe("what weights would teach", () => {
  const taught = (episodes: Episode[], weights: Record<string, number>) => insight(spec.terms, groupsOf(spec, episodes, 1), weights, signed);

  it("says what pays most for winning", () => {
    expect(taught([won], {})).toBe("With these weights, winning pays 4.00 more than losing, mostly from goal.");
    expect(taught([won], { near_ball: 9 })).toContain("mostly from near ball");
  });

  it("warns of weights that reward losing, stalling or nothing", () => {
    expect(taught([won], { goal: -1, near_ball: 0 })).toContain("losing pays at least as much as winning (+1.00 vs −1.00");
    expect(taught([won, drawn], {})).toContain("a draw pays at least as much as a win (+6.00 vs +2.00");
    expect(taught([won], { goal: 0, near_ball: 0 })).toContain("nothing in these games is rewarded");
  });

  it("speaks of draws where nobody won, and is silent where nobody played", () => {
    expect(taught([drawn], {})).toBe("Nobody has won yet. With these weights, a game pays +6.00, mostly from near ball.");
    expect(taught([], {})).toBe("");
  });
});

describe("weights as settings", () => {
  it("are only those that differ from the drill's own", () => {
    expect(writeWeights(spec.terms, { goal: 1, near_ball: 0.1 + 0.2 })).toBe("near_ball=0.3");
    expect(writeWeights(spec.terms, {})).toBe("");
    expect(readWeights("goal=1, near_ball=.5,x=,=3,y=a")).toEqual({ goal: 1, near_ball: 0.5 });
    expect(readWeights("")).toEqual({});
  });
});
