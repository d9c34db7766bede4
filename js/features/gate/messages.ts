/** What page and show worker say to one another about the gate. */

/** What the queen of the Territory Drill may spawn. */
export type SpawnKind = "energy" | "combat";

/** What the gate judges by; all but `epsilon`, the present exploration bonus, are settings of the algorithm `gate`. */
export interface GateSettings {
  survival_weight: number;
  disruption_weight: number;
  location_weight: number;
  threshold: number;
  mode: string; // "ungated": everything affordable is sent
  epsilon: number;
}

/** Expected reward above or below the threshold at which the map of it has its strongest colours. */
export const EXPECTED_RANGE = 0.3;

/** What the network proposed at a decision, what the gate said, and what came of it. */
export interface Proposal {
  tick: number;
  chunk: number; // z * 20 + x
  kind: SpawnKind;
  confidence: number; // its probability among all spawns
  components: number[]; // survival, disruption, location, capacity (1: can pay), exploration
  expected: number; // reward; -1: cannot pay
  signal: number; // expected less the threshold, -1..1
  sent: boolean;
  outcome: number | null; // reward of its window; null until that is over, and for good where nothing was sent
  survived: boolean | null; // whether the parasite lives then
}

declare module "../../contract/protocol" {
  interface FeatureToWorker {
    GATE: { settings: GateSettings | null }; // null: no gate
    EXPECTED: { kind: SpawnKind | "" }; // of whose spawns the expected reward is on the map; "": of none
  }
  interface FeatureFromWorker {
    PROPOSALS: { proposals: Proposal[] }; // since the last beat, newest last; again once the outcome is known
  }
}
