/**
 * Schedules the drawing of curves. New rows only mark curves as outdated; a timer draws one at a time, each once a second, so that no
 * frame of the match waits for all of them.
 */
import type { Figure } from "./figure";

const EVERY_MS = 1000; // between two drawings of a curve

export class Redraw {
  private readonly behind = new Set<Figure>(); // whose curve has points that are not drawn yet
  private readonly seen = new Set<Element>();
  private readonly frames = { all: 0, next: 0 }; // requested

  /** Draws while any of `parts` is on the screen, until `signal` ends. */
  constructor(
    private readonly figures: readonly Figure[],
    private readonly draw: (figure: Figure) => void,
    parts: readonly HTMLElement[],
    signal: AbortSignal,
  ) {
    let clock: ReturnType<typeof setTimeout>;
    const tick = () => {
      this.requestNext();
      clock = setTimeout(tick, EVERY_MS / Math.max(1, figures.length)); // curves come and go
    };
    tick();
    const visibility = new IntersectionObserver((entries) => this.follow(entries));
    for (const part of parts) visibility.observe(part);
    const end = () => {
      clearTimeout(clock);
      cancelAnimationFrame(this.frames.all);
      cancelAnimationFrame(this.frames.next);
      visibility.disconnect();
    };
    signal.addEventListener("abort", end, { once: true });
  }

  /** The curves are other ones. */
  forget(): void {
    this.behind.clear();
  }

  /** Every curve has new points. */
  mark(): void {
    for (const figure of this.figures) this.behind.add(figure);
  }

  /** Every curve is drawn at the next frame. */
  all(): void {
    this.mark();
    this.requestAll();
  }

  private get drawable(): boolean {
    return this.seen.size > 0 && !document.hidden;
  }

  private follow(entries: readonly IntersectionObserverEntry[]): void {
    for (const { isIntersecting, target } of entries) this.seen[isIntersecting ? "add" : "delete"](target);
    if (this.seen.size && this.behind.size) this.requestAll();
  }

  private requestAll(): void {
    this.frames.all ||= requestAnimationFrame(() => {
      this.frames.all = 0;
      if (this.drawable) for (const figure of [...this.behind]) this.drawNow(figure);
    });
  }

  private requestNext(): void {
    if (this.behind.size === 0) return;
    this.frames.next ||= requestAnimationFrame(() => {
      this.frames.next = 0;
      const [figure] = this.behind;
      if (figure && this.drawable) this.drawNow(figure);
    });
  }

  private drawNow(figure: Figure): void {
    this.behind.delete(figure);
    this.draw(figure);
  }
}
