/**
 * The person's hands: keys act on the match only while its canvas has the focus, and never reach the notebook's own
 * shortcuts. Escape gives the focus back; whatever takes it away lets go of every key held.
 */
import type { DrillSpec, KeyInput } from "./protocol";

/** How a KeyboardEvent.code reads on a key cap. */
const CAPS: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Space: "Space",
  ShiftLeft: "Shift",
  ShiftRight: "right Shift",
  ControlLeft: "Ctrl",
  ControlRight: "right Ctrl",
};

export interface Keyboard {
  spec: DrillSpec | null;
}

/** Sends the keys that `spec.keys` knows, as they go down and up, until `signal` ends. */
export function listenToKeys(
  canvas: HTMLElement,
  keyboard: Keyboard,
  send: (events: KeyInput[]) => void,
  signal: AbortSignal,
): void {
  const held = new Set<string>();

  const key = (event: KeyboardEvent, down: boolean) => {
    if (event.code === "Tab") return; // the way out for those who use no pointer
    event.stopPropagation();
    if (event.code === "Escape") {
      if (down) canvas.blur();
      return;
    }
    // Ctrl+C, Cmd+R and the like stay the browser's; letting go always counts, or the key would stick
    if (down && (event.ctrlKey || event.metaKey || event.altKey)) return;
    if (!keyboard.spec || !(event.code in keyboard.spec.keys)) return;
    event.preventDefault();
    if (held.has(event.code) === down) return; // auto-repeat
    if (down) held.add(event.code);
    else held.delete(event.code);
    send([{ code: event.code, down, t: event.timeStamp }]);
  };

  const releaseAll = () => {
    const t = performance.now();
    const events = [...held].map((code) => ({ code, down: false, t }));
    held.clear();
    if (events.length) send(events);
  };

  canvas.addEventListener("keydown", (event) => key(event, true), { signal });
  canvas.addEventListener("keyup", (event) => key(event, false), { signal });
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }), { signal });
  canvas.addEventListener("blur", releaseAll, { signal });
  window.addEventListener("blur", releaseAll, { signal });
}

/** A key's name as printed on it. */
export function keyCap(code: string): string {
  return CAPS[code] ?? code.replace(/^(Key|Digit)/, "").replace(/^Numpad/, "num ");
}

export interface KeyHelp {
  choice: string;
  options: { option: string; caps: string[] }[];
}

/** The drill's keys by choice and option, in the order of its `keys`. */
export function keyHelp(spec: DrillSpec): KeyHelp[] {
  const help: KeyHelp[] = [];
  for (const [code, [choice, option]] of Object.entries(spec.keys)) {
    let group = help.find((other) => other.choice === choice);
    if (!group) help.push((group = { choice, options: [] }));
    const known = group.options.find((other) => other.option === option);
    if (known) known.caps.push(keyCap(code));
    else group.options.push({ option, caps: [keyCap(code)] });
  }
  return help;
}
