/**
 * Draws a grid of numbers as a colour map over the pitch: interpolated smoothly or cell by cell, blue where it is good for side 0, orange where it
 * is bad, clear in between. Blue and orange stay apart for the common kinds of colour blindness (Okabe and Ito, 2008).
 */
import type { Theme } from "../contract/protocol";
import type { Field } from "./scene";

const ZOOM = 4; // pixels per cell along each side
const STEPS = 255; // shades
const STRONGEST: Record<Theme, number> = { light: 0.76, dark: 0.72 }; // opacity at the end of the scale
/** Red, green, blue of weak, then of strong; mind.css draws the legend in the same colours. */
const SHADES: Record<Theme, Record<"good" | "bad", readonly number[]>> = {
  light: { good: [126, 180, 248, 18, 86, 200], bad: [255, 196, 112, 224, 88, 0] },
  dark: { good: [58, 110, 196, 96, 172, 255], bad: [176, 96, 32, 255, 160, 64] },
};

export class FieldImage implements Field {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>; // RGBA, not premultiplied
  revision = 0;
  private readonly wide: Float32Array; // [rows, width]
  private readonly weights: [number, number, number, number][];
  private table: { theme: Theme; colours: Uint8ClampedArray } | null = null;

  constructor(
    private readonly columns: number,
    private readonly rows: number,
    readonly area: Field["area"],
    blend: "smooth" | "cells" = "smooth",
  ) {
    const spline = blend === "smooth" ? cubic : nearest;
    this.weights = Array.from({ length: ZOOM }, (_, k) => spline((k + 0.5) / ZOOM - 0.5));
    this.width = columns * ZOOM;
    this.height = rows * ZOOM;
    this.pixels = new Uint8ClampedArray(this.width * this.height * 4);
    this.wide = new Float32Array(rows * this.width);
  }

  /** Paints `values` [rows * columns], of which `range` is the strongest colour. */
  paint(values: Float32Array, range: number, theme: Theme): void {
    const { columns, rows, width, height, wide, weights } = this;
    if (this.table?.theme !== theme) this.table = { theme, colours: colours(theme) };
    const ramp = this.table.colours;
    for (let row = 0; row < rows; row++) {
      for (let x = 0; x < width; x++) {
        const [first, taps] = [Math.floor((x + 0.5) / ZOOM - 0.5) - 1, weights[x % ZOOM]!];
        let sum = 0;
        for (let k = 0; k < 4; k++) sum += taps[k]! * values[row * columns + clamp(first + k, columns)]!;
        wide[row * width + x] = sum;
      }
    }
    for (let y = 0; y < height; y++) {
      const [first, taps] = [Math.floor((y + 0.5) / ZOOM - 0.5) - 1, weights[y % ZOOM]!];
      for (let x = 0; x < width; x++) {
        let sum = 0;
        for (let k = 0; k < 4; k++) sum += taps[k]! * wide[clamp(first + k, rows) * width + x]!;
        const share = Math.max(-1, Math.min(1, sum / range));
        const from = 4 * Math.round((0.5 + 0.5 * share) * STEPS);
        const at = 4 * (y * width + x);
        for (let k = 0; k < 4; k++) this.pixels[at + k] = ramp[from + k]!;
      }
    }
    this.revision++;
  }
}

/** RGBA of STEPS + 1 shades, from bad to good. */
function colours(theme: Theme): Uint8ClampedArray {
  const { good, bad } = SHADES[theme];
  const table = new Uint8ClampedArray(4 * (STEPS + 1));
  for (let step = 0; step <= STEPS; step++) {
    const share = (2 * step) / STEPS - 1;
    const force = Math.abs(share);
    const shade = share > 0 ? good : bad;
    for (let k = 0; k < 3; k++) table[4 * step + k] = shade[k]! + (shade[3 + k]! - shade[k]!) * force;
    table[4 * step + 3] = 255 * STRONGEST[theme] * force ** 0.8;
  }
  return table;
}

/** Weights of the four cells around a place `t` cells from the middle of one: the uniform cubic B-spline, which never overshoots. */
function cubic(t: number): [number, number, number, number] {
  const u = t - Math.floor(t);
  const v = 1 - u;
  return [v ** 3 / 6, (3 * u ** 3 - 6 * u ** 2 + 4) / 6, (3 * v ** 3 - 6 * v ** 2 + 4) / 6, u ** 3 / 6];
}

/** The same of the cell that the place is in, and no other. */
function nearest(t: number): [number, number, number, number] {
  return t < 0 ? [0, 0, 1, 0] : [0, 1, 0, 0];
}

function clamp(index: number, length: number): number {
  return Math.max(0, Math.min(length - 1, index));
}
