import { describe, expect, it } from "vitest";
import { KIND, SHAPE_FLOATS } from "../../../contract/protocol";
import { Inspector } from "../../../mind/inspector";
import { Look } from "../../../renderer/palette";
import { OVERLAY_SHAPES } from "../../../renderer/scene";
import { CHUNKS } from "../gate";
import { gatedShow, SETTINGS, TERRITORY } from "./territory";

const look = new Look(TERRITORY.spec.palette, "light");

function begin(action: number) {
  const { show, gatekeeper, overlay } = gatedShow(action);
  return { show, gatekeeper, overlay, inspector: new Inspector(show, [overlay]) };
}

function rings(inspector: Inspector): { x: number; y: number; paint: string; share: number; alpha: number }[] {
  const out = new Float32Array(OVERLAY_SHAPES * SHAPE_FLOATS);
  return Array.from({ length: inspector.shapes(out, 0, look) }, (_, k) => {
    const [kind, colour, x, y, , , share, , , alpha] = out.subarray(k * SHAPE_FLOATS) as unknown as number[];
    expect(kind).toBe(KIND.ring);
    return { x: x!, y: y!, paint: look.names[colour!]!, share: share!, alpha: alpha! };
  });
}

describe("the ring around a proposal", () => {
  it("is whole where it was sent, in its kind's colour", () => {
    const { show, inspector } = begin(2 * CHUNKS + 210);
    show.stepBy("tick", 1);
    expect(inspector.advance(1, true)).toBe(true);
    expect(rings(inspector)).toMatchObject([
      { x: 10, y: 10, paint: "line", share: 1, alpha: 1 },
      { x: 10, y: 10, paint: "target", share: 1, alpha: 1 },
    ]);
    expect(inspector.advance(1, true)).toBe(false);
  });

  it("is dashed where it was blocked, and vanishes with the next one", () => {
    const { show, inspector } = begin(CHUNKS + 19);
    show.stepBy("tick", 1);
    inspector.advance(1, true);
    const dashes = rings(inspector);
    expect(dashes).toHaveLength(16);
    expect(dashes.every(({ x, y, share, alpha }) => x === 19 && y === 0 && share < 0.1 && alpha < 1)).toBe(true);
    show.stepBy("decision", 1);
    inspector.advance(0.4, true);
    expect(rings(inspector)).toHaveLength(32);
    inspector.advance(1, true);
    expect(rings(inspector)).toHaveLength(16);
  });
});

describe("the map of expected rewards", () => {
  /** Red less blue of a chunk's colour. */
  const warmth = (inspector: Inspector, chunk: number): number => {
    const { pixels, width, height } = inspector.field("light")!;
    const [x, y] = [(chunk % 20) * 4 + 2, height - 2 - 4 * Math.floor(chunk / 20)];
    return pixels[4 * (y * width + x)]! - pixels[4 * (y * width + x) + 2]!;
  };

  it("is blue above the threshold and orange below it", () => {
    const { inspector, overlay } = begin(CHUNKS);
    expect(inspector.field("light")).toBeNull();
    overlay.expect("energy");
    inspector.advance(1, true);
    expect(inspector.field("light")!.area).toEqual([-0.5, -0.5, 19.5, 19.5]);
    expect(warmth(inspector, 210)).toBeLessThan(0);
    expect(warmth(inspector, 0)).toBeGreaterThan(0);
  });

  it("follows the settings, and goes with the gate", () => {
    const { gatekeeper, overlay, inspector } = begin(CHUNKS);
    overlay.expect("energy");
    inspector.advance(1, true);
    gatekeeper.set({ ...SETTINGS, threshold: 0 });
    for (let k = 0; k < 5; k++) inspector.advance(1, true);
    expect(warmth(inspector, 0)).toBeLessThan(0);
    gatekeeper.set(null);
    expect(inspector.field("light")).toBeNull();
  });
});
