/** For js/tests/view/controls.test.ts: what shows the coach's controls, and their names that docs/reference/settings.md does not have. */
import type { FeatureControls } from "../../../tests/harness/feature_controls";

export const controls: FeatureControls = {
  traits: ({ drill, config }) => ({ drill, config, scenes: [{ key: "a", places: [[0, 0]], before: null, now: null }] }),
  names: { "remove-scene-1": "Remove scene 1" },
};
