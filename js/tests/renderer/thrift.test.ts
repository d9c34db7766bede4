import { describe, expect, it } from "vitest";
import type { RendererKind } from "../../contract/protocol";
import type { Picture, Renderer } from "../../renderer/scene";
import { Thrift } from "../../renderer/thrift";

/** A renderer whose frames take that many milliseconds. */
function slow(kind: RendererKind, ms: number): Renderer {
  const settled = () => new Promise<void>((resolve) => setTimeout(resolve, ms));
  return { kind, resize: () => undefined, draw: () => undefined, settled, dispose: () => undefined };
}

const picture = {} as Picture;

/** What comes of a renderer with frames of `here` ms beside a Canvas2D with frames of `plain` ms, once something trains. */
async function spared(kind: RendererKind, software: boolean, here: number, plain: number) {
  const thrift = new Thrift();
  thrift.begin(kind, software);
  thrift.spare(true);
  const better = thrift.asks ? await thrift.weigh(slow(kind, here), slow("canvas2d", plain), picture, () => true) : kind;
  return { better, dear: thrift.dear, share: thrift.share, asks: thrift.asks };
}

describe("Thrift", () => {
  it("leaves hardware alone", async () => {
    expect(await spared("webgpu", false, 30, 1)).toEqual({ better: "webgpu", dear: false, share: 1, asks: false });
  });

  it("takes Canvas2D where that is clearly cheaper than a processor's WebGPU", async () => {
    expect(await spared("webgpu", true, 60, 5)).toMatchObject({ better: "canvas2d" });
    expect(await spared("webgpu", true, 20, 100)).toMatchObject({ better: "webgpu", dear: true });
  });

  it("draws fewer pixels the more a frame costs, only while something trains", async () => {
    expect(await spared("canvas2d", false, 0, 60)).toMatchObject({ dear: true, share: 0.65 });
    const thrift = new Thrift();
    thrift.begin("canvas2d", false);
    expect([thrift.asks, thrift.share]).toEqual([false, 1]);
    thrift.spare(true);
    await thrift.weigh(slow("canvas2d", 60), slow("canvas2d", 60), picture, () => true);
    thrift.spare(false);
    expect(thrift.share).toBe(1);
  });

  it("draws no more with a renderer that was disposed of while it weighed", async () => {
    let drawn = 0;
    const thrift = new Thrift();
    thrift.begin("webgpu", true);
    const here = { ...slow("webgpu", 1), draw: () => void drawn++ };
    expect(await thrift.weigh(here, slow("canvas2d", 0), picture, () => drawn < 2)).toBe("webgpu");
    expect(drawn).toBe(2);
  });
});
