/** Frames as the kernel packs them: what the policy sees in four shades, and what a world model makes of it in sixteen. */
import { bytesOf } from "../../contract/bytes";
import type { Bytes } from "../../contract/protocol";

export const [WIDTH, HEIGHT] = [80, 72];
export const SEEN_BYTES = (WIDTH * HEIGHT) / 4; // four pixels to a byte, the leftmost in the lowest bits
export const MADE_BYTES = (WIDTH * HEIGHT) / 2; // two pixels

/** One picture: the shade of each pixel, 0 to 1. */
export type Picture = Float32Array;

/** Reads pictures from one row of bytes, in turn. */
export class Pictures {
  private at = 0;
  private readonly bytes: Uint8Array;

  constructor(bytes: Bytes) {
    this.bytes = bytesOf(bytes);
  }

  seen(): Picture {
    return this.next(SEEN_BYTES, 2);
  }

  made(): Picture {
    return this.next(MADE_BYTES, 4);
  }

  /** Throws a RangeError where the row is too short. */
  private next(bytes: number, bits: number): Picture {
    const row = this.bytes.subarray(this.at, this.at + bytes);
    if (row.length < bytes) throw new RangeError(`A picture has ${bytes} bytes, got ${row.length}.`);
    this.at += bytes;
    const [each, most] = [8 / bits, 2 ** bits - 1];
    const picture = new Float32Array(WIDTH * HEIGHT);
    for (let k = 0; k < picture.length; k++) picture[k] = ((row[Math.floor(k / each)]! >> (bits * (k % each))) & most) / most;
    return picture;
  }
}
