/** Gamepad input, while the match has the focus: stick and cross for directions, buttons for everything else. */

import type { DrillSpec } from "../contract/protocol";
import { type HeldKeys, TAKE_OVER } from "./held_keys";
import type { Keyboard } from "./keyboard";
import { padLayoutOf, stickCodes } from "./pad_layout";

/** Indices of the standard mapping (Gamepad, W3C 2025, section 7). */
const BUTTONS = [0, 4, 5, 1, 2, 3]; // A, the shoulders, B, X, Y: for the drill's buttons in turn
const TRIGGERS = [6, 7]; // hold one to take over
const CROSS = { up: 12, down: 13, left: 14, right: 15 };

type PadState = Pick<Gamepad, "axes"> & { buttons: readonly { pressed: boolean }[] };

/** The codes that a gamepad holds down. */
export function gamepadCodes(spec: DrillSpec, { axes, buttons }: PadState): string[] {
  const controls = padLayoutOf(spec);
  const pressed = (index: number) => buttons[index]?.pressed ?? false;
  const x = Number(pressed(CROSS.right)) - Number(pressed(CROSS.left)) || (axes[0] ?? 0);
  const y = Number(pressed(CROSS.down)) - Number(pressed(CROSS.up)) || (axes[1] ?? 0);
  const codes = stickCodes(controls, x, y);
  controls.buttons.forEach(({ code }, k) => pressed(BUTTONS[k] ?? -1) && codes.push(code));
  if (TRIGGERS.some(pressed)) codes.push(TAKE_OVER);
  return codes;
}

/** Asks for gamepads once a frame while `canvas` has the focus, until `signal` ends. */
export function listenToGamepads(canvas: HTMLElement, keyboard: Keyboard, keys: HeldKeys, signal: AbortSignal): void {
  let frame = 0;
  const poll = () => {
    const pads = navigator.getGamepads().filter((pad) => pad?.connected);
    keys.hold("gamepad", keyboard.spec ? pads.flatMap((pad) => gamepadCodes(keyboard.spec!, pad!)) : []);
    frame = requestAnimationFrame(poll);
  };
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    keys.hold("gamepad", []);
  };
  if (!("getGamepads" in navigator)) return;
  canvas.addEventListener("focus", () => (frame ||= requestAnimationFrame(poll)), { signal });
  canvas.addEventListener("blur", stop, { signal });
  signal.addEventListener("abort", stop, { once: true });
}
