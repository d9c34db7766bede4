/** Unpacks what travels small: gzip in base64. */

/** The text that was packed. */
export function unpack(packed: string): Promise<string> {
  return unpacked(packed).text();
}

/** The bytes that were packed. */
export function unpackBytes(packed: string): Promise<ArrayBuffer> {
  return unpacked(packed).arrayBuffer();
}

function unpacked(packed: string): Response {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
