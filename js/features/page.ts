/** The features of the page: a line each. */
import { gate } from "./gate/page";
import type { PageFeature } from "./plug";

export const PAGE_FEATURES: readonly PageFeature[] = Object.values<PageFeature>({
  gate,
});
