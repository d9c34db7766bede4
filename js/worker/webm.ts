/** A WebM file around encoded pictures (RFC 8794 for its elements, RFC 9559 for their meaning): one video track, nothing else. */

export interface EncodedPicture {
  readonly data: Uint8Array;
  readonly time: number; // ms
  readonly key: boolean; // needs no picture before it
}

/** `codec` is Matroska's name of it, such as V_VP8; `duration` in ms. A cluster begins at every key picture. */
export function webm(pictures: readonly EncodedPicture[], codec: string, width: number, height: number, duration: number): Uint8Array<ArrayBuffer> {
  const clusters: EncodedPicture[][] = [];
  for (const picture of pictures) {
    if (picture.key || clusters.length === 0) clusters.push([]);
    clusters.at(-1)!.push(picture);
  }
  return element(
    0x1a45dfa3,
    [
      element(0x4286, uint(1)), // EBMLVersion
      element(0x42f7, uint(1)), // EBMLReadVersion
      element(0x42f2, uint(4)), // EBMLMaxIDLength
      element(0x42f3, uint(8)), // EBMLMaxSizeLength
      element(0x4282, text("webm")), // DocType
      element(0x4287, uint(2)), // DocTypeVersion
      element(0x4285, uint(2)), // DocTypeReadVersion
    ],
    element(0x18538067, [
      element(0x1549a966, [
        // Info
        element(0x2ad7b1, uint(1_000_000)), // TimestampScale: ns per unit of time, so a unit is 1 ms
        element(0x4489, float(duration)),
        element(0x4d80, text("dshq-widget")), // MuxingApp
        element(0x5741, text("dshq-widget")), // WritingApp
      ]),
      element(0x1654ae6b, [
        // Tracks
        element(0xae, [
          element(0xd7, uint(1)), // TrackNumber
          element(0x73c5, uint(1)), // TrackUID
          element(0x83, uint(1)), // TrackType: video
          element(0x86, text(codec)),
          element(0xe0, [element(0xb0, uint(width)), element(0xba, uint(height))]), // PixelWidth, PixelHeight
        ]),
      ]),
      ...clusters.map(cluster),
    ]),
  );
}

function cluster(pictures: readonly EncodedPicture[]): Uint8Array {
  const start = Math.round(pictures[0]!.time);
  const blocks = pictures.map(({ data, time, key }) => {
    const since = Math.round(time) - start; // 16 bits, signed
    return element(0xa3, [Uint8Array.of(0x81, (since >> 8) & 0xff, since & 0xff, key ? 0x80 : 0), data]); // SimpleBlock of track 1
  });
  return element(0x1f43b675, [element(0xe7, uint(start)), ...blocks]);
}

/** One element: its id, eight bytes of length, what it holds; `after` is put behind it. */
function element(id: number, content: Uint8Array | readonly Uint8Array[], after: Uint8Array = new Uint8Array()): Uint8Array<ArrayBuffer> {
  const parts = content instanceof Uint8Array ? [content] : content;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = [...bytes(id), 0x01, 0, 0, ...bytes(length, 5)];
  const out = new Uint8Array(head.length + length + after.length);
  out.set(head);
  let at = head.length;
  for (const part of [...parts, after]) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Big-endian, as short as it can be, or `least` bytes. */
function bytes(value: number, least = 1): number[] {
  const out: number[] = [];
  for (let rest = value; rest > 0 || out.length < least; rest = Math.floor(rest / 256)) out.unshift(rest % 256);
  return out;
}

function uint(value: number): Uint8Array {
  return Uint8Array.from(bytes(value));
}

function float(value: number): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setFloat64(0, value);
  return out;
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}
