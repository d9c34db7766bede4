/**
 * Frame callbacks of a thread: requestAnimationFrame, or a timer where the thread has none or where they have ended. In Chromium (seen in
 * 156) a worker gets no frame any more once the browser's GPU process has died, though the page does.
 */
const FRAME_MS = 1000 / 60;
const LOOK_MS = 2000;
const LATE_MS = 500; // a look that comes later than that says that this thread stood still, or the machine slept
const MISSES = 2; // looks in a row without a frame, while somebody wanted one: between the first and the second the page was surely seen

export class Frames {
  private timed = typeof requestAnimationFrame === "undefined";
  private waiting: (() => void) | null = null;
  private misses = 0;
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
    this.misses = 0;
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
    const due = performance.now() + LOOK_MS;
    setTimeout(() => this.look(due), LOOK_MS);
  }

  private look(due: number): void {
    this.guarded = false;
    if (!this.waiting || this.timed) return;
    this.misses = this.wanted() && performance.now() - due < LATE_MS ? this.misses + 1 : 0;
    if (this.misses < MISSES) {
      this.guard();
      return;
    }
    this.timed = true;
    this.ended();
    this.come();
  }
}
