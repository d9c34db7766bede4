/**
 * Forgets everything that was learned, and keeps it for a while as the file that the kernel packs: policy, optimiser, league. Undo loads
 * that file again and puts the curves back.
 */
import type { Model } from "../contract/model";
import type { MetricsRow, PageToKernel } from "../contract/protocol";
import type { Events, SessionEvents } from "./events";
import { fetchPolicy, sendPolicy } from "./policy_files";

export const UNDO_SECONDS = 10;
const PACKING_MS = 10_000; // without a file by then nothing is forgotten
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
  updates: number;
}

export class Forgetting {
  kept: Kept | null = null; // what Undo would bring back
  left = 0; // s until it is gone
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly ends: Ends,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearInterval(this.timer), { once: true });
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
    const file = await Promise.race([fetchPolicy(this.ends, waiting.signal), late]);
    waiting.abort();
    if (this.signal.aborted) return;
    if (!file) {
      events.emit("notice", NOT_PACKED);
      return;
    }
    const { rows } = history;
    const kept = { file, rows: [...rows], updates: rows.at(-1)?.updates ?? 0 };
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
    clearInterval(this.timer);
    this.kept = kept;
    this.left = UNDO_SECONDS;
    this.timer = setInterval(() => {
      this.left -= 1;
      if (this.left <= 0) this.drop();
      else this.ends.events.emit("forgotten", undefined);
    }, 1000);
    this.ends.events.emit("forgotten", undefined);
  }

  private drop(): void {
    clearInterval(this.timer);
    this.kept = null;
    this.ends.events.emit("forgotten", undefined);
  }
}
