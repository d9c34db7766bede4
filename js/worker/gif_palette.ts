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
