/** Types for the part of gifenc that this page uses; gifenc has no types. */
declare module "gifenc" {
  export interface Encoder {
    writeFrame(indices: Uint8Array, width: number, height: number, options: FrameOptions): void;
    finish(): void;
    bytes(): Uint8Array<ArrayBuffer>;
  }
  export interface FrameOptions {
    palette?: number[][]; // [r, g, b], of the first picture: of all
    delay: number; // ms
    transparent?: boolean;
    transparentIndex?: number;
    dispose?: number; // GIF89a's disposal method
  }
  export function GIFEncoder(): Encoder;
  /** At most `colours` of [r, g, b] that stand for RGBA pixels. */
  export function quantize(pixels: Uint8ClampedArray, colours: number, options?: { useSqrt: boolean }): number[][]; // `useSqrt`: rare colours weigh more than by their number
  /** The index of the nearest colour, per pixel. */
  export function applyPalette(pixels: Uint8ClampedArray, palette: number[][]): Uint8Array;
}
