/**
 * Dragging with pointers on the match: the object under a pointer, the object it holds, its speed at release, and the rings that
 * show this. A press grabs an object once it moves or lasts; a short click only selects.
 */

import { type Cursor, KIND, type PointerInput, SHAPE_FLOATS, type Theme } from "../contract/protocol";
import type { Body } from "../match/handles";
import type { Show } from "../match/show";
import type { Look } from "../renderer/palette";
import { type Field, farIn, jumped, type Overlay, putShape } from "../renderer/scene";

const PRESS_MS = 160; // a press that lasts so long takes hold without moving
const SLIP = 4; // CSS pixels that a click may move
const THROW_MS = 80; // a throw is as fast as the pointer was in the end
const STILL_MS = 60; // without news for so long the pointer stands still
const ROOM = { mouse: 14, touch: 28 }; // CSS pixels around a place that count as being there
const MOST_RINGED = 16; // things, each with two rings at most
const NEAR = 0.13; // of the world's width: from here on a ring shows
const LARGEST = 0.08; // of the world's width: what is larger is no thing to take

interface Pointer {
  view: number;
  touch: boolean;
  x: number; // world units
  y: number;
  unit: number; // world units per CSS pixel
  movedAt: number; // ms of our clock: the last move
  pressed: { body: Body; x: number; y: number; at: number } | null; // where, when (ms of our clock)
  drag: { body: Body; dx: number; dy: number; moving: boolean } | null; // from the pointer to what it holds
  path: { x: number; y: number; t: number }[]; // lately, t in ms of the page's clock
}

/** How one handle is drawn. */
interface Figure {
  index: number; // of a shape at its place
  extent: number; // world units
  paint: string; // palette name
}

export class PointerDrags implements Overlay {
  private dirty = false; // the rings changed
  private readonly pointers = new Map<string, Pointer>();
  private readonly figures = new Map<Body, Figure>();
  private readonly cursors = new Map<number, Cursor>(); // by view, as last reported

  constructor(
    private readonly show: Show,
    private readonly below: Overlay,
  ) {}

  /** `input` on canvas `view` is at x, y of the world, where a CSS pixel is `unit` world units; `now` in ms. */
  receive(view: number, input: PointerInput, x: number, y: number, unit: number, now: number): void {
    const key = `${view}/${input.pointer}`;
    const fresh: Pointer = { view, touch: input.touch, x, y, unit, movedAt: now, pressed: null, drag: null, path: [] };
    const pointer = this.pointers.get(key) ?? fresh;
    this.pointers.set(key, Object.assign(pointer, { x, y, unit, movedAt: now }));
    this.dirty = true;
    pointer.path = pointer.path.filter((point) => point.t > input.t - THROW_MS);
    if (input.kind !== "up") pointer.path.push({ x, y, t: input.t });

    if (input.kind === "down") {
      const body = this.under(pointer);
      pointer.pressed = body && { body, x, y, at: now };
    } else if (input.kind === "move") {
      const { pressed, drag } = pointer;
      if (drag && !this.show.hand.holds(drag.body)) pointer.drag = null; // a new game began meanwhile
      if (pressed && Math.hypot(x - pressed.x, y - pressed.y) > SLIP * unit) this.startDrag(pointer);
      this.moveDrag(pointer, ...this.velocity(pointer));
    } else {
      if (pointer.drag && this.show.hand.holds(pointer.drag.body)) this.show.hand.throw(pointer.drag.body, ...this.velocity(pointer));
      pointer.pressed = pointer.drag = null;
      if (input.kind === "leave" || pointer.touch) this.pointers.delete(key);
    }
  }

  /** Once a frame: presses that last take hold, pointers that stand still say so. Whether there is something to wait for. */
  advance(now: number): boolean {
    let busy = false;
    for (const pointer of this.pointers.values()) {
      const { pressed, drag } = pointer;
      if (pressed && now - pressed.at > PRESS_MS) this.startDrag(pointer);
      if (drag && !this.show.hand.holds(drag.body)) pointer.drag = null;
      if (drag?.moving && now - pointer.movedAt > STILL_MS) this.moveDrag(pointer, 0, 0);
      busy ||= pointer.pressed !== null || pointer.drag?.moving === true;
    }
    return busy;
  }

  /** [view, cursor] of every canvas whose cursor is another one now. */
  changedCursors(): [view: number, cursor: Cursor][] {
    const now = new Map([...this.cursors.keys()].map((view): [number, Cursor] => [view, ""]));
    for (const pointer of this.pointers.values()) now.set(pointer.view, pointer.drag ? "grabbing" : this.under(pointer) ? "grab" : "");
    const changed = [...now].filter(([view, cursor]) => cursor !== (this.cursors.get(view) ?? ""));
    for (const [view, cursor] of changed) this.cursors.set(view, cursor);
    return changed;
  }

  // ---- holding

  private startDrag(pointer: Pointer): void {
    const { pressed, touch, unit } = pointer;
    pointer.pressed = null;
    if (!pressed || this.show.hand.holds(pressed.body)) return;
    const { body } = pressed;
    const [dx, dy] = [body.x - pressed.x, body.y - pressed.y];
    const far = Math.hypot(dx, dy) / this.reach(body, touch, unit); // it may have rolled on since it was pressed
    pointer.drag = { body, dx: dx / Math.max(far, 1), dy: dy / Math.max(far, 1), moving: true };
    this.moveDrag(pointer, 0, 0);
  }

