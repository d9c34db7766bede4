/** The page's half of the coach, and all of it: its panel. */
import type { PageFeature } from "../plug";
import { panel } from "./panel";

export const coach: PageFeature = { panels: { coach: panel } };
