import { describe, expect, it } from "vitest";
import { type Columns, columns, decimate, History } from "../../session/history";
import { row } from "../harness/fakes";

const steps = (history: History) => history.rows.map((each) => each.agent_steps);

describe("History", () => {
  it("takes the kernel's record and keeps the rows that overtook it", () => {
    const history = new History();
    history.append(row(40));
    history.replace(0, [row(10), row(20), row(30)]);
    expect(steps(history)).toEqual([10, 20, 30, 40]);
    history.replace(3, [row(40), row(50)]);
    expect(steps(history)).toEqual([10, 20, 30, 40, 50]);
  });

  it("replaces a row of the same step, and begins anew when the steps fall", () => {
    const history = new History();
    for (const step of [10, 20]) history.append(row(step));
    history.append(row(20, { return_mean: 7 }));
    expect(history.rows.at(-1)!.return_mean).toBe(7);
    expect(history.rows).toHaveLength(2);
    history.append(row(5));
    expect(steps(history)).toEqual([5]);
  });

  it("stays bounded and keeps the newest rows", () => {
    const history = new History();
    for (let step = 1; step <= 50_000; step++) history.append(row(step));
    expect(history.rows.length).toBeLessThanOrEqual(20_000);
    expect(steps(history).at(-1)).toBe(50_000);
    expect(steps(history)[0]).toBe(1);
  });
});

describe("columns", () => {
  it("gives gaps as null and leaves out rows without the x or any of the series", () => {
    const rows = [row(10), { agent_steps: 20 }, { return_mean: 1 }, row(30, { entropy: Number.NaN }), row(40, { entropy: 2 })];
    expect(columns(rows, "agent_steps", ["return_mean", "entropy"])).toEqual([
      [10, 30, 40],
      [1, 3, 4],
      [null, null, 2],
    ]);
  });
});

describe("decimate", () => {
  const long: Columns = [Array.from({ length: 10_000 }, (_, i) => i), Array.from({ length: 10_000 }, (_, i) => Math.sin(i / 500))];
  long[1]![4321] = 99;
  long[1]![7000] = null;

  it("keeps the ends, every peak and the order within the limit", () => {
    const [x, y] = decimate(long, 300) as [number[], (number | null)[]];
    expect(x.length).toBeLessThanOrEqual(300);
    expect(x.length).toBeGreaterThan(200);
    expect([x[0], x.at(-1)]).toEqual([0, 9999]);
    expect(y[x.indexOf(4321)]).toBe(99);
    expect(x).toEqual([...x].sort((a, b) => a - b));
  });

  it("holds the limit for several series together", () => {
    const two: Columns = [long[0], long[1]!, long[1]!.map((value) => (value === null ? null : -value))];
    const reduced = decimate(two, 300);
    expect(reduced[0].length).toBeLessThanOrEqual(300);
    expect(new Set(reduced.map((column) => column.length)).size).toBe(1);
  });

  it("leaves short data alone", () => {
    const short: Columns = [
      [1, 2],
      [3, null],
    ];
    expect(decimate(short, 300)).toBe(short);
  });
});
