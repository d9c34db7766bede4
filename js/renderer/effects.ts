/**
 * Visual effects, which are not part of the rules: sparks where the ball is struck, its trail, dust of a dash, confetti
 * and a wash of colour at a goal. Looks only at the drill's `drag` handles, never writes to the state, and is drawn as shapes.
 */
import { type DrillSpec, type Handle, KIND, SHAPE_FLOATS, type ShowEvent } from "../contract/protocol";
import { Body } from "../match/handles";
import { Random } from "../match/random";
import type { Look } from "./palette";
import { putShape, type Wash } from "./scene";

const MOST_PARTICLES = 192;
const TRAIL_TICKS = 28; // of 1/120 s
const TRAIL_STEP = 2; // ticks per drawn piece
/** Shapes that effects may add to a frame. */
export const EFFECT_SHAPES = MOST_PARTICLES + 4 * (TRAIL_TICKS / TRAIL_STEP);

const CALM_SPEED = 4; // faster shows spark less and move their sparks no faster
const KICK = 0.1; // jump of a ball's velocity in one tick, in world widths per second
const DASH = 0.14; // rise of a player's speed in one tick, in world widths per second
const DASH_SECONDS = 0.2;
const TELEPORT = 0.1; // a longer way in one tick, in world widths, is no movement

/** The match as effects see it; a Show is one. */
export interface Match {
  readonly spec: DrillSpec;
  readonly state: { readonly ticks: Int32Array };
  readonly speed: number;
  readonly playing: boolean;
  /** Whether a hand moves the drill's `drag[handle]`: then what it does is no kick and no dash. */
  held(handle: number): boolean;
}

type ParticleKind = "spark" | "ring" | "puff" | "confetti";

interface Particle {
  kind: ParticleKind;
  name: string; // palette name
  x: number;
  y: number;
  vx: number;
  vy: number;
  size: number; // world units
  angle: number;
  spin: number; // rad/s
  age: number; // seconds
  life: number; // seconds
}

/** One thing that moves: where it was, tick by tick. */
class Mover extends Body {
  readonly isBall: boolean;
  readonly paint: string;
  lastVx = 0; // a tick ago
  lastVy = 0;
  private dashing = 0; // seconds left
  filled = 0; // how many ticks of the trail are known
  private head = 0;
  private readonly xs = new Float32Array(TRAIL_TICKS);
  private readonly ys = new Float32Array(TRAIL_TICKS);

  constructor(match: Match, handle: Handle) {
    super(match.state, handle);
    this.isBall = handle.kind === "ball";
    this.paint = this.isBall ? "ball" : `player${handle.index ?? 0}`;
  }

  /** How far it came since the last remember(). */
  get leap(): number {
    return this.filled === 0 ? 0 : Math.hypot(this.x - this.xs[this.head]!, this.y - this.ys[this.head]!);
  }

  remember(): void {
    this.head = (this.head + 1) % TRAIL_TICKS;
    this.xs[this.head] = this.x;
    this.ys[this.head] = this.y;
    this.lastVx = this.vx;
    this.lastVy = this.vy;
    this.filled = Math.min(this.filled + 1, TRAIL_TICKS);
  }

  forget(): void {
    this.filled = 0;
    this.dashing = 0;
  }

  dash(): void {
    this.dashing = DASH_SECONDS;
  }

  /** Whether it has been dashing; of that `seconds` more are over. */
  dashed(seconds: number): boolean {
    if (this.dashing <= 0) return false;
    this.dashing -= seconds;
    return true;
  }

  trailX(ticksAgo: number): number {
    return this.xs[(this.head - ticksAgo + TRAIL_TICKS) % TRAIL_TICKS]!;
  }
  trailY(ticksAgo: number): number {
    return this.ys[(this.head - ticksAgo + TRAIL_TICKS) % TRAIL_TICKS]!;
  }
}

export class Effects {
  private reducedMotion = false;
  readonly wash: Wash;
  private washAge = Infinity; // seconds
  private readonly movers: Mover[];
  private readonly width: number; // of the world
  private readonly particles: Particle[] = [];
  private alive = 0; // the first `alive` of `particles` are in the air
  private readonly rng = new Random(1); // its own: nothing here may touch the match's

  constructor(private readonly match: Match) {
    const [x0, y0, x1, y1] = match.spec.world;
    this.width = x1 - x0;
    this.movers = match.spec.drag.map((handle) => new Mover(match, handle));
    this.wash = { name: "accent", strength: 0, x: (x0 + x1) / 2, y: (y0 + y1) / 2, radius: this.width };
  }

  setMotion(reduced: boolean): void {
    this.reducedMotion = reduced;
  }

  // ---- what happened

  ticked(): void {
    const fresh = this.match.state.ticks[0]! <= 1;
    for (const [handle, mover] of this.movers.entries()) {
      if (fresh || mover.leap > TELEPORT * this.width) mover.forget();
      else if (!this.reducedMotion && !this.match.held(handle)) this.look(mover);
      mover.remember();
    }
  }

