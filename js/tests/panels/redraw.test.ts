// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Figure } from "../../panels/charts/figure";
import { Redraw } from "../../panels/charts/redraw";

let onScreen: (entries: { isIntersecting: boolean; target: Element }[]) => void;
const ending = new AbortController();

beforeEach(() => {
  vi.useFakeTimers();
  class Seen {
    constructor(follow: typeof onScreen) {
      onScreen = follow;
    }
    observe(): void {}
    disconnect(): void {}
  }
  vi.stubGlobal("IntersectionObserver", Seen);
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 0));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
});
afterEach(() => {
  ending.abort();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it("draws each curve once a second, also those that came after it began with none", () => {
  const figures: Figure[] = [];
  const drawn: Figure[] = [];
  const redraw = new Redraw(figures, (figure) => drawn.push(figure), [], ending.signal);
  onScreen([{ isIntersecting: true, target: document.body }]);
  expect(vi.getTimerCount(), "one clock, which does not spin").toBeLessThan(3);
  vi.advanceTimersByTime(2000);
  figures.push(...Array.from({ length: 4 }, (_, k) => ({ name: k }) as unknown as Figure));
  for (let second = 0; second < 5; second++) {
    for (let row = 0; row < 20; row++) {
      redraw.mark();
      vi.advanceTimersByTime(50);
    }
  }
  expect(drawn.length).toBeGreaterThanOrEqual(12);
  expect(drawn.length, "not at every row").toBeLessThanOrEqual(24);
});
