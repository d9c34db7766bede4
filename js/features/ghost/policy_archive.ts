/**
 * Archive of the policies that a match has received, for the ghost. Its size in bytes is bounded: when it is full, it thins out the
 * middle of the training and keeps the first and the latest versions.
 */
import { countFloats } from "../../match/network/layers";
import type { Policy } from "../../match/network/policy";

export const MOST_BYTES = 4 << 20; // of weights: about 130 versions of the usual network (28-64-64-31)
const FEWEST = 8; // versions that are kept however large they are

export class PolicyArchive {
  private kept: Policy[] = []; // by version, rising

  constructor(private readonly mostBytes = MOST_BYTES) {}

  /** By rising version; the first one is the earliest that was ever seen. */
  get versions(): number[] {
    return this.kept.map(({ version }) => version);
  }

  /** Keeps one more. A version that is no later than what is kept means that training went back: what came after it is forgotten. One that `replaces` them is of another run. */
  add(policy: Policy, replaces = false): void {
    const earlier = replaces ? [] : this.kept.filter(({ version }) => version < policy.version);
    this.kept = earlier.some(({ layers }) => layers.join() !== policy.layers.join()) ? [policy] : [...earlier, policy];
    const room = Math.max(FEWEST, Math.floor(this.mostBytes / bytesOf(policy)));
    while (this.kept.length > room) this.kept.splice(this.superfluous(), 1);
  }

  /** The latest version kept that is no later than `version`, else the first one; null where none is kept. */
  upTo(version: number): Policy | null {
    return this.kept.findLast((policy) => policy.version <= version) ?? this.kept[0] ?? null;
  }

  /** The one, never the first nor the last, whose neighbours lie closest for how far they are from both ends. */
  private superfluous(): number {
    const [first, last] = [this.kept[0]!.version, this.kept.at(-1)!.version];
    let [chosen, least] = [1, Infinity];
    for (let k = 1; k < this.kept.length - 1; k++) {
      const { version } = this.kept[k]!;
      const gap = this.kept[k + 1]!.version - this.kept[k - 1]!.version;
      const weight = gap / Math.min(version - first, last - version);
      if (weight < least) [chosen, least] = [k, weight];
    }
    return chosen;
  }
}

function bytesOf({ layers }: Policy): number {
  return 4 * countFloats(layers);
}
