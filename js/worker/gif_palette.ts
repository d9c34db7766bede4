/** One palette for all pictures of a GIF: of colours from all over the film, so that the tint of a goal has its own, and of all that the drill may paint with. */
import { quantize } from "gifenc";

const COLOURS = 255; // and one more, which leaves the picture before as it is
const EVERY = 5; // of the pixels one is looked at

export function paletteOf(pictures: readonly Uint8ClampedArray[], paints: readonly number[][]): number[][] {
  const looked = pictures.map((pixels) => new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4).filter((_, k) => k % EVERY === 0));
  const all = new Uint32Array(looked.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const some of looked) {
    all.set(some, at);
    at += some.length;
  }
  return [...quantize(new Uint8ClampedArray(all.buffer), COLOURS - paints.length, { useSqrt: false }), ...paints]; // large areas get many shades: no bands
}

const GRID = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]; // of Bayer, 4 x 4
const STEP = 8; // between two shades that gifenc tells apart: it looks colours up by five bits

/** The same picture with shades between two colours as a fine pattern of both: a slow gradient would have bands. The pattern stands still, so what does not change stays the same. */
export function dithered(pixels: Uint8ClampedArray, width: number): Uint8ClampedArray {
  const out = new Uint8ClampedArray(pixels.length);
  for (let k = 0, at = 0; at < pixels.length; k++, at += 4) {
    const more = (STEP * (GRID[4 * (Math.floor(k / width) & 3) + ((k % width) & 3)]! - 7.5)) / 16;
    for (let channel = 0; channel < 3; channel++) out[at + channel] = pixels[at + channel]! + more;
    out[at + 3] = pixels[at + 3]!;
  }
  return out;
}
