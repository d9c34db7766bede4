/** Frames and states as they travel between a page without a notebook and dshq_widget/widget/play_comm.py. */
import { describe, expect, it } from "vitest";
import { packed, same, unpacked, withoutBuffers } from "../../session/kernel/socket_model";

describe("frames", () => {
  it("hold a message and its buffers", () => {
    const frame = packed({ type: "comm_msg", data: { content: "ü" } }, [new Uint8Array([1, 2]).buffer, new Uint8Array([9, 3, 4, 5]).subarray(1, 3)]);
    const { message, buffers } = unpacked(frame.buffer);
    expect(message).toEqual({ type: "comm_msg", data: { content: "ü" } });
    expect(buffers.map(({ byteLength }) => byteLength)).toEqual([2, 2]);
    expect(buffers[1]!.getUint8(1)).toBe(4);
  });

  it("count their parts and the length of each in little-endian words", () => {
    expect([...packed({}, [new Uint8Array([7])])]).toEqual([2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 123, 125, 7]);
  });
});

describe("states", () => {
  it("travel without their bytes, and say where those stood", () => {
    const bytes = new Uint8Array([1]);
    const { state, paths, buffers } = withoutBuffers({ a: 1, snapshot: { tick: 2, state: bytes }, rows: [null, { data: bytes }] });
    expect(state).toEqual({ a: 1, snapshot: { tick: 2, state: null }, rows: [null, { data: null }] });
    expect(paths).toEqual([
      ["snapshot", "state"],
      ["rows", 1, "data"],
    ]);
    expect(buffers).toEqual([bytes, bytes]);
  });

  it("are the same where all that they hold is", () => {
    expect(same({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toBe(true);
    expect(same({ a: 1 }, { a: 1, b: undefined })).toBe(false);
    expect(same([], {})).toBe(false);
    expect(same(new Uint8Array([1, 2]).buffer, new DataView(new Uint8Array([0, 1, 2]).buffer, 1))).toBe(true);
    expect(same(new Uint8Array([1]), new Uint8Array([2]))).toBe(false);
    expect(same(new Uint8Array([1]), [1])).toBe(false);
    expect(same(Number.NaN, Number.NaN)).toBe(true);
  });
});
