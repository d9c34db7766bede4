/** When a timer takes the place of frames that have ended, and when not. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Frames } from "../../worker/frames";

let wanted = true;
let ended = 0;
let drawn = 0;
let frame: (() => void) | null = null; // what the browser would call

function frames(): Frames {
  return new Frames(
    () => wanted,
    () => ended++,
  );
}

/** Draws for ever. */
function loop(of: Frames): void {
  const draw = () => {
    drawn++;
    of.next(draw);
  };
  of.next(draw);
}

beforeEach(() => {
  [wanted, ended, drawn, frame] = [true, 0, 0, null];
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (come: () => void) => {
    frame = come;
    return 1;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("frames", () => {
  it("are taken over by a timer where none comes though somebody looks", () => {
    loop(frames());
    vi.advanceTimersByTime(5000);
    expect(ended).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(drawn).toBeGreaterThan(30);
  });

  it("have not ended where a page was hidden until just before the look", () => {
    loop(frames());
    wanted = false;
    vi.advanceTimersByTime(2000 * 60 - 10);
    wanted = true; // the first frame needs a moment
    vi.advanceTimersByTime(50);
    frame!();
    vi.advanceTimersByTime(1);
    expect([ended, drawn]).toEqual([0, 1]);
  });

  it("have not ended where the machine slept, or the thread was at work", () => {
    loop(frames());
    for (let k = 0; k < 5; k++) {
      vi.advanceTimersByTime(1990);
      vi.setSystemTime(Date.now() + 3600_000);
      const now = performance.now();
      vi.spyOn(performance, "now").mockImplementation(() => now + 3600_000 * (k + 1));
      vi.advanceTimersByTime(10); // the look, an hour late
      frame!();
    }
    expect(ended).toBe(0);
    expect(drawn).toBe(5);
  });
});
