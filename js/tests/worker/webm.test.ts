/** The WebM file that the film is put into, read back element by element. */
import { describe, expect, it } from "vitest";
import { webm } from "../../worker/webm";

interface Element {
  id: string;
  content: Uint8Array;
}

/** The elements of one level (RFC 8794, sections 4 and 5). */
function elements(bytes: Uint8Array): Element[] {
  const out: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const idLength = Math.clz32(bytes[at]!) - 23;
    const id = [...bytes.subarray(at, at + idLength)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    at += idLength;
    const sizeLength = Math.clz32(bytes[at]!) - 23;
    let size = bytes[at]! & (0xff >> sizeLength);
    for (let k = 1; k < sizeLength; k++) size = size * 256 + bytes[at + k]!;
    at += sizeLength;
    expect(at + size).toBeLessThanOrEqual(bytes.length);
    out.push({ id, content: bytes.subarray(at, at + size) });
    at += size;
  }
  return out;
}

const within = (all: Element[], id: string): Element[] => all.filter((element) => element.id === id);
const only = (all: Element[], id: string): Element[] => elements(within(all, id)[0]!.content);
const value = (all: Element[], id: string): number => within(all, id)[0]!.content.reduce((sum, byte) => 256 * sum + byte, 0);

describe("a WebM file", () => {
  const pictures = Array.from({ length: 130 }, (_, k) => ({ data: Uint8Array.of(k, 7), time: (1000 * k) / 30, key: k % 60 === 0 }));
  const top = elements(webm(pictures, "V_VP8", 720, 480, 4333));
  const segment = only(top, "18538067");

  it("says what it is", () => {
    expect(top.map(({ id }) => id)).toEqual(["1a45dfa3", "18538067"]);
    expect(new TextDecoder().decode(within(only(top, "1a45dfa3"), "4282")[0]!.content)).toBe("webm");
    const info = only(segment, "1549a966");
    expect(value(info, "2ad7b1")).toBe(1_000_000);
    const duration = within(info, "4489")[0]!.content;
    expect(new DataView(duration.buffer, duration.byteOffset).getFloat64(0)).toBe(4333);
  });

  it("has one track of that size", () => {
    const track = only(only(segment, "1654ae6b"), "ae");
    expect(new TextDecoder().decode(within(track, "86")[0]!.content)).toBe("V_VP8");
    const video = only(track, "e0");
    expect([value(video, "b0"), value(video, "ba")]).toEqual([720, 480]);
  });

  it("begins a cluster at every key picture and keeps every picture and its time", () => {
    const clusters = within(segment, "1f43b675").map(({ content }) => elements(content));
    expect(clusters.map((cluster) => within(cluster, "a3").length)).toEqual([60, 60, 10]);
    const read = clusters.flatMap((cluster) =>
      within(cluster, "a3").map(({ content }) => ({
        time: value(cluster, "e7") + new DataView(content.buffer, content.byteOffset).getInt16(1),
        key: content[3] === 0x80,
        data: content.slice(4),
      })),
    );
    expect(read).toEqual(pictures.map(({ data, time, key }) => ({ data, time: Math.round(time), key })));
  });
});
