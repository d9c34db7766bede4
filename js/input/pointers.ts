/** Mouse, pen and touch input on the match. */
import type { PointerInput } from "../contract/protocol";

/** Pointers over the canvas, as the show receives them. */
export function listenToPointers(canvas: HTMLElement, send: (input: PointerInput) => void, signal: AbortSignal): void {
  const forward = (kind: PointerInput["kind"]) => (event: PointerEvent) => {
    if (event.pointerType === "mouse" && kind === "down" && event.button !== 0) return;
    if (kind === "down") canvas.setPointerCapture?.(event.pointerId);
    const touch = event.pointerType !== "mouse";
    send({ kind, pointer: event.pointerId, touch, x: event.offsetX, y: event.offsetY, t: event.timeStamp });
  };
  canvas.addEventListener("pointerdown", forward("down"), { signal });
  canvas.addEventListener("pointermove", forward("move"), { signal });
  canvas.addEventListener("pointerup", forward("up"), { signal });
  canvas.addEventListener("pointercancel", forward("up"), { signal });
  canvas.addEventListener("pointerleave", forward("leave"), { signal });
}

const SLACK = 6; // CSS pixels a finger may slip

/** Clicks on the pitch, in CSS pixels from its upper left; a drag is none. */
export function listenToClicks(pitch: HTMLElement, click: (x: number, y: number) => void, signal: AbortSignal): void {
  let down: { x: number; y: number } | null = null;
  pitch.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => (down = { x, y }), { signal, capture: true });
  pitch.addEventListener(
    "click",
    ({ clientX, clientY }) => {
      if (!down || Math.hypot(clientX - down.x, clientY - down.y) > SLACK) return;
      const { left, top } = pitch.getBoundingClientRect();
      click(clientX - left, clientY - top);
    },
    { signal },
  );
}
