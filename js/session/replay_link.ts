/** A saved replay in the place of the live match: begins it, knows where it ends, and goes back. */
import type { FromWorker, Recording } from "../contract/protocol";
import { readReplay } from "../match/replay_file";
import type { Ends, Link } from "./link";

export class ReplayLink implements Link {
  recording: Recording | null = null; // that is played; null: the live match is
  private answer: (problem: string) => void = () => undefined;
  private loading: Promise<void> = Promise.resolve(); // the one before: each answer is for one
  private drills = 0; // that were shown

  constructor(
    private readonly ends: Ends,
    signal: AbortSignal,
  ) {
    ends.events.on("state", ({ tick, playing }) => this.follow(tick, playing), signal);
  }

  /** Plays a saved one from its beginning. Rejects with an Error of one or two sentences where the file is none, or none of this drill. */
  async load(file: File): Promise<void> {
    const recording = readReplay(await file.text(), file.name, this.ends.model.get("drill")!.spec);
    const begun = this.loading.then(() => this.start(recording));
    this.loading = begun.catch(() => undefined);
    await begun;
  }

  private async start(recording: Recording): Promise<void> {
    const { id } = this.ends;
    const { drills } = this;
    this.ends.post({ type: "REPLAY", id, recording });
    const problem = await new Promise<string>((resolve) => (this.answer = resolve));
    if (problem) throw new Error(problem);
    if (drills !== this.drills) throw new Error("Another drill has taken the replay's place. Load it again where its drill is shown.");
    this.recording = recording;
    this.ends.events.emit("replay", undefined);
    this.ends.setShow({ playing: true });
  }

  /** Back to the live match, which continues where it stood. */
  end(): void {
    this.leave();
    this.ends.setShow({ playing: true });
  }

  /** The same, and the live match plays or stands still as the replay did. */
  leave(): void {
    if (!this.recording) return;
    this.forget();
    this.ends.post({ type: "REPLAY", id: this.ends.id, recording: null });
  }

  // ---- the session's side

  /** Another drill is shown: there is nothing to go back to. */
  begin(): void {
    this.drills += 1;
    if (this.recording) this.forget();
  }

  receive(message: FromWorker): boolean {
    if (message.type !== "REPLAYING") return false;
    this.answer(message.problem);
    return true;
  }

  private forget(): void {
    this.recording = null;
    this.ends.events.emit("replay", undefined);
  }

  /** The match on the pitch is at `tick`: at the replay's end it stands still. */
  private follow(tick: number, playing: boolean): void {
    if (this.recording && playing && tick >= this.recording.ticks) this.ends.setShow({ playing: false });
  }
}
