/** For js/tests/view/controls.test.ts: what is offered beside a match, all at once. */
import type { FeatureControls } from "../../../tests/harness/feature_controls";
import { buildOffer } from "../offer";

const OFFERED = ["train-in-page", "keep-policy", "continue-kept", "other-kept", "discard-kept"] as const;

export const controls: FeatureControls = {
  traits: (plain) => plain,
  more: () => {
    const offer = { text: "", actions: OFFERED.map((control) => ({ control, act: () => {} })) };
    return buildOffer({ offer, onOffer: () => {} } as never, new AbortController().signal);
  },
  names: {},
};
