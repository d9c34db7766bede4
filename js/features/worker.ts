/** The features of the show worker: a line each. The first that decides for a side does so. */
import { gate } from "./gate/worker";
import type { ShowFeature } from "./plug";

export const SHOW_FEATURES: readonly ShowFeature[] = Object.values<ShowFeature>({
  gate,
});
