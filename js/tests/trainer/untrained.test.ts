/** Untrained weights that a run goes back to are measured and normalised again, as in dshq_widget/algorithms/ppo/learners/fused.py. */
import { expect, test } from "vitest";
import { Learner } from "../../trainer/ppo/learner";
import { Normalizer } from "../../trainer/ppo/normalizer";

test.each([
  [[1, 2], true],
  [[1, 3], false],
])("weights %j that are loaded: measured first, %j", (weights, measured) => {
  const learner: Learner = Object.create(Learner.prototype);
  const normalizer = new Normalizer({} as never, [1, 2], { normalize_observations: false, normalize_rewards: true });
  normalizer.restore({ "normalizer.returns": { dtype: "F64", shape: [3], data: Float64Array.of(0, 4, 100) } });
  expect(normalizer.measures).toBe(false);
  const params = { f32: new Float32Array(2) };
  Object.assign(learner, { normalizer, params, plan: { floats: 2, places: Int32Array.of(0, 1) }, first: Float32Array.of(1, 2) });
  learner.load(Float32Array.from(weights));
  expect([normalizer.measures, normalizer.fresh]).toEqual([measured, measured]);
});
