/** How many frames are drawn, and how evenly. */
const FPS_WINDOW_MS = 1000;
const GAPS = 200; // between frames, of which the 95th percentile is reported

export class Pace {
  private readonly frames: number[] = []; // ms: when the frames of the last second were drawn
  private readonly gaps: number[] = []; // ms between the last frames
  private drewAt = -Infinity; // ms

  drawn(now: number): void {
    this.frames.push(now);
    this.fps(now);
    if (now - this.drewAt < FPS_WINDOW_MS) this.gaps.push(now - this.drewAt); // else it stood still in between
    if (this.gaps.length > GAPS) this.gaps.shift();
    this.drewAt = now;
  }

  /** Frames of the last second. */
  fps(now: number): number {
    while (this.frames.length > 0 && this.frames[0]! <= now - FPS_WINDOW_MS) this.frames.shift();
    return this.frames.length;
  }

  /** Within which 95 of 100 frames came after the one before; 0 before any. */
  get gap(): number {
    return [...this.gaps].sort((a, b) => a - b)[Math.floor(0.95 * this.gaps.length)] ?? 0;
  }
}
