/** The features of the show worker: a line each. The first that decides for a side does so. */
import { dream } from "./dream/worker";
import { gate } from "./gate/worker";
import { ghost } from "./ghost/worker";
import type { ShowFeature } from "./plug";
import { search } from "./search/worker";

export const SHOW_FEATURES: readonly ShowFeature[] = Object.values<ShowFeature>({
  gate,
  search,
  dream,
  ghost,
});
