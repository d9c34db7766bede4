/** What page and show worker say to one another about the ghost. */

/** Versions that are kept, rising, and the one that plays side 1, -1: none. */
export interface Past {
  versions: number[];
  ghost: number;
}

declare module "../../contract/protocol" {
  interface FeatureToWorker {
    PAST: { back: number }; // how many versions behind: who plays side 1 of AI vs AI; 0: nobody else, Infinity: the first
  }
  interface FeatureFromWorker {
    PAST: Past;
  }
}
