/** The page's half of the ghost: its link and its panel. */
import type { PageFeature } from "../plug";
import { GhostLink } from "./link";
import { panel } from "./panel";

export const ghost: PageFeature = { link: GhostLink, panels: { ghost: panel } };
