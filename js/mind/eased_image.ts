/** A colour map that eases from one grid of numbers to the next. */
import type { Theme } from "../contract/protocol";
import type { FieldImage } from "../renderer/field";

const EASE = 0.12; // seconds in which the shown map comes most of the way to a new one
const STILL = 0.002; // of the range: a nearer map is not moved any more

export class EasedImage {
  private readonly shown: Float32Array;
  private range = 0; // value at the ends of the scale, eased like the map; 0 before the first one
  private painted: Theme | null = null; // the theme that the image is painted in, null: not up to date

  constructor(
    readonly image: FieldImage,
    cells: number,
  ) {
    this.shown = new Float32Array(cells);
  }

  /** Brings the shown map nearer to `values`; false once it is there. */
  toward(values: Float32Array, range: number, seconds: number): boolean {
    if (range === 0) return false;
    const share = this.range === 0 ? 1 : 1 - Math.exp(-Math.max(seconds, 0) / EASE);
    let farthest = Math.abs(range - this.range);
    for (let k = 0; k < values.length; k++) {
      const way = values[k]! - this.shown[k]!;
      farthest = Math.max(farthest, Math.abs(way));
      this.shown[k]! += share * way;
    }
    this.range += share * (range - this.range);
    if (farthest <= STILL * range && this.painted !== null) return false;
    this.painted = null;
    return true;
  }

  /** The map as it stands, painted; null before the first one. */
  field(theme: Theme): FieldImage | null {
    if (this.range === 0) return null;
    if (this.painted !== theme) this.image.paint(this.shown, this.range, theme);
    this.painted = theme;
    return this.image;
  }
}
