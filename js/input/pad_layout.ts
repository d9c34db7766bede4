/** A drill's keys as a stick and buttons, for gamepads and touch screens. */
import type { DrillSpec } from "../contract/protocol";

/** A drill's keys as a stick and buttons see them. */
interface PadLayout {
  up: string | null; // codes
  down: string | null;
  left: string | null;
  right: string | null;
  buttons: { code: string; label: string }[]; // what no direction does, Space first
}

export function padLayoutOf(spec: DrillSpec): PadLayout {
  const meaning = (code: string) => spec.keys[code]?.join(": ");
  const first = (arrow: string, letter: string) => {
    if (arrow in spec.keys) return arrow;
    return letter in spec.keys && meaning(letter) !== meaning("Space") ? letter : null; // what Space means is a button
  };
  const directions = {
    up: first("ArrowUp", "KeyW"),
    down: first("ArrowDown", "KeyS"),
    left: first("ArrowLeft", "KeyA"),
    right: first("ArrowRight", "KeyD"),
  };
  const done = new Set(Object.values(directions).flatMap((code) => (code ? [meaning(code)] : [])));
  const codes = Object.keys(spec.keys).sort((a, b) => Number(b === "Space") - Number(a === "Space"));
  const buttons: PadLayout["buttons"] = [];
  for (const code of codes) {
    if (done.has(meaning(code))) continue;
    done.add(meaning(code));
    const [choice, option] = spec.keys[code]!;
    buttons.push({ code, label: option === "yes" ? choice : option });
  }
  return { ...directions, buttons };
}

const DEAD = 0.35; // of the way: less is no direction

/** The codes that a stick at x (right), y (down), each -1..1, holds. */
export function stickCodes({ up, down, left, right }: PadLayout, x: number, y: number): string[] {
  const codes = [x < -DEAD ? left : x > DEAD ? right : null, y < -DEAD ? up : y > DEAD ? down : null];
  return codes.filter((code) => code !== null);
}
