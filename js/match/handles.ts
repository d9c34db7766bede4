/** The objects that a pointer can drag, by the names of their state fields. */
import type { Handle } from "../contract/protocol";

type Words = Float32Array | Int32Array | Uint32Array;

/** One handle's place and velocity in one state. Writing rounds to float32, as Python's replay does. */
export class Body {
  private readonly at: number;
  private readonly words: Words[]; // x, y, vx, vy

  /** Throws an Error where the state has no such field. */
  constructor(
    state: object,
    readonly handle: Handle,
  ) {
    this.at = handle.index ?? 0;
    this.words = [handle.x, handle.y, handle.vx, handle.vy].map((name) => {
      const words = (state as Record<string, Words | undefined>)[name];
      if (!words) throw new Error(`The drill has no state field "${name}". Correct its \`drag\` handle "${handle.name}".`);
      return words;
    });
  }

  get x(): number {
    return this.words[0]![this.at]!;
  }
  get y(): number {
    return this.words[1]![this.at]!;
  }

  get vx(): number {
    return this.words[2]![this.at]!;
  }
  get vy(): number {
    return this.words[3]![this.at]!;
  }

  /** Its velocity stays where none is given. */
  put(...motion: [x: number, y: number, vx?: number, vy?: number]): void {
    motion.forEach((value, k) => (this.words[k]![this.at] = value!));
  }
}
