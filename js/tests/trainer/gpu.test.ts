/** How the GPU's games begin; what they play is tested in the browser. */
import { expect, test } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { startsFor } from "../../trainer/engines/gpu";
import type { Settings } from "../../trainer/settings";

const SPEC = { time_limit: 100, action_repeat: 4 } as DrillSpec;
const starts = (seed: number) => startsFor(SPEC, { seed, num_envs: 1024 } as Settings);

test("runs with neighbouring seeds share no game's generator", () => {
  const keys = [0, 1, 2].flatMap((seed) => [...starts(seed).keys]);
  expect(new Set(keys).size).toBe(3 * 1024);
});

test("clocks are spread evenly over an episode", () => {
  const counts = new Map<number, number>();
  for (const tick of starts(0).ticks) counts.set(tick, (counts.get(tick) ?? 0) + 1);
  expect([...counts.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, k) => 4 * k));
  expect(Math.min(...counts.values())).toBeGreaterThan(15);
});
