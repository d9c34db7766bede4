/**
 * The ghost: lets an earlier version of the policy play side 1 of AI vs AI. Keeps the versions that the page has received and
 * tells the show which one plays. The match is not restarted.
 */

import type { Substitute } from "../../match/decider";
import type { Policy } from "../../match/network/policy";
import type { Show } from "../../match/show";
import type { Past } from "./messages";
import { PolicyArchive } from "./policy_archive";

export class EarlierVersion implements Substitute {
  private readonly archive: PolicyArchive;
  private back = 0; // versions behind the one that plays; 0: nobody, Infinity: the first one kept
  private ghost: Policy | null = null;
  private lastReport = ""; // the last report

  constructor(
    private readonly show: Show,
    mostBytes?: number,
  ) {
    this.archive = new PolicyArchive(mostBytes);
  }

  policyOf(side: number): Policy | null {
    return side === 1 && this.show.deciders.mode === "ai_vs_ai" ? this.ghost : null;
  }

  /** A policy that is going to play. */
  add(policy: Policy, replaces = false): void {
    this.archive.add(policy, replaces);
  }

  /** Throws an Error for a number of versions that cannot be meant. */
  goBack(versions: number): void {
    if (!(versions >= 0)) throw new Error(`The ghost needs a number of versions back, 0 or more; got ${versions}.`);
    this.back = versions;
    this.follow();
  }

  /** Keeps its distance from the policy that plays. What the page does not know yet of it; null where it knows all. */
  advance(): Past | null {
    this.follow();
    const report = { versions: this.archive.versions, ghost: this.ghost?.version ?? -1 };
    const text = JSON.stringify(report);
    if (text === this.lastReport) return null;
    this.lastReport = text;
    return report;
  }

  private follow(): void {
    const { version, policy } = this.show.deciders;
    const earlier = this.back > 0 && policy ? this.archive.upTo(version - this.back) : null;
    this.ghost = earlier && earlier.version < version ? earlier : null;
  }
}