  private moveDrag(pointer: Pointer, vx: number, vy: number): void {
    const { drag, x, y } = pointer;
    if (!drag) return;
    drag.moving = vx !== 0 || vy !== 0;
    this.show.hand.hold(drag.body, x + drag.dx, y + drag.dy, vx, vy);
  }

  /** Of the pointer, in world units per second of show time: what flies on at the pace of the hand is thrown naturally. */
  private velocity({ path }: Pointer): [vx: number, vy: number] {
    const [first, last] = [path[0], path.at(-1)];
    if (!first || !last || last.t <= first.t) return [0, 0];
    const seconds = ((last.t - first.t) / 1000) * (this.show.playing ? this.show.speed : 1);
    return [(last.x - first.x) / seconds, (last.y - first.y) / seconds];
  }

  // ---- what is where

  private under({ touch, x, y, unit }: Pointer): Body | null {
    let nearest: Body | null = null;
    let least = Infinity;
    for (const body of this.show.bodies) {
      const [bx, by] = this.drawn(body);
      const distance = Math.hypot(x - bx, y - by);
      if (distance < Math.min(least, this.reach(body, touch, unit))) [nearest, least] = [body, distance];
    }
    return nearest;
  }

  private reach(body: Body, touch: boolean, unit: number): number {
    return Math.max(1.1 * this.figure(body).extent, (touch ? ROOM.touch : ROOM.mouse) * unit);
  }

  /** The largest of the shapes that are drawn at the body's place; what was found before where nothing is there at the moment. */
  private figure(body: Body): Figure {
    const { current, count, spec } = this.show;
    let found: Figure | null = null;
    for (let index = 0; index < count; index++) {
      const at = index * SHAPE_FLOATS;
      const [kind, a, b] = [current[at], current[at + 4]!, current[at + 5]!];
      if (current[at + 2] !== body.x || current[at + 3] !== body.y || kind === KIND.line || kind === KIND.tag) continue;
      const extent = kind === KIND.circle ? a : kind === KIND.box ? 1.25 * Math.max(a, b) : a + b;
      if (extent > LARGEST * (spec.world[2] - spec.world[0])) continue; // the pitch, its circle
      found ??= { index, extent, paint: spec.palette[current[at + 1]!] ?? "" };
      found.extent = Math.max(found.extent, extent);
    }
    if (found) this.figures.set(body, found);
    return found ?? this.figures.get(body) ?? { index: -1, extent: 0.03 * (spec.world[2] - spec.world[0]), paint: "" };
  }

  /** Where the body is seen, between two ticks. */
  private drawn(body: Body): [x: number, y: number] {
    const { previous, current, count, alpha } = this.show;
    const { index } = this.figure(body);
    if (index < 0 || index >= count) return [body.x, body.y];
    const at = index * SHAPE_FLOATS;
    const share = jumped(previous, current, at, farIn(this.show.spec.world)) ? 1 : alpha;
    const between = (k: number) => previous[k]! + (current[k]! - previous[k]!) * share;
    return [between(at + 2), between(at + 3)];
  }

  // ---- rings

  /** Whether they changed since the last call. */
  takeDirty(): boolean {
    const { dirty } = this;
    this.dirty = false;
    return dirty;
  }

  field(theme: Theme): Field | null {
    return this.below.field(theme);
  }

  /** Writes what lies below, then a ring around what can be grabbed, is held or is played by the person; returns the new count. */
  shapes(out: Float32Array, count: number, look: Look): number {
    const { show } = this;
    count = this.below.shapes(out, count, look);
    const width = show.spec.world[2] - show.spec.world[0];
    for (const body of show.bodies.slice(0, MOST_RINGED)) {
      const { extent, paint } = this.figure(body);
      const [x, y] = this.drawn(body);
      const radius = extent + 0.008 * width;
      if (paint === "player0" && show.deciders.played(0)) {
        putShape(out, count++, KIND.ring, look.index("accent"), x, y, radius + 0.01 * width, 0.0022 * width, 1, 0, 0, 0.9, 0.003 * width);
      }
      const strength = this.strength(body, x, y, radius, width);
      if (strength < 0.02) continue;
      const half = (strength === 1 ? 0.0065 : 0.004) * width;
      putShape(out, count++, KIND.ring, look.index("line"), x, y, radius, half, 1, 0, 0, strength, 0.006 * width);
    }
    return count;
  }

  /** 1 held, less while it is only near a pointer. */
  private strength(body: Body, x: number, y: number, radius: number, width: number): number {
    let most = 0;
    for (const pointer of this.pointers.values()) {
      if (pointer.drag) {
        if (pointer.drag.body === body) return 1;
        continue;
      }
      const gap = Math.hypot(pointer.x - x, pointer.y - y) - radius;
      const near = Math.min(1, Math.max(0, 1 - gap / (NEAR * width)));
      most = Math.max(most, this.under(pointer) === body ? 0.85 : 0.45 * near * near);
    }
    return most;
  }
}
