import { describe, expect, it } from "vitest";
import { competitionFor } from "../../trainer/competitions";
import type { Competition } from "../../trainer/parts";
import type { Settings } from "../../trainer/settings";

const playing = (opponents: Record<string, number>) => ({ opponents, num_envs: 64 }) as unknown as Settings;
const one: Competition = () => {
  throw new Error("nobody begins a run here");
};

describe("a run's competition", () => {
  it("is the one that there is", () => expect(competitionFor(playing({ pool: 1 }), [one])).toBe(one));

  it("may be none, unless earlier versions are to play", () => {
    expect(competitionFor(playing({ self: 1 }), [])).toBeNull();
    expect(() => competitionFor(playing({ self: 0.5, pool: 0.5 }), [])).toThrow("need a league");
  });
});
