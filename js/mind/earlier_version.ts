/**
 * The ghost: lets an earlier version of the policy play side 1 of AI vs AI. Keeps the versions that the page has received and
 * tells the show which one plays. The match is not restarted.
 */

import type { FromWorker } from "../contract/protocol";
import type { Policy } from "../match/policy";
import type { Show } from "../match/show";
import { PolicyArchive } from "./policy_archive";

type Report = Omit<Extract<FromWorker, { type: "PAST" }>, "type" | "id">;

export class EarlierVersion {
  private readonly archive: PolicyArchive;
  private back = 0; // versions behind the one that plays; 0: nobody, Infinity: the first one kept
  private lastReport = ""; // the last report

  constructor(
    private readonly show: Show,
    mostBytes?: number,
  ) {
    this.archive = new PolicyArchive(mostBytes);
  }

  /** A policy that is going to play. */
  add(policy: Policy): void {
    this.archive.add(policy);
  }

  /** Throws an Error for a number of versions that cannot be meant. */
  goBack(versions: number): void {
    if (!(versions >= 0)) throw new Error(`The ghost needs a number of versions back, 0 or more; got ${versions}.`);
    this.back = versions;
    this.follow();
  }

  /** Keeps its distance from the policy that plays. What the page does not know yet of it; null where it knows all. */
  advance(): Report | null {
    this.follow();
    const report = { versions: this.archive.versions, ghost: this.show.deciders.ghost?.version ?? -1 };
    const text = JSON.stringify(report);
    if (text === this.lastReport) return null;
    this.lastReport = text;
    return report;
  }

  private follow(): void {
    const { version, policy } = this.show.deciders;
    const earlier = this.back > 0 && policy ? this.archive.upTo(version - this.back) : null;
    this.show.deciders.ghost = earlier && earlier.version < version ? earlier : null;
  }
}
