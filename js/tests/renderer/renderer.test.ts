import { describe, expect, it } from "vitest";
import { type Capabilities, KIND, SHAPE_FLOATS } from "../../contract/protocol";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { compose, EFFECT_SHAPES, Effects, firstActor } from "../../renderer/effects";
import { choose, settle } from "../../renderer/fallback";
import { FixedPart } from "../../renderer/fixed";
import { ENTRY_FLOATS, Look, rgba } from "../../renderer/palette";
import { farIn, interpolate, type Picture, place, putShape } from "../../renderer/scene";
import { TOY } from "../harness/toy_game";

describe("the choice of a renderer", () => {
  const top: Capabilities = { secure: true, gpu: true, device: true, error: "", offscreen: true };
  const bare: Capabilities = { ...top, gpu: false, device: false };

  it("draws with WebGPU in the worker wherever that works, without a reason", () => {
    expect(choose(top, null)).toEqual({ renderer: "webgpu", thread: "worker", reason: "" });
  });

  it.each([
    ["no worker", null, top, "webgpu", "page", "cannot start workers"],
    ["no OffscreenCanvas", { ...top, offscreen: false }, top, "webgpu", "page", "cannot draw from a worker"],
    ["no WebGPU in workers", bare, top, "webgpu", "page", "no WebGPU inside workers"],
    ["no https", { ...bare, secure: false }, { ...bare, secure: false }, "canvas2d", "worker", "not served over https"],
    ["no WebGPU", bare, bare, "canvas2d", "worker", "has no WebGPU"],
    ["no adapter", { ...top, device: false }, { ...top, device: false, error: "blocked" }, "canvas2d", "worker", "(blocked)"],
    ["nothing at all", null, bare, "canvas2d", "page", "cannot start workers"],
  ] as [string, Capabilities | null, Capabilities, string, string, string][])(
    "steps down and says why: %s",
    (_name, worker, page, renderer, thread, reason) => {
      const choice = choose(worker, page);
      expect(choice).toMatchObject({ renderer, thread });
      expect(choice.reason).toContain(reason);
      expect(choice.reason).toMatch(/^[A-Z].*\.$/);
    },
  );

  it("settles for Canvas2D when the promised device is gone", () => {
    expect(settle("webgpu", "", top)).toEqual({ renderer: "webgpu", reason: "" });
    expect(settle("webgpu", "No workers.", bare)).toEqual({
      renderer: "canvas2d",
      reason: "No workers. This browser has no WebGPU, or it is switched off.",
    });
    expect(settle("canvas2d", "As chosen.", top)).toEqual({ renderer: "canvas2d", reason: "As chosen." });
  });
});

describe("between two ticks", () => {
  const shapes = (...list: number[][]) => Float32Array.from(list.flatMap((shape) => [...shape, ...Array<number>(SHAPE_FLOATS).fill(0)].slice(0, SHAPE_FLOATS)));

  it("moves shapes along, and keeps turned boxes rigid", () => {
    const previous = shapes([KIND.circle, 0, 1, 2, 0.5], [KIND.box, 0, 0, 0, 1, 1, 1, 0]);
    const current = shapes([KIND.circle, 0, 3, 2, 0.5], [KIND.box, 0, 0, 4, 1, 1, 0, 1]);
    const out = new Float32Array(24);
    interpolate(previous, current, 2, 0.25, out);
    expect([out[2], out[3], out[4]]).toEqual([1.5, 2, 0.5]);
    expect(out[15]).toBe(1);
    expect(Math.hypot(out[18]!, out[19]!)).toBeCloseTo(1, 6);
    expect(out[18]!).toBeGreaterThan(out[19]!);
    interpolate(previous, current, 2, 1, out);
    expect(out).toEqual(current);
  });

  it("lets what comes and goes fade in its place", () => {
    const [here, there] = [(alpha: number) => [KIND.circle, 0, 1, 1, 1, 0, 0, 0, 0, alpha], (alpha: number) => [KIND.circle, 0, 9, 9, 1, 0, 0, 0, 0, alpha]];
    const out = new Float32Array(12);
    interpolate(shapes(here(0)), shapes(there(1)), 1, 0.25, out);
    expect([out[2], out[3], out[9]]).toEqual([9, 9, 0.25]);
    interpolate(shapes(here(1)), shapes(there(0)), 1, 0.25, out);
    expect([out[2], out[3], out[9]]).toEqual([1, 1, 0.75]);
  });

  it("puts what jumped where it is now: a lamp shines on one side or on the other", () => {
    const far = farIn([-2.2, -1.1, 2.2, 1.1]); // Bandit's
    const [left, right, near] = [-1, 1, 0.25].map((x) => shapes([KIND.circle, 0, x, 0.2, 0.3]));
    const out = new Float32Array(12);
    interpolate(left!, right!, 1, 0.5, out, far);
    expect(out).toEqual(right);
    interpolate(left!, near!, 1, 0.5, out, far);
    expect(out[2]).toBeCloseTo(-0.375, 6);
  });

  it("takes a shape that became another kind as it is now", () => {
    const out = new Float32Array(12);
    const current = shapes([KIND.ring, 0, 5, 5, 1, 0.1, 1, 0]);
    interpolate(shapes([KIND.circle, 0, 1, 1, 1]), current, 1, 0.5, out);
    expect(out).toEqual(current);
  });
});

