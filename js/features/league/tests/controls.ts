/** For js/tests/view/controls.test.ts: what shows the league's controls, and their names that docs/reference/settings.md does not have. */
import type { LeagueRow } from "../../../contract/protocol";
import type { FeatureControls } from "../../../tests/harness/feature_controls";

const row: LeagueRow = { name: "v7", pinned: false, elo: 1100, elo_low: 1000, elo_high: 1200, rank: 1, step: 10, against: {} };

export const controls: FeatureControls = {
  traits: ({ drill, config }) => ({ drill, config, league: [row], rivals: { "league:v7": null } }),
  names: { "meet-v7": "Let the newest policy play against v7" },
};
