import type { Bytes } from "./protocol";

/** The same bytes, whatever they arrived as; `.slice()` makes a copy. */
export function bytesOf(given: Bytes): Uint8Array<ArrayBuffer> {
  return given instanceof ArrayBuffer ? new Uint8Array(given) : new Uint8Array(given.buffer as ArrayBuffer, given.byteOffset, given.byteLength);
}
