/**
 * Keyboard input. Keys act on the match only while its canvas has the focus. Escape gives the focus back to the notebook; when the
 * focus is lost, every held key is released.
 */
import type { DrillSpec } from "../contract/protocol";
import { type HeldKeys, TAKE_OVER } from "./held_keys";
import { giveBackKeys } from "./notebook_keys";

export interface Keyboard {
  spec: DrillSpec | null;
}

/** Hands on the keys that `spec.keys` knows, and on Shift, as they go down and up, until `signal` ends. */
export function listenToKeys(canvas: HTMLElement, keyboard: Keyboard, held: HeldKeys, signal: AbortSignal): void {
  const key = (event: KeyboardEvent, down: boolean) => {
    if (event.key === "Meta" && !down) releaseAll(); // macOS tells of no key that went up while Cmd was down
    if (event.code === "Tab") return; // the way out for those who use no pointer
    if (event.code === "Escape") {
      if (down) giveBackKeys(canvas);
      return;
    }
    // Ctrl+S, Cmd+R and the like stay the notebook's and the browser's; letting go always counts, or the key would stick
    if (down && (event.ctrlKey || event.metaKey || event.altKey)) return;
    const known = keyboard.spec && event.code in keyboard.spec.keys;
    const shift = event.code === "ShiftLeft" || event.code === "ShiftRight";
    if (!keyboard.spec || !(known || shift)) return;
    if (known) event.preventDefault();
    held.press("keys", known ? event.code : TAKE_OVER, down, event.timeStamp);
  };
  const releaseAll = () => held.hold("keys", []);

  canvas.addEventListener("keydown", (event) => key(event, true), { signal });
  canvas.addEventListener("keyup", (event) => key(event, false), { signal });
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }), { signal });
  canvas.addEventListener("blur", releaseAll, { signal });
  window.addEventListener("blur", releaseAll, { signal });
  signal.addEventListener("abort", releaseAll, { once: true });
}
