/** For js/tests/view/controls.test.ts: what shows the dream's controls. */
import type { FeatureControls } from "../../../tests/harness/feature_controls";

export const controls: FeatureControls = {
  traits: ({ drill, config }) => ({ drill, config: { ...config, algorithm: { name: "dreamer", elsewhere: true, values: {}, schema: {} } } }),
  names: {},
};
