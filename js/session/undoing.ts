/**
 * Undo of what a person did to the policy: of *Forget everything* and of *Train*. What was learned before is kept as the file that the
 * kernel packs: policy, optimiser, league. Undo loads it again and puts curves and league back. Forgetting can be undone until something is
 * learned again, and for ten seconds at least; training, from its end until it begins again.
 */
import { listen, type Model } from "../contract/model";
import type { LeagueRow, MetricsRow, PageToKernel } from "../contract/protocol";
import type { Events, SessionEvents } from "./events";
import { fetchPolicy, sendPolicy } from "./kernel/policy_files";

const UNDO_MS = 10_000;
const PACKING_MS = 20_000; // without a file by then nothing is forgotten: a learner may have to finish an update first
const MOST_ROWS = 500; // that the kernel gets back of the curves, as many as it sends
const NOT_PACKED = "What was learned could not be saved for Undo, so nothing was forgotten.";
/** The name of what Undo loads: no file that anybody saved has it. */
export const BEFORE = "what was learned before";

/** What it needs of a session. */
interface Ends {
  readonly model: Model;
  readonly events: Events<SessionEvents>;
  readonly kernel: { readonly connected: boolean; send(message: PageToKernel, buffers?: ArrayBuffer[]): void };
  readonly history: { readonly rows: readonly MetricsRow[]; replace(start: number, rows: readonly MetricsRow[]): void };
  train(): void;
}

interface Kept {
  of: "forgetting" | "training";
  file: File | null; // null: nothing had been learned
  version: number; // of the policy
  rows: readonly MetricsRow[];
  league: LeagueRow[];
  updates: number;
}

export class Undoing {
  private held: Kept | null = null;
  private least = 0; // ms: until then forgetting can be undone whatever happens
  private timer: ReturnType<typeof setTimeout> | undefined;
  private deeds = 0; // of a person: what is packed for one is of no use once there is another
  private learned = 0; // updates since Train
  private seen: number | null = 0; // updates in the newest metrics; null: these do not say

  constructor(
    private readonly ends: Ends,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearTimeout(this.timer), { once: true });
    this.count();
    ends.events.on("history", () => this.count(), signal);
    ends.events.on("history", () => this.look(), signal);
    ends.events.on("status", () => this.tell(), signal);
  }

  /** What Undo would take back now, and the updates that it would lose or bring back; null: nothing. */
  get offered(): { of: Kept["of"]; updates: number } | null {
    const { held, learned } = this;
    if (!this.ends.kernel.connected) return null; // nobody is there to bring anything back
    if (held?.of !== "training") return held && { of: held.of, updates: held.updates };
    return this.ends.model.get("status") === "stopped" && learned > 0 ? { of: "training", updates: learned } : null;
  }

  /** Forgets everything; at once where nothing was learned. */
  async forget(): Promise<void> {
    const { kernel, events } = this.ends;
    const now = this.now("forgetting");
    this.deeds += 1;
    if (now.version === 0) {
      this.drop();
      kernel.send({ type: "RESET_TRAINER" });
      return;
    }
    const packed = await this.pack().catch((error: Error) => error);
    if (this.signal.aborted) return;
    if (!(packed instanceof File)) {
      events.emit("notice", packed ? `${NOT_PACKED} ${packed.message}` : `${NOT_PACKED} Try again.`);
      return;
    }
    const kept = this.now("forgetting", packed); // a learner that was training has learned more meanwhile
    kernel.send({ type: "RESET_TRAINER" });
    this.keep(kept);
  }

  /** Trains. What was learned before is packed first; training does not wait for it. */
  async train(): Promise<void> {
    const now = this.now("training");
    const deed = ++this.deeds;
    this.learned = 0;
    const packing = now.version > 0 && this.ends.kernel.connected ? this.pack() : null;
    this.drop();
    this.ends.train();
    if (!packing) this.keep(now);
    const file = await packing?.catch(() => null); // then there is nothing to undo
    if (this.signal.aborted || deed !== this.deeds) return;
    if (file && versionOf(file) === now.version) this.keep({ ...now, file }); // else it learned meanwhile
  }

  async undo(): Promise<void> {
    const { held } = this;
    const { events, history, kernel, model } = this.ends;
    if (!held || !kernel.connected) return;
    this.deeds += 1;
    this.drop();
    if (!held.file) return this.forget(); // which can be undone, too
    const { file, version, rows, league } = held;
    const back = this.until(PACKING_MS); // a file that is refused brings no curves back
    const run = model.get("policy")?.run; // which may be at that version, too; kernels of earlier releases count none
    const restore = () => {
      const policy = model.get("policy");
      if (policy?.version !== version || (run !== undefined && policy.run === run)) return;
      back.abort();
      const stride = Math.ceil(rows.length / MOST_ROWS) || 1;
      kernel.send({ type: "RESTORE_HISTORY", rows: rows.filter((_, k) => (rows.length - 1 - k) % stride === 0) });
      history.replace(0, rows);
      model.set("league", league);
      events.emit("history", undefined);
    };
    await sendPolicy(this.ends, new File([file], BEFORE));
    events.on("history", restore, back.signal);
    listen(model, "change:policy", () => queueMicrotask(() => !back.signal.aborted && restore()), back.signal); // after what comes with it
  }

  /** Everything that was learned so far, as a file; null where the kernel does not hand it over in time. Rejects where it cannot. */
  private async pack(): Promise<File | null> {
    const waiting = this.until(PACKING_MS);
    const late = new Promise<null>((resolve) => waiting.signal.addEventListener("abort", () => resolve(null), { once: true }));
    try {
      return await Promise.race([fetchPolicy(this.ends, waiting.signal, true), late]);
    } finally {
      waiting.abort();
    }
  }

  /** What there is now; of a `file`, what it holds of that. */
  private now(of: Kept["of"], file: File | null = null): Kept {
    const { model, history } = this.ends;
    const version = (file && versionOf(file)) ?? model.get("policy")?.version ?? 0;
    const rows = file ? history.rows.filter((row) => (row.version ?? 0) <= version) : [...history.rows];
    return { of, file, version, rows, league: model.get("league"), updates: rows.at(-1)?.updates ?? 0 };
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
    this.held = kept;
    this.least = performance.now() + UNDO_MS;
    this.timer = setTimeout(() => this.look(), UNDO_MS);
    this.tell();
  }

  /** Counts what a learner here reports. A policy that is loaded brings updates of another training, and no rates of this machine. */
  private count(): void {
    const metrics = this.ends.model.get("metrics") ?? {};
    const { updates = Object.keys(metrics).length ? null : 0, agent_steps_per_second: rate } = metrics;
    const reported = rate !== undefined && this.ends.model.get("status") !== "starting"; // then they are of the run before
    if (reported && updates !== null && this.seen !== null) this.learned += Math.max(0, updates - this.seen);
    this.seen = updates;
  }

  /** After forgetting, something was learned again: there is nothing to go back to any more. */
  private look(): void {
    if (this.held?.of === "forgetting" && performance.now() >= this.least && this.ends.model.get("policy")?.version) this.drop();
    else if (this.held?.of === "training") this.tell();
  }

  private drop(): void {
    clearTimeout(this.timer);
    this.held = null;
    this.tell();
  }

  private tell(): void {
    this.ends.events.emit("undoable", undefined);
  }
}

/** Of the policy in a file that the kernel packed: its name says it. */
function versionOf(file: File): number | null {
  const found = /-v(\d+)\.dshq$/.exec(file.name);
  return found && Number(found[1]);
}
