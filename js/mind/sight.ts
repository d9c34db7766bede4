/**
 * What a player sees, on the pitch: lines to the things whose way from the player is among its observations, with their names. Where such
 * a thing is follows from the observations alone: a way turns with the player's heading, and the derivative by the player's own place
 * says how. What the drill cuts off at the end of its scale has no derivative, and no line.
 */
import { KIND, SHAPE_FLOATS } from "../contract/protocol";
import { Body } from "../match/handles";
import type { Show } from "../match/show";
import { type Sight, sightsOf } from "../match/sights";
import type { Look } from "../renderer/palette";
import { putShape, TAG_ASPECT } from "../renderer/scene";
import { position, sideOf } from "./analysis";

const STEP = 0.01; // world units, of the derivative
const CLOSE = 0.02; // to a rotation
const MOST = 12; // things
const SIZE = 0.036; // of a name, of the world's width
const BELOW = 0.058; // what it names, of the world's width
export const SIGHT_SHAPES = 4 * MOST;

type Name = { x: number; y: number; half: number }; // as it is drawn: its middle, half its width with the round ends

export class PlayerSight {
  private readonly sights: readonly Sight[];
  private readonly copy;
  private readonly seen: readonly Float32Array[]; // from where the player is, from STEP to the right, from STEP higher

  constructor(private readonly show: Show) {
    this.sights = sightsOf(show.spec).slice(0, MOST);
    this.copy = show.game.create();
    this.seen = [0, 1, 2].map(() => new Float32Array(show.spec.n_obs));
  }

  shapes(side: number, out: Float32Array, count: number, look: Look): number {
    const { state, game, spec } = this.show;
    const own = spec.drag.find((handle) => sideOf(handle, spec.sides) === side);
    if (!own) return count;
    const [x, y] = position(state, own);
    new Uint8Array(this.copy.buffer).set(new Uint8Array(state.buffer));
    const body = new Body(this.copy, own);
    this.seen.forEach((seen, k) => {
      body.put(x + (k === 1 ? STEP : 0), y + (k === 2 ? STEP : 0));
      game.observe(this.copy, side, seen);
    });
    const [width, colour, middle] = [spec.world[2] - spec.world[0], look.index("line"), (spec.world[1] + spec.world[3]) / 2];
    const names: Name[] = [];
    for (const { name, at } of this.sights) {
      const place = this.place(x, y, at);
      if (!place) continue;
      putShape(out, count++, KIND.line, colour, x, y, ...place, 0.0016 * width, 0, 0, 0.6, -1);
      putShape(out, count++, KIND.ring, colour, ...place, 0.03 * width, 0.0016 * width, 1, 0, 0, 0.8, -1);
      const tag = spec.tags?.indexOf(name) ?? -1;
      if (tag < 0) continue;
      const [size, half] = [SIZE * width, SIZE * width * Math.min(0.25 * name.length, 0.5 * TAG_ASPECT)];
      const tagY = free(place[0], place[1] - BELOW * width, half, size, place[1] < middle ? 1 : -1, names);
      putShape(out, count++, KIND.line, look.index("shadow"), place[0] - half, tagY, place[0] + half, tagY, 0.5 * size, 0, 0, 0.9, -1);
      putShape(out, count++, KIND.tag, colour, place[0], tagY, size, 0, 0, 0, 0, 1, -1);
      out[count * SHAPE_FLOATS - 2] = tag;
    }
    return count;
  }

  /** Where the thing is, in world units; null where the observations are no way from the player at x, y. */
  private place(x: number, y: number, at: number): [x: number, y: number] | null {
    const scale = (k: number) => this.show.spec.observations[at + k]!.scale;
    const [here, right, above] = this.seen.map((seen) => [seen[at]! * scale(0), seen[at + 1]! * scale(1)] as const);
    const [[a, b], [ax, bx], [ay, by]] = [here!, right!, above!];
    const [xx, xy, yx, yy] = [(ax - a) / STEP, (ay - a) / STEP, (bx - b) / STEP, (by - b) / STEP];
    const turns = Math.abs(xx - yy) < CLOSE && Math.abs(xy + yx) < CLOSE && Math.abs(xx * yy - xy * yx - 1) < CLOSE;
    return turns ? [x - xx * a - yx * b, y - xy * a - yy * b] : null;
  }
}

/** The y at which a name covers none of those there, which it then joins; it moves one way, to where the pitch is. */
function free(x: number, y: number, half: number, size: number, way: number, there: Name[]): number {
  const ends = half + size / 2;
  const covers = (other: Name) => Math.abs(other.x - x) < other.half + ends && Math.abs(other.y - y) < size - 1e-6;
  for (let k = 2 * there.length; k > 0 && there.some(covers); k--) y += way * size;
  there.push({ x, y, half: ends });
  return y;
}
