import { describe, expect, it } from "vitest";
import { KIND, SHAPE_FLOATS } from "../../contract/protocol";
import { type GameState, loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { sightsOf } from "../../match/sights";
import { Inspector } from "../../mind/inspector";
import { Look } from "../../renderer/palette";
import { OVERLAY_SHAPES } from "../../renderer/scene";
import { TOY } from "../harness/toy_game";

const NAMES = [
  ...["ball ahead", "ball left", "ball velocity ahead", "ball velocity left", "own x", "own y"],
  ...["way to the flag x", "way to the flag y", "far ahead", "far left", "distance"],
];
const observations = NAMES.map((name) => ({ name, scale: 8, unit: "u", help: "" }));
const drag = [
  TOY.spec.drag[0]!,
  ...[0, 1].map((index) => ({ name: `player ${index}`, x: "px", y: "target", vx: "px", vy: "target", index, kind: "player" as const })),
];
const spec = { ...TOY.spec, observations, n_obs: NAMES.length, drag, tags: ["ball", "flag", "far"] };
const HEADING = 0.7; // rad, of every player
const FLAG = [3, -2] as const;

type Toy = GameState & Record<"px" | "target" | "ball_px" | "ball_py", Float32Array>;

function observe(s: GameState, side: number, out: Float32Array): void {
  const { px, target, ball_px, ball_py } = s as Toy;
  const [x, y] = [px[side]!, target[side]!];
  const ahead = (dx: number, dy: number) => [Math.cos(HEADING) * dx + Math.sin(HEADING) * dy, Math.cos(HEADING) * dy - Math.sin(HEADING) * dx];
  const cut = (value: number) => Math.max(-1, Math.min(1, value / 8));
  out.set([...ahead(ball_px[0]! - x, ball_py[0]! - y), 1, 2, x, y, FLAG[0] - x, FLAG[1] - y, ...ahead(30, 30), Math.hypot(x, y)].map(cut));
}

function watched() {
  const show = new Show({ ...loadRules(TOY.javascript), observe }, spec);
  const state = show.state as Toy;
  [state.px[0], state.target[0], state.px[1], state.target[1], state.ball_px[0], state.ball_py[0]] = [-1, 0.5, 2, 1, 1.5, -1.25];
  const inspector = new Inspector(show);
  const out = new Float32Array(OVERLAY_SHAPES * SHAPE_FLOATS);
  const seen = () => {
    const count = inspector.shapes(out, 0, new Look(spec.palette, "light"));
    return Array.from({ length: count }, (_, k) => [...out.subarray(k * SHAPE_FLOATS, (k + 1) * SHAPE_FLOATS)]);
  };
  return { show, inspector, seen };
}

describe("what a player sees", () => {
  it("is among the observations by pairs of names; what is its own, or no place, is not", () => {
    expect(sightsOf(spec)).toEqual([
      { name: "ball", at: 0 },
      { name: "flag", at: 6 },
      { name: "far", at: 8 },
    ]);
    expect(sightsOf(TOY.spec)).toEqual([]);
  });

  it("is marked where it is, from either player, with its name; what is cut off is not", () => {
    const { show, inspector, seen } = watched();
    expect(seen()).toEqual([]);
    const before = [...new Uint8Array(show.state.buffer)];
    for (const player of [0, 1]) {
      inspector.configure({ sight: true, player });
      const shapes = seen();
      const rings = shapes.filter(([kind]) => kind === KIND.ring);
      expect(rings).toHaveLength(2); // `far` lies beyond the scale
      [[1.5, -1.25] as const, FLAG].forEach(([x, y], k) => {
        expect(rings[k]![2]).toBeCloseTo(x, 2);
        expect(rings[k]![3]).toBeCloseTo(y, 2);
      });
      expect(shapes.filter(([kind]) => kind === KIND.tag).map((shape) => shape[10])).toEqual([0, 1]);
    }
    expect([...new Uint8Array(show.state.buffer)]).toEqual(before);
    (show.state as Toy).ball_px[0] = FLAG[0] + 0.1;
    (show.state as Toy).ball_py[0] = FLAG[1];
    const [ball, flag] = seen().filter(([kind]) => kind === KIND.tag);
    expect(Math.abs(ball![3]! - flag![3]!), "names of things that touch stand one above the other").toBeGreaterThanOrEqual(0.99 * flag![4]!);
    inspector.configure({ sight: false });
    expect(seen()).toEqual([]);
  });
});
