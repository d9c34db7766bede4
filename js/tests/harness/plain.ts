/** What a small drill of the tests says nothing of. */
import type { DrillSpec } from "../../contract/protocol";

export const PLAIN = {
  ...{ about: "", half_turn: [], observation_range: null, cells: null, shades: {}, pointed: [], legend: {}, hint: "", tags: [], drawn: true, optimum: null },
  ...{ masked: false, target: null, show_speed: 1, front: [], algorithm: "ppo", algorithm_settings: {}, training: {} },
} satisfies Partial<DrillSpec>;
