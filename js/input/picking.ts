/** A click on the match chooses the player there; a drag, or a click elsewhere, chooses nobody. */
import type { Session } from "../session/session";

const SLACK = 6; // CSS pixels a finger may slip

export function listenToPicks(pitch: HTMLElement, session: Session, view: number, signal: AbortSignal): void {
  let down: { x: number; y: number } | null = null;
  pitch.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => (down = { x, y }), { signal, capture: true });
  pitch.addEventListener(
    "click",
    ({ clientX, clientY }) => {
      if (!down || Math.hypot(clientX - down.x, clientY - down.y) > SLACK) return;
      const { left, top } = pitch.getBoundingClientRect();
      session.post({ type: "PICK", id: session.id, view, x: clientX - left, y: clientY - top });
    },
    { signal },
  );
}
