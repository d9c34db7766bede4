/** The page's half of the dream: its link and its panel. */
import type { PageFeature } from "../plug";
import { DreamLink } from "./link";
import { panel } from "./panel";

export const dream: PageFeature = { link: DreamLink, panels: { dream: panel } };
