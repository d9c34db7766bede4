/**
 * The keys that are held down now, from keyboard, gamepad and touch pad together.
 *
 * Folder `input`: keyboard, gamepad, touch pad and pointers. Knows neither session nor match, only a drill's keys.
 */
import type { KeyInput } from "../contract/protocol";

/** Holding it takes side 0 over; stands among the keys, where a drill has no other use for Shift. */
export const TAKE_OVER = "TakeOver";

/** Where keyboard, gamepad and touch pad come together: a key is down while any of them holds it. */
export class HeldKeys {
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