  happened({ kind, side }: ShowEvent): void {
    if (kind === "reset") {
      this.alive = 0;
      this.washAge = Infinity;
      this.wash.strength = 0;
      for (const mover of this.movers) mover.forget();
    }
    if (kind === "goal" && !this.reducedMotion) this.celebrate(side);
  }

  private look(mover: Mover): void {
    const [dx, dy] = [mover.vx - mover.lastVx, mover.vy - mover.lastVy];
    const jump = Math.hypot(dx, dy) / this.width;
    if (mover.isBall) {
      if (jump > KICK) this.strike(mover, dx, dy, Math.min(1, jump / (4 * KICK)));
      return;
    }
    const rise = (Math.hypot(mover.vx, mover.vy) - Math.hypot(mover.lastVx, mover.lastVy)) / this.width;
    if (rise > DASH) {
      mover.dash();
      this.emit("ring", mover.paint, mover.x, mover.y, 0, 0, 0.05 * this.width, 0.35);
    }
    if (mover.dashed(1 / this.match.spec.tick_rate)) {
      const [u, v] = [this.rng.next() - 0.5, this.rng.next() - 0.5];
      const spread = 0.03 * this.width;
      this.emit("puff", mover.paint, mover.x + u * spread, mover.y + v * spread, -0.12 * mover.vx, -0.12 * mover.vy, 0.02 * this.width, 0.4);
    }
  }

  /** The ball was struck: a flash, a small ring, sparks along the new way. `force` 0..1. */
  private strike(ball: Mover, dx: number, dy: number, force: number): void {
    if (this.match.speed > CALM_SPEED && this.rng.next() > 0.25) return;
    const unit = this.width / 100;
    this.emit("puff", "accent", ball.x, ball.y, 0, 0, (2 + 2.5 * force) * unit, 0.16);
    this.emit("ring", "ball", ball.x, ball.y, 0, 0, (2.5 + 3 * force) * unit, 0.3);
    const toward = Math.atan2(dy, dx);
    for (let k = 0; k < 3 + 6 * force; k++) {
      const angle = toward + (this.rng.next() - 0.5) * 1.9;
      const speed = (18 + 50 * force * this.rng.next()) * unit;
      const [vx, vy] = [speed * Math.cos(angle), speed * Math.sin(angle)];
      this.emit("spark", k % 3 === 0 ? "ball" : "accent", ball.x, ball.y, vx, vy, (0.22 + 0.2 * force) * unit, 0.22 + 0.2 * this.rng.next());
    }
  }

  private celebrate(side: number): void {
    const colour = `player${side}`;
    const where = this.movers.find((mover) => mover.isBall) ?? this.movers.find((mover) => mover.paint === colour);
    const { x, y } = where ?? this.wash;
    const unit = this.width / 100;
    Object.assign(this.wash, { name: colour, x, y, radius: 0.75 * this.width });
    this.washAge = 0;
    if (this.match.speed > CALM_SPEED) return;
    this.emit("puff", colour, x, y, 0, 0, 9 * unit, 0.5);
    this.emit("ring", colour, x, y, 0, 0, 11 * unit, 0.6);
    this.emit("ring", "ball", x, y, 0, 0, 7 * unit, 0.45);
    const inward = Math.atan2(-y, (this.match.spec.world[0] + this.match.spec.world[2]) / 2 - x);
    for (let k = 0; k < 84; k++) {
      const angle = inward + (this.rng.next() + this.rng.next() - 1) * 1.7;
      const speed = (10 + 62 * this.rng.next()) * unit;
      const [vx, vy] = [speed * Math.cos(angle), speed * Math.sin(angle)];
      const name = k % 5 === 0 ? "accent" : k % 5 === 1 ? "ball" : colour;
      this.emit("confetti", name, x, y, vx, vy, (0.45 + 0.4 * this.rng.next()) * unit, 0.9 + 0.9 * this.rng.next());
    }
  }

  private emit(kind: ParticleKind, name: string, x: number, y: number, vx: number, vy: number, size: number, life: number): void {
    if (this.alive === MOST_PARTICLES) return;
    const angle = this.rng.next() * 2 * Math.PI;
    const spin = (this.rng.next() - 0.5) * 16;
    const particle = this.particles[this.alive] ?? ({} as Particle);
    this.particles[this.alive++] = particle;
    Object.assign(particle, { kind, name, x, y, vx, vy, size, angle, spin, age: 0, life });
  }

  // ---- the passage of time

