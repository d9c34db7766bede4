/** What a hand holds in a match: an object stays where the hand is until it is thrown or a new game begins. */
import type { DrillSpec, MatchInput } from "../contract/protocol";
import type { Body } from "./handles";

const MOST_THROW = 1; // world widths per second of show time: no faster than what the rules are safe against

type Motion = [x: number, y: number, vx: number, vy: number]; // velocities per second of show time

export class Hand {
  private readonly holding = new Map<Body, Motion>();

  /** `did` is called with what the hand does, for the recording, and `moved` when an object has just been put somewhere. */
  constructor(
    private readonly world: DrillSpec["world"],
    private readonly did: (input: MatchInput) => void,
    private readonly moved: () => void,
  ) {}

  /** Put `body` there, at once and before every tick until it is thrown or a new game begins. */
  hold(body: Body, ...motion: Motion): void {
    this.carry(body, this.bounded(...motion));
  }

  /** Let go of `body` with this velocity. */
  throw(body: Body, vx: number, vy: number): void {
    const held = this.holding.get(body);
    if (held) this.release(body, this.bounded(held[0], held[1], vx, vy));
  }

  holds(body: Body): boolean {
    return this.holding.has(body);
  }

  /** Does what a recording says that it did, to `body`. */
  follow(input: Extract<MatchInput, { kind: "hold" | "throw" }>, body: Body): void {
    const motion: Motion = [input.x, input.y, input.vx, input.vy];
    if (input.kind === "hold") this.carry(body, motion);
    else this.release(body, motion);
  }

  /** Lets go of everything, where it is. */
  open(): void {
    this.holding.clear();
  }

  /** Before a tick: whether it holds anything. */
  put(): boolean {
    for (const [body, motion] of this.holding) body.put(...motion);
    return this.holding.size > 0;
  }

  /** Says again what it holds, to a log that begins here. */
  tell(): void {
    for (const [body, motion] of this.holding) this.say("hold", body, motion);
  }

  private carry(body: Body, motion: Motion): void {
    this.holding.set(body, motion);
    this.say("hold", body, motion);
    body.put(...motion);
    this.moved();
  }

  private release(body: Body, motion: Motion): void {
    this.holding.delete(body);
    this.say("throw", body, motion);
    body.put(...motion);
    this.moved();
  }

  private say(kind: "hold" | "throw", body: Body, [x, y, vx, vy]: Motion): void {
    this.did({ kind, handle: body.handle.name, x, y, vx, vy });
  }

  /** Inside the world and no faster than MOST_THROW; short decimals, which every language reads as the same float32. */
  private bounded(x: number, y: number, vx: number, vy: number): Motion {
    const [x0, y0, x1, y1] = this.world;
    const excess = Math.max(1, Math.hypot(vx, vy) / (MOST_THROW * (x1 - x0)));
    return [decimal(Math.min(Math.max(x, x0), x1)), decimal(Math.min(Math.max(y, y0), y1)), decimal(vx / excess), decimal(vy / excess)];
  }
}

/** Four decimals, and no negative zero, which JSON would lose. */
function decimal(value: number): number {
  return Math.round(value * 1e4) / 1e4 + 0;
}
