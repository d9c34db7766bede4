/** Tells the kernel how the match stands on this page and whether somebody looks, and asks for what the page missed while nobody did. */

import type { Reports } from "../host/reports";
import type { KernelLink } from "./kernel_link";

const UNSEEN_MS = 5_000; // a page that was hidden for longer missed rows of the curves: the kernel spares it them

export class Presence {
  private hiddenAt = Number.POSITIVE_INFINITY; // ms, when the page was hidden

  /** `hidden` is called when the page is hidden. Ends with `signal`. */
  constructor(
    private readonly kernel: KernelLink,
    private readonly reports: Reports,
    private readonly hidden: () => void,
    signal: AbortSignal,
  ) {
    document.addEventListener("visibilitychange", () => this.changed(), { signal });
  }

  /** At most once a second and only while somebody looks; `now` tells it all the same. */
  tell(now = false): void {
    const { fps, tick, score, version } = this.reports.state;
    this.kernel.sendPageState({ fps, renderer: this.reports.renderer, tick, score, version, visible: !document.hidden }, now);
  }

  private changed(): void {
    this.tell(true);
    const now = performance.now();
    if (document.hidden) this.hidden();
    else if (now - this.hiddenAt > UNSEEN_MS) this.kernel.greet();
    this.hiddenAt = now;
  }
}
