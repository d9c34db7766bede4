import { describe, expect, it } from "vitest";
import { KIND, SHAPE_FLOATS } from "../../../contract/protocol";
import { Policy } from "../../../match/network/policy";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { Inspector } from "../../../mind/inspector";
import { Look } from "../../../renderer/palette";
import { OVERLAY_SHAPES } from "../../../renderer/scene";
import { TOY } from "../../../tests/harness/toy_game";
import { beginParts } from "../../../worker/parts";
import { type Futures, THICK, THIN } from "../futures";
import type { Searcher } from "../searcher";
import { Whereabouts } from "../whereabouts";
import { search } from "../worker";

const look = new Look(TOY.spec.palette, "light");
const SETTINGS = { num_particles: 16, search_depth: 4, gamma: 0.99, weights: {} };

/** All moves are as likely. */
const level = (version = 1) => new Policy(version, [3, 7], "tanh", new Float32Array(4 * 7));

function begin(now = () => 0): { show: Show; searcher: Searcher; futures: Futures; inspector: Inspector } {
  const show = new Show(loadRules(TOY.javascript), TOY.spec, 1, now);
  const [part] = beginParts([search], { show, post: () => undefined });
  show.setPolicy(level());
  const { decider, layer } = part as { decider: Searcher; layer: Futures };
  return { show, searcher: decider, futures: layer, inspector: new Inspector(show, [layer]) };
}

/** One frame at the usual pace. */
function frame({ show, inspector }: Pick<ReturnType<typeof begin>, "show" | "inspector">, seconds = 1 / 60): boolean {
  show.advance(seconds);
  return inspector.advance(seconds, true);
}

function lines(inspector: Inspector): { paint: string; from: number; to: number; half: number; alpha: number }[] {
  const out = new Float32Array(OVERLAY_SHAPES * SHAPE_FLOATS);
  const shapes = Array.from({ length: inspector.shapes(out, 0, look) }, (_, k) => out.subarray(k * SHAPE_FLOATS, (k + 1) * SHAPE_FLOATS));
  return shapes
    .filter(([kind]) => kind === KIND.line)
    .map(([, colour, from, , to, , half, , , alpha]) => ({ paint: look.names[colour!]!, from: from!, to: to!, half: half!, alpha: alpha! }));
}

