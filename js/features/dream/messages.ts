/** What page and show worker say to one another about a policy that plays in the kernel. */

declare module "../../contract/protocol" {
  interface FeatureToWorker {
    PLAN_AHEAD: { on: boolean }; // side 0's policy is elsewhere; a plan that was there is void
    AHEAD: { plan: number; version: number; decisions: number[][] }; // tick, sum of the state, actions
  }
  interface FeatureFromWorker {
    WANTED: { plan: number; tick: number; state: string; repeat: number; opponent: string }; // to be played elsewhere from here
    DECIDED: { plan: number; tick: number; left: number }; // the last decision taken, and how many wait
  }
}

export type {};
