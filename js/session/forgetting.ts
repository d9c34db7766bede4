/**
 * Forgets everything that was learned, and keeps it as the file that the kernel packs: policy, optimiser, league. Undo loads that file
 * again and puts curves and league back. It can be undone until something is learned anew, and for ten seconds at least.
 */
import type { Model } from "../contract/model";
import type { LeagueRow, MetricsRow, PageToKernel } from "../contract/protocol";
import type { Events, SessionEvents } from "./events";
import { fetchPolicy, sendPolicy } from "./policy_files";

const UNDO_MS = 10_000;
const PACKING_MS = 20_000; // without a file by then nothing is forgotten: a learner may have to finish an update first
const NOT_PACKED = "What was learned could not be kept for Undo, so nothing was forgotten. Try again.";

/** What forgetting needs of a session. */
interface Ends {
  readonly model: Model;
  readonly events: Events<SessionEvents>;
  readonly kernel: { send(message: PageToKernel, buffers?: ArrayBuffer[]): void };
  readonly history: { readonly rows: readonly MetricsRow[]; replace(start: number, rows: readonly MetricsRow[]): void };
}

interface Kept {
  file: File;
  rows: readonly MetricsRow[];
  league: LeagueRow[];
  updates: number;
}

export class Forgetting {
  kept: Kept | null = null; // what Undo would bring back
  private least = 0; // ms: until then it can be undone whatever happens
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly ends: Ends,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearTimeout(this.timer), { once: true });
    ends.events.on("history", () => this.look(), signal);
  }

  /** At once where nothing was learned. */
  async start(): Promise<void> {
    const { model, kernel, history, events } = this.ends;
    if (!model.get("policy")?.version) {
      kernel.send({ type: "RESET_TRAINER" });
      return;
    }
    const waiting = this.until(PACKING_MS);
    const late = new Promise<null>((resolve) => waiting.signal.addEventListener("abort", () => resolve(null), { once: true }));
    const file = await Promise.race([fetchPolicy(this.ends, waiting.signal, true), late]);
    waiting.abort();
    if (this.signal.aborted) return;
    if (!file) {
      events.emit("notice", NOT_PACKED);
      return;
    }
    const { rows } = history;
    const kept = { file, rows: [...rows], league: model.get("league"), updates: rows.at(-1)?.updates ?? 0 };
    kernel.send({ type: "RESET_TRAINER" });
    this.keep(kept);
  }

  async undo(): Promise<void> {
    const { kept } = this;
    if (!kept) return;
    this.drop();
    await sendPolicy(this.ends, kept.file);
    const back = this.until(PACKING_MS); // a file that is refused brings no curves back
    const { events, history, model } = this.ends;
    const restore = () => {
      if (!model.get("policy")?.version) return;
      back.abort();
      history.replace(0, kept.rows);
      model.set("league", kept.league);
      events.emit("history", undefined);
    };
    events.on("history", restore, back.signal);
  }

  /** Aborts after that long (ms), and with the session. */
  private until(ms: number): AbortController {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), ms);
    ending.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    this.signal.addEventListener("abort", () => ending.abort(), { once: true });
    return ending;
  }

  private keep(kept: Kept): void {
    clearTimeout(this.timer);
    this.kept = kept;
    this.least = performance.now() + UNDO_MS;
    this.timer = setTimeout(() => this.look(), UNDO_MS);
    this.ends.events.emit("forgotten", undefined);
  }

  /** Something was learned anew: there is nothing to go back to any more. */
  private look(): void {
    if (this.kept && performance.now() >= this.least && this.ends.model.get("policy")?.version) this.drop();
  }

  private drop(): void {
    clearTimeout(this.timer);
    this.kept = null;
    this.ends.events.emit("forgotten", undefined);
  }
}
