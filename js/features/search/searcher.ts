/** Lets search decide for the side that the policy plays, and keeps count of the time that it takes. */
import type { Decider, Turn } from "../../match/decider";
import type { Show } from "../../match/show";
import type { SearchSettings } from "./messages";
import { Search, type Witness } from "./search";

const LATELY = 0.1; // share of the latest decision in the average time

export class Searcher implements Decider {
  readonly slow = true;
  search: Search | null = null; // null: off
  ms = 0; // a decision takes, on average of late; 0 before the first
  private witness: Witness | null = null; // of the next decision
  private sight = 0; // seconds that the witness sees ahead; search itself looks as far as it is set to
  sightMs = 0; // what the last look of a witness took, beyond the search

  constructor(private readonly show: Show) {}

  /** The side that it decides for, -1: none. It is the policy's: blue, or orange where a person plays blue. */
  get side(): number {
    const { deciders } = this.show;
    const side = deciders.played(0) ? 1 : 0;
    return deciders.otherFor(side) === this ? side : -1;
  }

  decides(side: number): boolean {
    const { deciders, spec } = this.show;
    const own = side < spec.sides && deciders.policyOf(side) === deciders.policy && side === (deciders.played(0) ? 1 : 0);
    return this.search !== null && own && !deciders.policy?.remembers;
  }

  /** Decide by these settings from now on; null: not at all. Throws an Error for numbers that make no search. */
  set(settings: SearchSettings | null): void {
    if (settings && !(settings.num_particles >= 1 && settings.search_depth >= 1)) {
      throw new Error(`Search needs one particle and one decision at least; got ${settings.num_particles} and ${settings.search_depth}.`);
    }
    this.search = settings && new Search(this.show.game, this.show.spec, settings);
    this.ms = 0;
  }

  /** Who sees the next decision, and that many seconds ahead; null: nobody. */
  watchedBy(witness: Witness | null, sight: number): void {
    this.witness = witness;
    this.sight = sight;
  }

  /** The action that search takes in this state, which is left alone, as is the match's generator. Only while it is on. */
  decide({ state, side, tick, actionRepeat }: Turn): number {
    const { deciders, spec, now } = this.show;
    const [search, policy] = [this.search!, deciders.policy!];
    const root = { state, side, actionRepeat, seed: state.rng_key[0]! ^ Math.imul(tick + 1, 0x9e3779b9) };
    const start = now();
    const action = search.decide(policy, root, deciders.imagined, this.witness);
    const ms = now() - start;
    this.ms += (this.ms === 0 ? 1 : LATELY) * (ms - this.ms);
    if (!this.witness) return action;
    const ahead = Math.ceil((this.sight * spec.tick_rate) / actionRepeat);
    search.playOn(policy, root, deciders.imagined, ahead - search.settings.search_depth);
    this.sightMs = now() - start - ms;
    return action;
  }
}