  /** Let show time pass, in `seconds` of real time: particles follow the show's speed up to CALM_SPEED. */
  advance(showSeconds: number, seconds: number): void {
    const most = this.match.playing ? CALM_SPEED * Math.max(seconds, 1 / 60) : Infinity; // steps by hand pass in full
    const dt = Math.max(0, Math.min(showSeconds, most));
    for (let k = 0; k < this.alive; k++) {
      const p = this.particles[k]!;
      p.age += dt;
      p.x += p.vx * dt;
      p.y += p.vy * dt;
      p.angle += p.spin * dt;
      const drag = Math.exp(-(p.kind === "confetti" ? 2.6 : 4) * dt);
      p.vx *= drag;
      p.vy *= drag;
      if (p.age >= p.life) {
        this.particles[k--] = this.particles[--this.alive]!;
        this.particles[this.alive] = p;
      }
    }
    this.washAge += dt;
    const rise = Math.min(1, this.washAge / 0.08);
    this.wash.strength = 0.62 * rise * Math.max(0, 1 - this.washAge / 1.1);
  }

  // ---- shapes

  /** Writes what lies below the actors after the first `count` shapes; returns the new count. */
  below(out: Float32Array, count: number, look: Look): number {
    if (this.reducedMotion) return count;
    for (const mover of this.movers) if (mover.isBall) count = this.trail(mover, out, count, look);
    for (let k = 0; k < this.alive; k++) {
      const p = this.particles[k]!;
      if (p.kind === "puff") count = this.put(p, out, count, look);
    }
    return count;
  }

  /** Writes what flies above everything after the first `count` shapes; returns the new count. */
  above(out: Float32Array, count: number, look: Look): number {
    for (let k = 0; k < this.alive; k++) {
      const p = this.particles[k]!;
      if (p.kind !== "puff") count = this.put(p, out, count, look);
    }
    return count;
  }

  private trail(ball: Mover, out: Float32Array, count: number, look: Look): number {
    const colour = look.index(ball.paint);
    const radius = 0.017 * this.width;
    const last = Math.min(ball.filled, TRAIL_TICKS) - 1;
    for (let ago = last; ago >= TRAIL_STEP; ago -= TRAIL_STEP) {
      const [x, y] = [ball.trailX(ago), ball.trailY(ago)];
      const [nx, ny] = [ball.trailX(ago - TRAIL_STEP), ball.trailY(ago - TRAIL_STEP)];
      const pace = (Math.hypot(nx - x, ny - y) / TRAIL_STEP) * this.match.spec.tick_rate;
      const youth = 1 - ago / TRAIL_TICKS;
      const alpha = 0.42 * youth * youth * Math.min(1, pace / (0.5 * this.width));
      if (alpha > 0.01) putShape(out, count++, KIND.line, colour, x, y, nx, ny, radius * (0.25 + 0.75 * youth), 0, 0, alpha, -1);
    }
    return count;
  }

  private put(p: Particle, out: Float32Array, count: number, look: Look): number {
    const colour = look.index(p.name);
    const t = p.age / p.life;
    const left = 1 - t;
    const out3 = 1 - left * left * left; // fast, then slow
    if (p.kind === "spark") {
      const tail = 0.035;
      putShape(out, count, KIND.line, colour, p.x, p.y, p.x - p.vx * tail, p.y - p.vy * tail, p.size * (0.4 + 0.6 * left), 0, 0, left, -1);
    } else if (p.kind === "ring") {
      putShape(out, count, KIND.ring, colour, p.x, p.y, p.size * (0.35 + 0.65 * out3), p.size * 0.09 * left, 1, 0, 0, 0.8 * left, -1);
    } else if (p.kind === "puff") {
      putShape(out, count, KIND.circle, colour, p.x, p.y, p.size * (0.6 + 0.4 * out3), 0, 0, 0, 0, 0.5 * left, p.size * 0.6);
    } else {
      const flutter = Math.abs(Math.cos(p.angle * 1.7)); // it turns over as it falls
      const fade = Math.min(1, 3 * left);
      putShape(out, count, KIND.box, colour, p.x, p.y, p.size, p.size * (0.15 + 0.5 * flutter), Math.cos(p.angle), Math.sin(p.angle), p.size * 0.15, fade, -1);
    }
    return count + 1;
  }
}

/** How many of the first shapes are no actors. */
export function firstActor(scene: Float32Array, count: number, look: Look): number {
  let split = 0;
  while (split < count && !look.isActor(scene[split * SHAPE_FLOATS + 1]!)) split++;
  return split;
}

/** Copies `count` shapes with effects put in below the first actor, at `split`, and above the last; returns the count of all. */
export function compose(scene: Float32Array, count: number, split: number, effects: Effects, look: Look, out: Float32Array): number {
  out.set(scene.subarray(0, split * SHAPE_FLOATS));
  const middle = effects.below(out, split, look);
  out.set(scene.subarray(split * SHAPE_FLOATS, count * SHAPE_FLOATS), middle * SHAPE_FLOATS);
  return effects.above(out, middle + count - split, look);
}
