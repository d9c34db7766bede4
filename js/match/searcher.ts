/** Lets search decide for the side that the policy plays, and keeps count of the time that it takes. */
import type { DrillSpec, SearchSettings } from "../contract/protocol";
import type { Policy } from "./policy";
import type { Game } from "./rules";
import { type Other, type Root, Search, type Witness } from "./search";

const LATELY = 0.1; // share of the latest decision in the average time

export class Searcher {
  search: Search | null = null; // null: off
  ms = 0; // a decision takes, on average of late; 0 before the first
  witness: Witness | null = null; // of the next decision
  sight = 0; // seconds that the witness sees ahead; search itself looks as far as it is set to
  sightMs = 0; // what the last look of a witness took, beyond the search

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
    private readonly now: () => number,
  ) {}

  /** Decide by these settings from now on; null: not at all. Throws an Error for numbers that make no search. */
  set(settings: SearchSettings | null): void {
    if (settings && !(settings.num_particles >= 1 && settings.search_depth >= 1)) {
      throw new Error(`Search needs one particle and one decision at least; got ${settings.num_particles} and ${settings.search_depth}.`);
    }
    this.search = settings && new Search(this.game, this.spec, settings);
    this.ms = 0;
  }

  /** The action that search takes. Only while it is on. */
  decide(policy: Policy, root: Root, other: Other): number {
    const search = this.search!;
    const start = this.now();
    search.witness = this.witness;
    const action = search.decide(policy, root, other);
    const ms = this.now() - start;
    this.ms += (this.ms === 0 ? 1 : LATELY) * (ms - this.ms);
    if (!this.witness) return action;
    const ahead = Math.ceil((this.sight * this.spec.tick_rate) / root.actionRepeat);
    search.playOn(policy, root, other, ahead - search.settings.search_depth);
    this.sightMs = this.now() - start - ms;
    return action;
  }
}
