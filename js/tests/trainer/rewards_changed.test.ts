/** Who keeps what was reached for one reward, and hears that another is paid. */
import { beforeEach, expect, it, vi } from "vitest";
import { Run } from "../../trainer/run";

const heard = vi.fn();
let run: Run;

beforeEach(() => {
  heard.mockClear();
  run = Object.create(Run.prototype);
  Object.assign(run, {
    settings: { reward_weights: { goal: 2 } },
    metrics: {},
    version: 1,
    modules: { spec: { terms: [{ name: "goal", weight: 1 }] } },
    engine: { restore: () => {} },
    exploration: { rewardsChanged: heard, restore: () => {} },
    contest: { rewardsChanged: heard, restore: () => {} },
  });
});

it.each([
  ["goal=2", 0],
  ["goal=2.0", 0],
  ["goal=2,other=1", 0],
  ["goal=3", 2],
  ["none", 2],
])("a run whose weights become %j tells %i", (value, told) => {
  run.receive({ type: "SET_HYPER", key: "reward_weights", value });
  expect(heard).toHaveBeenCalledTimes(told);
});

it.each([
  [{ reward_weights: { goal: 2 } }, 0],
  [{ reward_weights: { goal: 1 } }, 2],
  [{}, 2], // from before there were any: the drill's own
])("a run that continues from a file of %j tells %i", (config, told) => {
  Reflect.apply(Reflect.get(run, "resume"), run, [{ config, state: {} }]);
  expect(heard).toHaveBeenCalledTimes(told);
});
