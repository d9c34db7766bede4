/** The features of the page: a line each. */
import { coach } from "./coach/page";
import { dream } from "./dream/page";
import { gate } from "./gate/page";
import { ghost } from "./ghost/page";
import { inPage } from "./in_page/page";
import { league } from "./league/page";
import type { PageFeature } from "./plug";
import { search } from "./search/page";

export const PAGE_FEATURES: readonly PageFeature[] = Object.values<PageFeature>({
  gate,
  search,
  dream,
  ghost,
  coach,
  league,
  inPage,
});
