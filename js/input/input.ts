/**
 * The person's hands: keys act on the match only while its canvas has the focus, and never reach the notebook's own
 * shortcuts. Escape gives the focus back; whatever takes it away lets go of every key held.
 */
import type { DrillSpec, KeyInput, PointerInput } from "../contract/protocol";

/** Holding it takes side 0 over; stands among the keys, where a drill has no other use for Shift. */
export const TAKE_OVER = "TakeOver";

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

/** Where keyboard, gamepad and touch pad come together: a key is down while any of them holds it. */
export class Hands {
  private readonly held = new Map<string, Set<string>>(); // source -> codes

  constructor(
    private readonly send: (events: KeyInput[]) => void,
    private readonly takeOver: (on: boolean) => void,
  ) {}

  /** From now on `source` holds exactly these codes. */
  hold(source: string, codes: Iterable<string>, t = performance.now()): void {
    const before = this.all();
    this.held.set(source, new Set(codes));
    const now = this.all();
    if (now.has(TAKE_OVER) !== before.has(TAKE_OVER)) this.takeOver(now.has(TAKE_OVER));
    const changed = [...new Set([...before, ...now])].filter((code) => code !== TAKE_OVER && before.has(code) !== now.has(code));
    if (changed.length) this.send(changed.map((code) => ({ code, down: now.has(code), t })));
  }

  holds(source: string): ReadonlySet<string> {
    return this.held.get(source) ?? new Set();
  }

  press(source: string, code: string, down: boolean, t?: number): void {
    const codes = new Set(this.holds(source));
    if (down) codes.add(code);
    else codes.delete(code);
    this.hold(source, codes, t);
  }

  private all(): Set<string> {
    return new Set([...this.held.values()].flatMap((codes) => [...codes]));
  }
}

/** Hands on the keys that `spec.keys` knows, and on Shift, as they go down and up, until `signal` ends. */
export function listenToKeys(canvas: HTMLElement, keyboard: Keyboard, hands: Hands, signal: AbortSignal): void {
  const key = (event: KeyboardEvent, down: boolean) => {
    if (event.code === "Tab") return; // the way out for those who use no pointer
    event.stopPropagation();
    if (event.code === "Escape") {
      if (down) canvas.blur();
      return;
    }
    // Ctrl+C, Cmd+R and the like stay the browser's; letting go always counts, or the key would stick
    if (down && (event.ctrlKey || event.metaKey || event.altKey)) return;
    const known = keyboard.spec && event.code in keyboard.spec.keys;
    const shift = event.code === "ShiftLeft" || event.code === "ShiftRight";
    if (!keyboard.spec || !(known || shift)) return;
    if (known) event.preventDefault();
    hands.press("keys", known ? event.code : TAKE_OVER, down, event.timeStamp);
  };
  const releaseAll = () => hands.hold("keys", []);

  canvas.addEventListener("keydown", (event) => key(event, true), { signal });
  canvas.addEventListener("keyup", (event) => key(event, false), { signal });
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }), { signal });
  canvas.addEventListener("blur", releaseAll, { signal });
  window.addEventListener("blur", releaseAll, { signal });
  signal.addEventListener("abort", releaseAll, { once: true });
}

/** Pointers over the canvas, as the show wants to hear of them. */
export function listenToPointers(canvas: HTMLElement, send: (input: PointerInput) => void, signal: AbortSignal): void {
  const tell = (kind: PointerInput["kind"]) => (event: PointerEvent) => {
    if (event.pointerType === "mouse" && kind === "down" && event.button !== 0) return;
    if (kind === "down") canvas.setPointerCapture?.(event.pointerId);
    const touch = event.pointerType !== "mouse";
    send({ kind, pointer: event.pointerId, touch, x: event.offsetX, y: event.offsetY, t: event.timeStamp });
  };
  canvas.addEventListener("pointerdown", tell("down"), { signal });
  canvas.addEventListener("pointermove", tell("move"), { signal });
  canvas.addEventListener("pointerup", tell("up"), { signal });
  canvas.addEventListener("pointercancel", tell("up"), { signal });
  canvas.addEventListener("pointerleave", tell("leave"), { signal });
}

/** A drill's keys as a stick and buttons see them. */
export interface Controls {
  up: string | null; // codes
  down: string | null;
  left: string | null;
  right: string | null;
  buttons: { code: string; label: string }[]; // what no direction does, Space first
}

export function controlsOf(spec: DrillSpec): Controls {
  const first = (...codes: string[]) => codes.find((code) => code in spec.keys) ?? null;
  const directions = {
    up: first("ArrowUp", "KeyW"),
    down: first("ArrowDown", "KeyS"),
    left: first("ArrowLeft", "KeyA"),
    right: first("ArrowRight", "KeyD"),
  };
  const meaning = (code: string) => spec.keys[code]!.join(": ");
  const done = new Set(Object.values(directions).flatMap((code) => (code ? [meaning(code)] : [])));
  const codes = Object.keys(spec.keys).sort((a, b) => Number(b === "Space") - Number(a === "Space"));
  const buttons: Controls["buttons"] = [];
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
export function stickCodes({ up, down, left, right }: Controls, x: number, y: number): string[] {
  const codes = [x < -DEAD ? left : x > DEAD ? right : null, y < -DEAD ? up : y > DEAD ? down : null];
  return codes.filter((code) => code !== null);
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
