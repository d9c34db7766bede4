/** The history of a run in the page. */
import { expect, test } from "vitest";
import { MetricRows } from "../metric_rows";

test("a long run keeps a bounded number of rows, spaced evenly, and the newest one", () => {
  const history = new MetricRows(10);
  for (let k = 0; k < 1001; k++) history.append({ agent_steps: k });
  const steps = history.rows().map(({ agent_steps }) => agent_steps!);
  expect(steps.length).toBeLessThanOrEqual(11);
  expect([steps[0], steps.at(-1)]).toEqual([0, 1000]);
  const gaps = new Set(steps.slice(1, -1).map((step, k) => step - steps[k]!));
  expect(gaps.size).toBe(1);
  expect(history.rows(4).length).toBeLessThanOrEqual(5);
  expect(history.rows(4).at(-1)).toEqual({ agent_steps: 1000 });
});

test("other rows take the place of all", () => {
  const history = new MetricRows(4);
  for (let k = 0; k < 100; k++) history.append({ agent_steps: k });
  history.replace([{ agent_steps: 1 }, { agent_steps: 2 }]);
  history.append({ agent_steps: 3 });
  expect(history.rows().map(({ agent_steps }) => agent_steps)).toEqual([1, 2, 3]);
  history.replace([]);
  expect(history.rows()).toEqual([]);
});
