/** How often a match comes to something: touches of the ball, shots and goals a minute of match time, of late and before anything was learned. */
import type { DrillSpec, Liveliness } from "../contract/protocol";
import type { Body } from "./handles";

const WINDOW_SECONDS = 20; // of match time that are counted
const LEAST_SECONDS = 10; // before they are reported: one goal in five would be twelve a minute
const NEAR = 0.12; // world widths between ball and player, at most
const JOLT = 0.05; // world widths per second that a touch changes the ball's velocity by within a tick, at least
const APART_SECONDS = 0.25; // between two touches: who pushes the ball along touches it once
const SHOT_SECONDS = 1; // within which a shot would reach the other end
const IN_SECONDS = 2; // after a shot, within which a goal is its own
const KINDS = ["touches", "shots", "goals"] as const;
type Kind = (typeof KINDS)[number];

export class Touches {
  private readonly at: Record<Kind, number[]> = { touches: [], shots: [], goals: [] }; // ticks, oldest first
  private readonly players: readonly Body[];
  private readonly ball: Body | undefined;
  private clock = 0; // ticks counted
  private readonly velocity = [Number.NaN, Number.NaN]; // of the ball, a tick ago
  private touched = -Infinity; // tick of the last touch
  private shooting = false; // whether that may still become a shot
  private untrained: Liveliness["now"] | null = null;
  private version = 0;

  constructor(
    private readonly spec: DrillSpec,
    bodies: readonly Body[],
  ) {
    this.ball = bodies.find(({ handle }) => handle.kind === "ball" && handle.vx && handle.vy);
    this.players = bodies.filter(({ handle }) => handle.kind === "player");
  }

  /** The ball is put somewhere: its velocity before means nothing. */
  begin(): void {
    this.velocity.fill(Number.NaN);
  }

  /** A tick was played by `version`. */
  ticked(version: number): void {
    const { ball, spec } = this;
    if (!ball || spec.sides !== 2) return;
    if (version > 0 && this.version === 0) this.untrained = this.rates();
    this.version = version;
    this.clock++;
    const [wide, rate] = [spec.world[2] - spec.world[0], spec.tick_rate];
    const { vx, vy } = ball;
    const jolt = Math.hypot(vx - this.velocity[0]!, vy - this.velocity[1]!);
    this.velocity[0] = vx;
    this.velocity[1] = vy;
    const apart = this.clock - this.touched > APART_SECONDS * rate;
    if (jolt > JOLT * wide && this.nearest() < NEAR * wide) {
      this.touched = this.clock;
      if (apart) {
        this.at.touches.push(this.clock);
        this.shooting = true;
      }
    }
    if (!this.shooting) return;
    if (apart && this.touched !== this.clock) this.shooting = false;
    const way = vx > 0 ? spec.world[2] - ball.x : ball.x - spec.world[0];
    if (way > wide / 4 && way <= SHOT_SECONDS * Math.abs(vx)) {
      this.at.shots.push(this.clock);
      this.shooting = false;
    }
  }

  /** A goal is a shot, too, where its shot was not seen: a ball that is pushed over the line. */
  scored(): void {
    this.at.goals.push(this.clock);
    if (this.clock - (this.at.shots.at(-1) ?? -Infinity) > IN_SECONDS * this.spec.tick_rate) this.at.shots.push(this.clock);
    this.shooting = false;
  }

  /** null: there is no ball, or too little was played. */
  report(): Liveliness | null {
    const now = this.rates();
    return now && { now, untrained: this.untrained };
  }

  private rates(): Liveliness["now"] | null {
    const { tick_rate } = this.spec;
    const seconds = Math.min(this.clock / tick_rate, WINDOW_SECONDS);
    if (seconds < LEAST_SECONDS) return null;
    const since = this.clock - WINDOW_SECONDS * tick_rate;
    for (const kind of KINDS) this.at[kind] = this.at[kind].filter((tick) => tick > since);
    const [touches, shots, goals] = KINDS.map((kind) => Math.round((60 * this.at[kind].length) / seconds)) as [number, number, number];
    return { touches, shots, goals };
  }

  private nearest(): number {
    const { ball, players } = this;
    let least = Infinity;
    for (const player of players) least = Math.min(least, Math.hypot(player.x - ball!.x, player.y - ball!.y));
    return least;
  }
}