describe("futures over the pitch", () => {
  it("are there while search decides, and vanish when it does no more", () => {
    const match = begin();
    frame(match);
    expect(lines(match.inspector)).toEqual([]);
    match.searcher.set(SETTINGS);
    for (let k = 0; k < 12; k++) frame(match);
    expect(lines(match.inspector).some(({ paint }) => paint === "player0")).toBe(true);
    match.searcher.set(null);
    expect(frame(match)).toBe(true);
    for (let k = 0; k < 20; k++) frame(match);
    expect(lines(match.inspector)).toEqual([]);
  });

  it("begin at the player, weigh one in all, and are searched anew where the match stands", () => {
    const match = begin();
    match.show.pause();
    match.searcher.set(SETTINGS);
    const before = [...new Uint8Array(match.show.state.buffer)];
    expect(match.inspector.advance(1, true)).toBe(true);
    expect([...new Uint8Array(match.show.state.buffer)]).toEqual(before);
    const x = (match.show.state as unknown as { px: Float32Array }).px[0]!;
    const [x0, , x1] = TOY.spec.world;
    const first = lines(match.inspector).filter(({ paint, from }) => paint === "player0" && from === x);
    const lengths = first.map(({ to, half }) => ({ step: Math.round(10 * (to - x)), weight: ((half / (x1 - x0) - THIN) / THICK) ** 2 }));
    const { target } = match.searcher.search!;
    const steps = [0, 0, 1, 2, -1, -2]; // tenths of a unit that each move leads to; a way of none is no line
    const there = steps.flatMap((step, action) => (step && target[action] ? [{ step, weight: expect.closeTo(target[action]!, 4) }] : []));
    const weighed = lengths.slice(0, there.length); // of the first decision; others begin there, too, who stood still for one
    expect(weighed.toSorted((a, b) => a.step - b.step)).toEqual(there.sort((a, b) => a.step - b.step));
    expect(new Set(weighed.map(({ weight }) => weight.toFixed(3))).size).toBeGreaterThan(1);
    expect(weighed.reduce((sum, { weight }) => sum + weight, target[0]! + target[1]!)).toBeCloseTo(1, 4);
    expect(match.inspector.advance(1, true)).toBe(false);
    match.show.stepBy("decision", 1);
    expect(match.inspector.advance(1, true)).toBe(true);
  });

  it("reach a second ahead, however short the search is, and leave what it decides alone", () => {
    const [near, far] = [begin(), begin()];
    for (const match of [near, far]) match.searcher.set({ ...SETTINGS, search_depth: 2 });
    far.show.pause();
    expect(far.inspector.advance(1, true)).toBe(true);
    const { search } = far.searcher;
    const { state, tick, actionRepeat } = near.show;
    near.searcher.decide({ state, side: 0, tick, actionRepeat }); // without a picture
    expect([...search!.target]).toEqual([...near.searcher.search!.target]);
    const x = (far.show.state as unknown as { px: Float32Array }).px[0]!;
    const reach = Math.max(...lines(far.inspector).map(({ to }) => Math.abs(to - x)));
    const short = begin();
    short.show.pause();
    short.searcher.set({ ...SETTINGS, search_depth: 2 });
    Object.defineProperty(short.searcher, "sight", { get: () => 0, set: () => undefined });
    short.inspector.advance(1, true);
    const without = Math.max(...lines(short.inspector).map(({ to }) => Math.abs(to - x)));
    expect(without).toBeGreaterThan(0);
    expect(reach).toBeGreaterThan(3 * without);
  });

  it("keep to their room however many there are", () => {
    const match = begin();
    match.searcher.set({ ...SETTINGS, num_particles: 64, search_depth: 8 });
    for (let k = 0; k < 8; k++) frame(match, 0.11);
    const out = new Float32Array(OVERLAY_SHAPES * SHAPE_FLOATS);
    const { most } = match.futures;
    expect(match.inspector.shapes(out, 0, look), "it would be more").toBeGreaterThan(most - 3);
    expect(match.inspector.shapes(out, 0, look)).toBeLessThanOrEqual(most);
  });
});

describe("what the page is told", () => {
  it("is of the side that the policy plays, and of nobody where it plays none", () => {
    const match = begin();
    frame(match);
    expect(match.futures.report()).toBeUndefined();
    let now = 0;
    const { show, searcher, futures } = begin(() => ++now);
    searcher.set(SETTINGS);
    show.stepBy("decision", 1);
    const report = futures.report()!;
    expect(report).toMatchObject({ side: 0 });
    expect(report.moves).toHaveLength(6);
    expect(report.moves.reduce((sum, { target }) => sum + target, 0)).toBeCloseTo(1, 5);
    expect(report.sizes).toHaveLength(4);
    expect(report.ms).toBeGreaterThan(0);

    show.setMode("human_vs_ai");
    show.stepBy("decision", 1);
    expect(futures.report()).toMatchObject({ side: 1 });
    show.setMode("sandbox");
    show.takeOver(true);
    expect(futures.report()).toBeNull();
    expect(futures.report()).toBeUndefined();
  });
});

describe("the player", () => {
  const game = loadRules(TOY.javascript);
  const state = game.create();
  state.rng_key[0] = 7;
  game.reset(state);

  it("is at the shape in its colour where nothing of it can be dragged", () => {
    const player = new Whereabouts(game, TOY.spec);
    for (const side of [0, 1]) {
      expect(player.find(state, side)).toBe(true);
      player.read(state);
      expect(player.x).toBe((state as unknown as { px: Float32Array }).px[side]);
    }
    expect(new Whereabouts(game, { ...TOY.spec, palette: ["turf", "wall", "post", "ball"] }).find(state, 0)).toBe(false);
  });

  it("is at its handle where there is one", () => {
    const handle = { name: "blue", x: "px", y: "target", vx: "px", vy: "px", index: 0, kind: "player" as const };
    const player = new Whereabouts(game, { ...TOY.spec, drag: [handle], palette: [] });
    expect(player.find(state, 0)).toBe(true);
    expect(player.find(state, 1)).toBe(false);
  });
});
