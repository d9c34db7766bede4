import { beforeEach, expect, it } from "vitest";
import type { PointerInput } from "../../contract/protocol";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { Look } from "../../renderer/palette";
import { PointerDrags } from "../../worker/pointer_drags";
import { TOY } from "../harness/toy_game";

const UNIT = 0.01; // world units per CSS pixel
let show: Show;
let grips: PointerDrags;
let clock: number; // ms

beforeEach(() => {
  show = new Show(loadRules(TOY.javascript), { ...TOY.spec, time_limit: 1e9 }, 1, () => 0);
  show.setMode("human_vs_ai", "idle");
  grips = new PointerDrags(show, { field: () => null, shapes: (_out, count) => count });
  clock = 1000;
});

function point(kind: PointerInput["kind"], x: number, y: number, after = 10, touch = false): void {
  clock += after;
  grips.receive(0, { kind, pointer: 1, touch, x: 0, y: 0, t: clock + 5e6 }, x, y, UNIT, clock);
  grips.advance(clock);
}
const ball = () => [show.bodies[0]!.x, show.bodies[0]!.y];
const cursor = () => grips.changedCursors();
const rings = () => grips.shapes(new Float32Array(40 * 12), 0, new Look(TOY.spec.palette, "light"));

it("shows what can be taken: a cursor, and a ring from nearby on", () => {
  point("move", 3, 2);
  expect([cursor(), rings()]).toEqual([[], 0]);
  point("move", 0.6, 0);
  expect([cursor(), rings()]).toEqual([[], 1]);
  point("move", 0.1, 0);
  expect([cursor(), cursor(), rings()]).toEqual([[[0, "grab"]], [], 1]);
  point("leave", 9, 9);
  expect([cursor(), rings()]).toEqual([[[0, ""]], 0]);
});

it("carries what it took where it was taken, and throws it as fast as the hand was", () => {
  show.pause();
  point("move", 0.1, 0);
  point("down", 0.1, 0);
  point("move", 0.4, 0.2);
  expect(cursor()).toEqual([[0, "grabbing"]]);
  for (let k = 1; k <= 10; k++) point("move", 0.4 + 0.05 * k, 0.2); // 5 u/s
  expect(ball()[0]).toBeCloseTo(0.8, 4);
  expect(ball()[1]).toBeCloseTo(0.2, 4);
  point("up", 0.9, 0.2);
  expect(show.state).toMatchObject({ ball_vx: new Float32Array([5]), ball_vy: new Float32Array([0]) });
  expect(show.hand.holds(show.bodies[0]!)).toBe(false);
  expect(show.recording().inputs.at(-1)).toMatchObject({ kind: "throw", tick: 0, handle: "ball", vx: 5 });
});

it("drops what the hand held still before it let go", () => {
  point("down", 0, 0);
  point("move", 0.5, 0);
  point("up", 0.5, 0, 500);
  expect(show.state).toMatchObject({ ball_vx: new Float32Array([0]) });
});

it("throws at the show's own pace: in slow motion the hand is fast", () => {
  show.setSpeed(0.25);
  point("down", 0, 0);
  for (let k = 1; k <= 10; k++) point("move", 0.01 * k, 0); // 1 u/s
  point("up", 0.1, 0);
  expect((show.state as unknown as { ball_vx: Float32Array }).ball_vx[0]).toBeCloseTo(4, 4);
});

it("leaves a click alone, and takes hold when a press lasts", () => {
  point("down", 0.1, 0);
  point("up", 0.1, 0);
  expect(show.recording().inputs.some((input) => input.kind === "hold")).toBe(false);
  point("down", 0.1, 0);
  expect(grips.advance(clock + 100)).toBe(true);
  expect(show.hand.holds(show.bodies[0]!)).toBe(false);
  grips.advance(clock + 200);
  expect(show.hand.holds(show.bodies[0]!)).toBe(true);
});

it("lets go when a new game begins, and takes hold again only at a new press", () => {
  point("down", 0, 0);
  point("move", 0.5, 0);
  show.reset();
  point("move", 0.6, 0);
  expect(show.hand.holds(show.bodies[0]!)).toBe(false);
  expect(ball()[0]).toBe(0);
});

it("gives fingers more room", () => {
  point("down", 0.27, 0, 10);
  point("move", 1, 0);
  expect(show.hand.holds(show.bodies[0]!)).toBe(false);
  point("leave", 1, 0);
  point("down", 0.27, 0, 10, true);
  point("move", 1, 0, 10, true);
  expect(show.hand.holds(show.bodies[0]!)).toBe(true);
});
