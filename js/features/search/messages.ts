/** What page and show worker say to one another about search. */

/** How search decides (docs/explain/search.md). */
export interface SearchSettings {
  num_particles: number; // copies of the match that are played ahead
  search_depth: number; // decisions that they are played ahead
  gamma: number; // discount
  weights: Record<string, number>; // of reward terms by name; those left out weigh what the drill says
}

/** What came of the last decision by search. */
export interface Futures {
  side: number; // that search decides for
  moves: { action: number[]; prior: number; target: number }[]; // the likeliest: the option of each choice, the policy's share, search's
  sizes: number[]; // effective sample size after each decision ahead
  ms: number; // a decision takes, on average of late
}

declare module "../../contract/protocol" {
  interface FeatureToWorker {
    SEARCH: { settings: SearchSettings | null }; // null: the policy alone decides
  }
  interface FeatureFromWorker {
    FUTURES: { futures: Futures | null }; // null: search decides for nobody
  }
}
