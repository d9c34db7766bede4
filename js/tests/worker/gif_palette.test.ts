import { describe, expect, it } from "vitest";
import { dithered, paletteOf } from "../../worker/gif_palette";

/** A picture of many shades around one colour. */
function picture(red: number, green: number, blue: number): Uint8ClampedArray {
  return Uint8ClampedArray.from({ length: 4 * 40 * 40 }, (_, at) => {
    const shade = (at >> 2) % 40;
    return [red + shade, green + shade, blue + shade, 255][at % 4]!;
  });
}

const nearest = (palette: number[][], colour: number[]) => Math.min(...palette.map((one) => Math.hypot(...one.map((value, k) => value - colour[k]!))));

describe("the palette of a GIF", () => {
  it("has the colours of the whole film and all paints", () => {
    const paints = [
      [255, 0, 255],
      [1, 2, 3],
    ];
    const palette = paletteOf([picture(60, 140, 80), picture(190, 150, 60)], paints);
    expect(palette.length).toBeLessThanOrEqual(255);
    expect(palette).toEqual(expect.arrayContaining(paints));
    for (const shade of [0, 17, 39]) {
      expect(nearest(palette, [60 + shade, 140 + shade, 80 + shade])).toBeLessThan(12);
      expect(nearest(palette, [190 + shade, 150 + shade, 60 + shade]), "the tint of a goal").toBeLessThan(12);
    }
  });
});

describe("dithering", () => {
  it("keeps the mean of an area, mixes its neighbours' shades, and leaves what stands still alone", () => {
    const plain = Uint8ClampedArray.from({ length: 4 * 64 }, (_, at) => [100, 150, 60, 255][at % 4]!);
    const mixed = dithered(plain, 8);
    const reds = [...mixed].filter((_, at) => at % 4 === 0);
    expect(Math.abs(reds.reduce((sum, red) => sum + red, 0) / reds.length - 100)).toBeLessThan(1);
    expect(new Set(reds).size).toBeGreaterThan(4);
    expect([...mixed].filter((_, at) => at % 4 === 3)).toEqual(Array(64).fill(255));
    expect(dithered(plain, 8)).toEqual(mixed);
  });
});
