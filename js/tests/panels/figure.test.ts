// @vitest-environment happy-dom
import { expect, it } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { curvesOf } from "../../panels/charts/curves";
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
