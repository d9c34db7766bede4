/**
 * The settings of the show: those that all pages and Python share in the trait `show`, and over them what a duel shows on this page alone.
 * What a person has just chosen stands against what was under way from the kernel.
 */
import type { Model } from "../contract/model";
import type { ShowTrait } from "../contract/protocol";
import { SHOW_DEFAULTS } from "../contract/tables";

type Change = Partial<ShowTrait>;

const CLAIM_MS = 1500; // how long a choice made here stands against what was under way from the kernel

export class SharedShow {
  private own: Change = {};
  /** What a person has just chosen: what the kernel sent before it received it must not undo it. */
  private claim: { change: Change; until: number } | null = null;

  /** `save` sends the trait, `changed` is called when this page's own part is another one. */
  constructor(
    private readonly model: Pick<Model, "get" | "set">,
    private readonly save: () => void,
    private readonly changed: () => void,
  ) {}

  /** As everybody has it. */
  get shared(): ShowTrait {
    return { ...SHOW_DEFAULTS, ...this.model.get("show") };
  }

  /** As this page shows it. */
  get here(): ShowTrait {
    return { ...this.shared, ...this.own };
  }

  /** Whether this page shows something of its own. */
  get alone(): boolean {
    return Object.keys(this.own).length > 0;
  }

  /** Changes it for everybody: this page, other views, Python. In a duel playing, speed and match are this page's own. */
  set(given: Change): void {
    const { playing, speed, match, ...others } = given;
    const duelling = this.alone;
    const mine = Object.entries({ playing, speed, match }).filter(([, value]) => duelling && value !== undefined);
    if (mine.length > 0) this.setOwn(Object.fromEntries(mine));
    const change: Change = duelling ? others : given;
    if (Object.keys(change).length === 0) return;
    const now = performance.now();
    const still = this.claim && now < this.claim.until ? this.claim.change : {};
    this.claim = { change: { ...still, ...change }, until: now + CLAIM_MS };
    this.write(change);
  }

  /** Changes it on this page alone; null: back to what everybody sees. */
  setOwn(change: Change | null): void {
    this.own = change ? { ...this.own, ...change } : {};
    this.changed();
  }

  /** After the trait has changed: whether that undid a choice made here, which then was made once more. If the kernel insists, it is right. */
  insisted(): boolean {
    const { claim } = this;
    if (!claim || performance.now() >= claim.until) return false;
    const keys = Object.keys(claim.change) as (keyof ShowTrait)[];
    if (keys.every((key) => this.shared[key] === claim.change[key])) return false;
    this.claim = null;
    this.write(claim.change);
    return true;
  }

  private write(change: Change): void {
    this.model.set("show", { ...this.shared, ...change });
    this.save();
  }
}
