/**
 * Frame callbacks of a thread: requestAnimationFrame, or a timer where the thread has none or where they have ended. In Chromium (seen in
 * 156) a worker gets no frame any more once the browser's GPU process has died, though the page does.
 */
const FRAME_MS = 1000 / 60;
const PATIENCE_MS = 2000;

export class Frames {
  private timed = typeof requestAnimationFrame === "undefined";
  private waiting: (() => void) | null = null;
  private asked = 0; // ms
  private guarded = false;

  /** `wanted`: whether anybody looks, for a hidden page rightly gets no frames. `ended` is called once when a timer takes over. */
  constructor(
    private readonly wanted: () => boolean,
    private readonly ended: () => void,
  ) {}

  /** Calls `draw` at the next frame. */
  next(draw: () => void): void {
    if (this.timed) {
      setTimeout(draw, FRAME_MS);
      return;
    }
    this.waiting = draw;
    this.asked = performance.now();
    requestAnimationFrame(this.come);
    this.guard();
  }

  private readonly come = (): void => {
    const draw = this.waiting;
    this.waiting = null;
    draw?.();
  };

  private guard(): void {
    if (this.guarded) return;
    this.guarded = true;
    setTimeout(this.look, PATIENCE_MS);
  }

  private readonly look = (): void => {
    this.guarded = false;
    if (!this.waiting || this.timed) return;
    if (performance.now() - this.asked < PATIENCE_MS || !this.wanted()) {
      this.guard();
      return;
    }
    this.timed = true;
    this.ended();
    this.come();
  };
}
