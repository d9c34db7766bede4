/** Tells the page how a widget's match stands, on a beat or because somebody asked. */
import type { ToPage } from "../contract/protocol";
import type { MatchPart } from "../features/plug";
import type { Show } from "../match/show";
import { holderOf } from "../mind/analysis";
import type { Pace } from "./pace";

const BEAT_MS = 250; // between two STATEs; whatever else the page receives as time goes by comes with them
const SLOW_BEAT_MS = 500; // where frames are few: a page that changes is composed again, and whole where no GPU does it
const SPARING_BEAT_MS = 1000; // while training wants the processor, too
const FEW_FRAMES = 45; // a second
const SNAPSHOT_BEATS = 4; // between two SNAPSHOTs

export class Reporter {
  private reportedAt = -Infinity; // ms: when STATE was last posted
  private beatsSinceSnapshot = Infinity; // beats since SNAPSHOT was last posted
  private stateDirty = true; // something changed since STATE was posted
  private snapshotDirty = true; // and since SNAPSHOT was
  private scoresReported = 0; // finished games when SCORES was last posted

  constructor(
    private readonly post: ToPage,
    private readonly pace: Pace,
  ) {}

  /** Whoever asked sees the answer at the next frame. */
  ask(): void {
    this.reportedAt = -Infinity;
    this.beatsSinceSnapshot = Infinity;
  }

  /** The match is another one than when it was reported. */
  changed(): void {
    this.stateDirty = this.snapshotDirty = true;
  }

  /** Whether there is something to report. */
  get due(): boolean {
    return this.stateDirty || this.snapshotDirty;
  }

  /** Reports what is seen, if it is time; whether it was. `sparing`: something trains on this machine. */
  report(show: Show, parts: readonly MatchPart[], sparing: boolean, now: number): boolean {
    const fps = this.pace.fps(now);
    const asked = this.reportedAt === -Infinity;
    const slow = sparing ? SPARING_BEAT_MS : SLOW_BEAT_MS;
    const beat = show.playing && fps < FEW_FRAMES ? slow : BEAT_MS;
    if (!asked && !(this.due && now - this.reportedAt >= beat)) return false;
    this.reportedAt = now;
    this.stateDirty = false;
    const { tick, version, playing } = show;
    const events = show.takeEvents();
    const frame_ms = this.pace.gap;
    const holder = holderOf(show.spec, show.state);
    const lively = show.touches.report();
    this.post({ type: "STATE", tick, score: [...show.score], version, fps, frame_ms, playing, events, holder, lively, ...show.deciders.opinion(show.state) });
    for (const part of parts) part.report?.();
    if (!show.script) this.reportMatch(show); // what is kept is the live match
    return true;
  }

  private reportMatch(show: Show): void {
    if (++this.beatsSinceSnapshot < SNAPSHOT_BEATS || !(this.snapshotDirty || this.beatsSinceSnapshot === Infinity)) return;
    this.beatsSinceSnapshot = 0;
    this.snapshotDirty = false;
    this.post({ type: "SNAPSHOT", ...show.snapshot() });
    if (show.scores.changes === this.scoresReported) return;
    this.scoresReported = show.scores.changes;
    this.post({ type: "SCORES", episodes: [...show.scores.episodes] });
  }
}