it("places the whole world, centred, with a margin, y up", () => {
  const { scale, left, top } = place([-4, -3, 4, 3], 800, 400);
  const [x0, y1] = [-4 * scale + left, top - 3 * scale];
  const [x1, y0] = [4 * scale + left, top + 3 * scale];
  expect(x0 + x1).toBeCloseTo(800);
  expect(y0 + y1).toBeCloseTo(400);
  expect(y1).toBeGreaterThan(5);
  expect(y1).toBeLessThan(30);
});

describe("Look", () => {
  it("knows the drill's colours by their index, in both themes, and adds what effects need", () => {
    const [light, dark] = [new Look(TOY.spec.palette, "light"), new Look(TOY.spec.palette, "dark")];
    expect(light.names.slice(0, 4)).toEqual(TOY.spec.palette);
    expect(light.names).toContain("accent");
    expect(light.names).toEqual(dark.names);
    expect([...light.entries]).not.toEqual([...dark.entries]);
    const blue = light.entries.subarray(light.index("player0") * ENTRY_FLOATS);
    const orange = light.entries.subarray(light.index("player1") * ENTRY_FLOATS);
    expect(blue[2]!).toBeGreaterThan(blue[0]!);
    expect(orange[0]!).toBeGreaterThan(orange[2]!);
  });

  it("gives an unknown name a stable colour of its own", () => {
    const colour = (name: string) => [...new Look([name], "dark").entries.subarray(0, 4)];
    expect(colour("lava")).toEqual(colour("lava"));
    expect(colour("lava")).not.toEqual(colour("moss"));
    expect(colour("lava").every((channel) => channel >= 0 && channel <= 1)).toBe(true);
    expect(colour("banana")).toEqual([...Float32Array.from(rgba("#7be06cff"))]); // as tests/cli/test_record.py expects it
  });
});

describe("FixedPart", () => {
  const look = new Look(TOY.spec.palette, "dark");
  const wash = { name: "accent", strength: 0, x: 0, y: 0, radius: 1 };
  function pictureOf(xs: number[], fixed: number, painted = look): Picture {
    const shapes = new Float32Array(xs.length * SHAPE_FLOATS);
    xs.forEach((x, k) => putShape(shapes, k, KIND.circle, 0, x, 0, 1, 0, 0, 0, 0, 1, 0));
    return { world: [0, 0, 1, 1], shapes, count: xs.length, fixed, look: painted, tags: [], field: null, wash };
  }

  it("is painted once while only later shapes move", () => {
    const fixed = new FixedPart();
    expect(fixed.update(pictureOf([1, 2, 3], 2), 100, 50)).toBe(true);
    expect(fixed.count).toBe(2);
    expect(fixed.update(pictureOf([1, 2, 9], 2), 100, 50)).toBe(false);
  });

  it("is painted again for another size or theme", () => {
    const fixed = new FixedPart();
    fixed.update(pictureOf([1, 2], 2), 100, 50);
    expect(fixed.update(pictureOf([1, 2], 2), 200, 50)).toBe(true);
    expect(fixed.update(pictureOf([1, 2], 2, new Look(TOY.spec.palette, "light")), 200, 50)).toBe(true);
    expect(fixed.update(pictureOf([1, 2], 2), 200, 50)).toBe(true);
    expect(fixed.count).toBe(2);
  });

  it("is painted again once what was painted is lost", () => {
    const fixed = new FixedPart();
    fixed.update(pictureOf([1, 2], 2), 100, 50);
    fixed.forget();
    expect(fixed.update(pictureOf([1, 2], 2), 100, 50)).toBe(true);
    expect(fixed.update(pictureOf([1, 2], 2), 100, 50)).toBe(false);
  });

  it("ends for good before a shape that moves after all", () => {
    const fixed = new FixedPart();
    fixed.update(pictureOf([1, 2, 3], 3), 100, 50);
    expect(fixed.update(pictureOf([1, 5, 3], 3), 100, 50)).toBe(true);
    expect(fixed.count).toBe(1);
    expect(fixed.update(pictureOf([1, 6, 4], 3), 100, 50)).toBe(false);
  });
});

