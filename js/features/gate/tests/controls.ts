/** For js/tests/view/controls.test.ts: what shows the gate's controls, and their names that docs/reference/settings.md does not have. */
import type { FeatureControls } from "../../../tests/harness/feature_controls";
import { SETTINGS, TERRITORY } from "./territory";

const threshold = { label: "Threshold", help: "Of it.", unit: "", kind: "float", min: 0, max: 1, effect: "now" as const };
const { epsilon: exploration, ...judging } = SETTINGS;

export const controls: FeatureControls = {
  traits: ({ config }) => ({
    drill: TERRITORY,
    config: { ...config, algorithm: { name: "gate", values: { ...judging, exploration }, schema: { threshold } } },
  }),
  names: { "dial-threshold": "Threshold", "dial-threshold-slider": "Threshold, slider" },
};
