/** The features' parts in a live match. */
import type { LiveMatch, MatchPart, ShowFeature } from "../features/plug";

/** Begins them, in the order of the features. */
export function beginParts(features: readonly ShowFeature[], match: LiveMatch): readonly MatchPart[] {
  const parts = features.map((feature) => feature.begin(match));
  match.show.deciders.add(...parts);
  return parts;
}
