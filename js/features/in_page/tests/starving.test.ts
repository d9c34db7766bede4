import { describe, expect, it } from "vitest";
import { Starving } from "../starving";

const after = (starving: Starving, processors: readonly (number | undefined)[]) =>
  processors.map((part) => {
    starving.report(part);
    return starving.now;
  });

describe("a learner that starves", () => {
  it("is told after five reports in a row, and stays told while its share wavers", () => {
    const starving = new Starving();
    expect(after(starving, [0.2, 0.2, 0.2, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2])).toEqual([...Array(8).fill(false), true]);
    expect(after(starving, Array(6).fill([0.2, 0.3, 0.45, 0.6]).flat())).toEqual(Array(24).fill(true));
  });

  it("is taken back after five reports of enough, and at once when nothing trains", () => {
    const starving = new Starving();
    after(starving, Array(5).fill(0.1));
    expect(after(starving, [0.6, 0.7, undefined, 0.5, 1])).toEqual([true, true, true, true, false]);
    after(starving, Array(5).fill(0.1));
    expect([starving.end(), starving.now, starving.end()]).toEqual([true, false, false]);
  });
});