describe("Effects", () => {
  const look = new Look(TOY.spec.palette, "dark");
  const out = new Float32Array((TOY.spec.scene_max + EFFECT_SHAPES) * SHAPE_FLOATS);

  /** A show in which side 1 pushes the ball into side 0's goal, watched by effects or by nobody. */
  function pushing(effects: boolean, calm = false): { show: Show; effects: Effects; drawn: () => number } {
    const show = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
    const watching = new Effects(show);
    watching.setMotion(calm);
    if (effects) show.watchedBy(watching);
    show.setMode("human_vs_ai", "pusher");
    const drawn = () => {
      const split = firstActor(show.current, show.count, look);
      return compose(show.current, show.count, split, watching, look, out) - show.count;
    };
    return { show, effects: watching, drawn };
  }
  function untilGoal({ show, effects }: ReturnType<typeof pushing>): void {
    for (let k = 0; k < 3000 && show.score[1] === 0; k++) {
      show.advance(1 / 120);
      effects.advance(1 / 120, 1 / 120);
    }
    effects.advance(0.1, 0.1);
  }

  it("celebrate a goal with more shapes and a wash of the scorer's colour, and die away", () => {
    const match = pushing(true);
    untilGoal(match);
    expect(match.effects.wash).toMatchObject({ name: "player1" });
    expect(match.effects.wash.strength).toBeGreaterThan(0.2);
    expect(match.drawn()).toBeGreaterThan(60);
    for (let k = 0; k < 300; k++) match.effects.advance(1 / 60, 1 / 60);
    expect(match.effects.wash.strength).toBe(0);
  });

  it("never touch the rules' state", () => {
    const [watched, alone] = [pushing(true), pushing(false)];
    untilGoal(watched);
    untilGoal(alone);
    watched.drawn();
    expect(new Uint8Array(watched.show.state.buffer)).toEqual(new Uint8Array(alone.show.state.buffer));
    expect(watched.show.tick).toBe(alone.show.tick);
  });

  it("are quiet for who wants less motion", () => {
    const match = pushing(true, true);
    untilGoal(match);
    expect(match.drawn()).toBe(0);
    expect(match.effects.wash.strength).toBe(0);
  });

  it("are drawn below the actors and above them, never among the pitch", () => {
    const match = pushing(true);
    untilGoal(match);
    const split = firstActor(match.show.current, match.show.count, look);
    expect(split).toBe(1);
    const count = compose(match.show.current, match.show.count, split, match.effects, look, out);
    expect(out.slice(0, split * SHAPE_FLOATS)).toEqual(match.show.current.slice(0, split * SHAPE_FLOATS));
    expect(out[(count - 1) * SHAPE_FLOATS + 11]).not.toBe(0);
    expect(count).toBeLessThanOrEqual(out.length / SHAPE_FLOATS);
  });

  it("refuse a handle that names no field of the state", () => {
    const spec = { ...TOY.spec, drag: [{ name: "ball", x: "nowhere", y: "ball_py", vx: "ball_vx", vy: "ball_vy", kind: "ball" as const, index: 0 }] };
    expect(() => new Effects(new Show(loadRules(TOY.javascript), spec))).toThrow('no state field "nowhere"');
  });
});
