/** Shapes as the rules draw them (docs/architecture.md, "Scene"), the moment between two ticks, and what a renderer is. */
import { KIND, type RendererKind, SHAPE_FLOATS, type Theme } from "../contract/protocol";
import type { Look } from "./palette";

/** A tag is drawn this many times as wide as its size. */
export const TAG_ASPECT = 4;

/** Share of the world's size left free around it. */
const MARGIN = 0.035;

/** A colour over the ground, strongest at x, y and gone at `radius`. */
export interface Wash {
  name: string; // palette name
  strength: number; // 0..1
  x: number;
  y: number;
  radius: number; // world units
}

/** An image that lies over the ground, below everything that moves. */
export interface Field {
  readonly width: number; // pixels
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>; // RGBA, not premultiplied, from the top left
  readonly area: readonly [number, number, number, number]; // x0, y0, x1, y1 in world units
  readonly revision: number; // counts changes of the pixels
}

/** What is laid over a match: below its actors a field, above them shapes. */
export interface Overlay {
  field(theme: Theme): Field | null;
  /** Writes at most OVERLAY_SHAPES shapes after the first `count`; returns the new count. */
  shapes(out: Float32Array, count: number, look: Look): number;
}
export const OVERLAY_SHAPES = 320 + 1536; // the latter for what features draw
/** Rings around what a hand may take, above the overlay, and outlines of cells. */
export const RING_SHAPES = 32 + 12;

export interface Picture {
  world: readonly [number, number, number, number];
  shapes: Float32Array; // [count * 12]
  count: number;
  fixed: number; // how many of the first shapes are no actors and likely stand still
  look: Look;
  tags: readonly string[];
  wash: Wash;
  field: Field | null;
}

export interface Renderer {
  readonly kind: RendererKind;
  /** Sizes in CSS pixels, `dpi` device pixels per CSS pixel. */
  resize(width: number, height: number, dpi: number): void;
  draw(picture: Picture): void;
  /** Resolves once everything has been drawn. */
  settled(): Promise<void>;
  dispose(): void;
}

export type Canvas = OffscreenCanvas | HTMLCanvasElement;

/** A canvas that nobody sees, in a worker or on a page, of a browser that has OffscreenCanvas or not. */
export function newCanvas(width = 1, height = 1): Canvas {
  if (typeof OffscreenCanvas !== "undefined") return new OffscreenCanvas(width, height);
  return Object.assign(document.createElement("canvas"), { width, height });
}

/** Where a world rectangle lies on a canvas of `width` x `height` device pixels: pixel = (x * scale + left, top - y * scale). */
interface Placement {
  scale: number; // device pixels per world unit
  left: number;
  top: number;
}

/** The largest centred placement that shows the whole world and its margin. */
export function place(world: Picture["world"], width: number, height: number): Placement {
  const [x0, y0, x1, y1] = world;
  const scale = Math.min(width / (x1 - x0), height / (y1 - y0)) / (1 + 2 * MARGIN);
  return { scale, left: width / 2 - ((x0 + x1) / 2) * scale, top: height / 2 + ((y0 + y1) / 2) * scale };
}

const ALPHA = 9; // of a shape's floats

const FAR = 0.3; // of the world's longer side: nothing moves that far in a tick, it is put there

/** The distance (world units) from which on a shape that is elsewhere a tick later has jumped. */
export function farIn([x0, y0, x1, y1]: Picture["world"]): number {
  return FAR * Math.max(x1 - x0, y1 - y0);
}

/** Whether the shape whose floats begin at `at` has jumped: it is nowhere between its two places. */
export function jumped(previous: Float32Array, current: Float32Array, at: number, far: number): boolean {
  return Math.hypot(current[at + 2]! - previous[at + 2]!, current[at + 3]! - previous[at + 3]!) >= far;
}

/**
 * Writes the scene `alpha` of the way from `previous` to `current`. Shapes that changed their kind, or that jumped (`farIn`), are taken
 * from `current`; hidden ones that appear, or shown ones that vanish, do so in their place.
 */
export function interpolate(previous: Float32Array, current: Float32Array, count: number, alpha: number, out: Float32Array, far = Infinity): void {
  for (let at = 0; at < count * SHAPE_FLOATS; at += SHAPE_FLOATS) {
    const kind = current[at]!;
    for (let k = 0; k < SHAPE_FLOATS; k++) out[at + k] = current[at + k]!;
    if (previous[at] !== kind || kind === KIND.tag) continue;
    const [before, now] = [previous[at + ALPHA]!, current[at + ALPHA]!];
    if ((before === 0) !== (now === 0)) {
      // it comes or goes where it is seen, and does not fly there
      if (now === 0) for (let k = 2; k < ALPHA; k++) out[at + k] = previous[at + k]!;
      out[at + ALPHA] = now + (before - now) * (1 - alpha);
      continue;
    }
    if (jumped(previous, current, at, far)) continue;
    const angular = kind === KIND.ring ? 7 : -1; // a ring's start angle may wrap
    for (let k = 2; k < 10; k++) {
      if (k !== angular) out[at + k]! += (previous[at + k]! - current[at + k]!) * (1 - alpha);
    }
    if (kind === KIND.box) {
      const norm = Math.hypot(out[at + 6]!, out[at + 7]!) || 1;
      out[at + 6]! /= norm;
      out[at + 7]! /= norm;
    }
  }
}

/** Writes one shape at `index`; the arguments mean what they mean in SHAPE_FLOATS. */
export function putShape(
  out: Float32Array,
  index: number,
  kind: number,
  colour: number,
  x: number,
  y: number,
  a: number,
  b: number,
  c: number,
  d: number,
  e: number,
  alpha: number,
  soft: number,
): void {
  const at = index * SHAPE_FLOATS;
  out[at] = kind;
  out[at + 1] = colour;
  out[at + 2] = x;
  out[at + 3] = y;
  out[at + 4] = a;
  out[at + 5] = b;
  out[at + 6] = c;
  out[at + 7] = d;
  out[at + 8] = e;
  out[at + 9] = alpha;
  out[at + 10] = 0;
  out[at + 11] = soft;
}
