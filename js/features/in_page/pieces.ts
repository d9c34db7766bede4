/** A file on its way to the kernel. */

const PART_BYTES = 4 << 20; // Jupyter's server ends a connection that sends more than 10 MiB at once

/** Its bytes in as many messages as they need, one at least. */
export function pieces(file: Uint8Array): { part: number; parts: number; bytes: ArrayBuffer }[] {
  const parts = Math.max(1, Math.ceil(file.length / PART_BYTES));
  return Array.from({ length: parts }, (_, part) => ({ part, parts, bytes: file.slice(part * PART_BYTES, (part + 1) * PART_BYTES).buffer as ArrayBuffer }));
}
