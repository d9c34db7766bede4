/** The page's half of the league, and all of it: its panel. */
import type { PageFeature } from "../plug";
import { panel } from "./panel";

export const league: PageFeature = { panels: { league: panel } };
