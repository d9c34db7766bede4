import { describe, expect, it } from "vitest";
import { type Activation, type Handle, KIND, SHAPE_FLOATS } from "../../contract/protocol";
import { Body } from "../../match/handles";
import { Policy } from "../../match/network/policy";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { PolicyAnalysis, position, sideOf } from "../../mind/analysis";
import { Inspector } from "../../mind/inspector";
import { COLUMNS, centre, groundOf, ROWS, ValueMap } from "../../mind/value_map";
import { FieldImage } from "../../renderer/field";
import { Look } from "../../renderer/palette";
import { OVERLAY_SHAPES } from "../../renderer/scene";
import { TOY } from "../harness/toy_game";

const game = loadRules(TOY.javascript);
const spec = { ...TOY.spec, terms: [...TOY.spec.terms, { name: "lead", weight: 2, kind: "potential" as const, help: "" }] };
const shaped = {
  ...game,
  terms: (s: ReturnType<typeof game.create>, side: number, out: Float32Array) => {
    game.terms(s, side, out);
    out[1] = (side === 0 ? 1 : -1) * (s as unknown as { ball_px: Float32Array }).ball_px[0]!;
  },
};
const ball = spec.drag[0]!;

function newPolicy(seed = 1, activation: Activation = "tanh"): Policy {
  const weights = Float32Array.from({ length: 4 * 8 + 9 * 6 + 7 * 7 }, (_, k) => Math.sin(12.9898 * (k + 1) + 78.233 * (seed + 1)) * 1.2);
  return new Policy(seed, [3, 8, 6, 7], activation, weights);
}

function newState() {
  const s = shaped.create();
  s.rng_key[0] = 7;
  shaped.reset(s);
  new Body(s, ball).put(1.25, 0.5);
  s.action[0] = 3;
  return s;
}

const bytesOf = (s: { buffer: ArrayBuffer }) => [...new Uint8Array(s.buffer)];

describe("saliency", () => {
  it.each(["tanh", "relu"] as const)("is the gradient that finite differences find (%s)", (activation) => {
    const policy = newPolicy(3, activation);
    const at = Float32Array.from([0.3, -0.7, 0.45]);
    const logOf = (x: Float32Array, action: number) => {
      policy.forward(x);
      return Math.log(policy.probabilities[action]!);
    };
    const out = new Float32Array(3);
    for (let action = 0; action < spec.n_actions; action++) {
      policy.forward(at);
      policy.gradient(action, out);
      for (let k = 0; k < 3; k++) {
        const [up, down] = [at.slice(), at.slice()];
        up[k]! += 1e-2;
        down[k]! -= 1e-2;
        expect(out[k]).toBeCloseTo((logOf(up, action) - logOf(down, action)) / 2e-2, 2);
      }
    }
  });
});

describe("thoughts", () => {
  it("are what the network says of the state", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    const before = bytesOf(state);
    const thought = mind.think(policy, state, 0);
    expect(bytesOf(state)).toEqual(before);

    const seen = new Float32Array(3);
    shaped.observe(state, 0, seen);
    expect(thought.observations).toEqual([...seen]);
    policy.forward(seen);
    expect(thought.value).toBeCloseTo(policy.value + 2 * 1.25, 5); // the potential that shaping took out is back
    expect(thought.action).toEqual([1, 1]);
    for (const row of thought.probabilities) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    expect(thought.probabilities[1]![1]).toBeCloseTo(policy.probabilities[1]! + policy.probabilities[3]! + policy.probabilities[5]!, 5);
    const slope = new Float32Array(3);
    policy.gradient(3, slope);
    expect(thought.saliency).toEqual(Array.from(slope, Math.abs));
  });

  it("weigh potentials as the training does", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    const drilled = mind.value(policy, state, 0);
    mind.weigh({ lead: 0 });
    expect(drilled - mind.value(policy, state, 0)).toBeCloseTo(2.5, 5);
  });

  it("know whose a handle is", () => {
    const handle: Handle = { ...ball, name: "player 1", index: 1, kind: "player" };
    expect([sideOf(ball, 2), sideOf(handle, 2), sideOf(handle, 1), sideOf({ ...ball, kind: "player" }, 1)]).toEqual([-1, 1, -1, 0]);
    expect(() => position(newState(), { ...ball, x: "nowhere" })).toThrow('no state field "nowhere"');
  });
});

describe("other moves", () => {
  const others = () => 0;

  it("are tried on copies: the state stays as it is", () => {
    const [mind, state] = [new PolicyAnalysis(shaped, spec), newState()];
    const before = bytesOf(state);
    const outcomes = mind.imagine(newPolicy(), state, 0, 4, true, others);
    expect(bytesOf(state)).toEqual(before);
    expect(outcomes).toHaveLength(4);
    const shares = outcomes.map(({ probability }) => probability);
    expect(outcomes.map(({ made }) => made)).toEqual([true, false, false, false]); // what it does stands first, then the likeliest
    expect(shares.slice(1)).toEqual(shares.slice(1).sort((a, b) => b - a));
  });

  it("end where the same decisions lead by hand", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    const outcome = mind.imagine(policy, state, 0, 4, true, others)[0]!;
    const copy = shaped.create(state.buffer.slice(0));
    let decisions = 0;
    for (; decisions < 30 && !shaped.terminated(copy); decisions++) {
      copy.action.set([2 * outcome.action[0]! + outcome.action[1]!, 0]);
      shaped.decide(copy);
      for (let tick = 0; tick < 4; tick++) shaped.tick(copy);
    }
    expect(outcome.paths[0]).toHaveLength(2 * (decisions + 1));
    expect(outcome.paths[0]!.slice(-2)).toEqual(position(copy, ball));
    expect(outcome.ended).toBe(Boolean(shaped.terminated(copy)));
    if (!outcome.ended) {
      const gained = mind.value(policy, copy, 0) - mind.value(policy, state, 0);
      expect(outcome.change).toBeCloseTo(gained, 4);
    }
  });

  it("tell of a goal", () => {
    const [mind, state] = [new PolicyAnalysis(shaped, spec), newState()];
    new Body(state, ball).put(3.99, 0);
    (state as unknown as { ball_vx: Float32Array }).ball_vx[0] = 5;
    const policy = newPolicy();
    const before = mind.value(policy, state, 0);
    const outcomes = mind.imagine(policy, state, 0, 4, false, others);
    expect(outcomes).toHaveLength(4);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ ended: true, winner: 1 });
      expect(outcome.change).toBeCloseTo(1 - before, 5); // the goal's reward, and nothing is ahead of it
    }
  });

  it("end with the clock, which takes away nothing of what is ahead", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    state.ticks[0] = spec.time_limit - 8;
    const outcome = mind.imagine(policy, state, 0, 4, true, others)[0]!;
    expect(outcome).toMatchObject({ ended: true, winner: 0 });
    expect(outcome.paths[0]).toHaveLength(2 * 3);
    const copy = shaped.create(state.buffer.slice(0));
    for (let tick = 0; tick < 8; tick++) {
      copy.action.set([2 * outcome.action[0]! + outcome.action[1]!, 0]);
      if (tick % 4 === 0) shaped.decide(copy);
      shaped.tick(copy);
    }
    expect(outcome.change).toBeCloseTo(mind.value(policy, copy, 0) - mind.value(policy, state, 0), 4);
    state.ticks[0] = spec.time_limit;
    expect(mind.imagine(policy, state, 0, 4, true, others)).toEqual([]);
  });

  it("are none once the game is over", () => {
    const state = newState();
    (state as unknown as { goal: Int32Array }).goal[0] = 1;
    expect(new PolicyAnalysis(shaped, spec).imagine(newPolicy(), state, 0, 4, false, others)).toEqual([]);
  });
});

describe("the value map", () => {
  it("holds what the mind says of each place, a few rows at a time, and leaves the state alone", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    const map = new ValueMap(mind);
    const before = bytesOf(state);
    map.begin(policy, state, spec.world);
    let frames = 1;
    while (!map.fill(3)) frames++;
    expect(frames).toBe(Math.ceil(ROWS / 3));
    expect(bytesOf(state)).toEqual(before);
    const copy = shaped.create(state.buffer.slice(0));
    for (const [column, row] of [
      [0, 0],
      [5, 9],
      [COLUMNS - 1, ROWS - 1],
    ] as const) {
      new Body(copy, ball).put(...centre(spec.world, column, row));
      expect(map.values[row * COLUMNS + column]).toBeCloseTo(mind.value(policy, copy, 0), 5);
    }
    const share = (holds: (size: number) => boolean) => map.values.map(Math.abs).filter(holds).length / map.values.length;
    expect(share((size) => size < map.range)).toBeLessThanOrEqual(0.95);
    expect(share((size) => size <= map.range)).toBeGreaterThanOrEqual(0.95);
  });

  it("is computed again only for another policy, other weights or another position", () => {
    const [mind, policy, state] = [new PolicyAnalysis(shaped, spec), newPolicy(), newState()];
    const map = new ValueMap(mind);
    const begins = (now = policy) => {
      map.begin(now, state, spec.world);
      const busy = map.busy;
      map.fill(ROWS);
      return busy;
    };
    expect([begins(), begins(), begins(newPolicy(2)), begins(policy)]).toEqual([true, false, true, true]);
    state.ticks[0]! += 1;
    expect([begins(), begins()]).toEqual([true, false]);
    mind.weigh({ lead: 1 });
    expect([begins(), begins()]).toEqual([true, false]);
  });

  it("covers the turf, or the world where there is none", () => {
    const scene = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    expect(groundOf(game, spec, newState(), scene)).toEqual([-4, -2, 4, 2]);
    expect(groundOf(game, { ...spec, palette: ["mark", "player0", "player1", "ball"] }, newState(), scene)).toEqual(spec.world);
  });

  it("is blue where it is good, orange where it is bad, clear where it is even", () => {
    const image = new FieldImage(COLUMNS, ROWS, spec.world);
    const values = Float32Array.from({ length: COLUMNS * ROWS }, (_, k) => ((k % COLUMNS) / (COLUMNS - 1)) * 2 - 1);
    for (const theme of ["light", "dark"] as const) {
      image.paint(values, 1, theme);
      const pixel = (x: number) => [...image.pixels.slice(4 * (image.width * 20 + x), 4 * (image.width * 20 + x) + 4)];
      const [bad, even, good] = [pixel(1), pixel(image.width / 2), pixel(image.width - 2)];
      expect(bad[0]! - bad[2]!).toBeGreaterThan(100);
      expect(good[2]! - good[0]!).toBeGreaterThan(100);
      expect(even[3]).toBeLessThan(20);
      expect(Math.min(bad[3]!, good[3]!)).toBeGreaterThan(150);
    }
  });
});

describe("the inspector", () => {
  function watched() {
    const show = new Show(game, { ...TOY.spec, time_limit: 1e9 }, 3, () => 0);
    show.setPolicy(
      new Policy(
        1,
        [3, 7],
        "tanh",
        Float32Array.from({ length: 28 }, (_, k) => Math.sin(k)),
      ),
    );
    return { show, inspector: new Inspector(show) };
  }

  it("asks for frames until the map is there, and then rests", () => {
    const { show, inspector } = watched();
    show.pause();
    inspector.configure({ map: true });
    expect(inspector.field("light")).toBeNull();
    let frames = 0;
    while (inspector.advance(1 / 60, true)) {
      inspector.field("light");
      if (++frames > 1000) throw new Error("it never rests");
    }
    expect(frames).toBeGreaterThan(ROWS / 4);
    expect(inspector.field("light")).not.toBeNull();
    expect(inspector.report(false, false)!.range).toBeGreaterThan(0);
    inspector.configure({ map: false });
    expect(inspector.field("light")).toBeNull();
  });

  it("tells thoughts on the page's beat while it is watched, and at once when asked", () => {
    const { inspector } = watched();
    inspector.configure({ watch: true });
    const reports = Array.from({ length: 60 }, (_, frame) => inspector.report(frame > 0 && frame % 15 === 0, true)).filter(Boolean);
    expect(reports).toHaveLength(4);
    expect(reports[0]!.thought!.probabilities.map((row) => row.length)).toEqual([3, 2]);
    inspector.configure({ watch: false });
    expect(inspector.report(false, true)!.thought).toBeNull();
    expect(inspector.report(true, true)).toBeNull();
  });

  it("refuses a player whom the drill does not have", () => {
    const { inspector } = watched();
    for (const player of [-1, 2, 0.5]) expect(() => inspector.configure({ player })).toThrow("choose one from 0 to 1");
    expect(inspector.settings.player).toBe(0);
  });

  it("shows the way of an outcome until the match moves on", () => {
    const { show, inspector } = watched();
    show.pause();
    (show.state as unknown as { ball_vx: Float32Array }).ball_vx[0] = 2;
    const before = bytesOf(show.state);
    const outcomes = inspector.imagine(false);
    expect(outcomes).toHaveLength(4);
    expect(bytesOf(show.state)).toEqual(before);
    const look = new Look(show.spec.palette, "light");
    const out = new Float32Array(OVERLAY_SHAPES * SHAPE_FLOATS);
    expect(outcomes.map(({ made }) => made)).toEqual([true, false, false, false]); // the move that is made stands first
    expect(inspector.shapes(out, 0, look), "its way is shown without pointing").toBeGreaterThan(10);
    inspector.showOutcome(1);
    const count = inspector.shapes(out, 0, look);
    expect(count).toBeGreaterThan(10);
    expect(count).toBeLessThanOrEqual(OVERLAY_SHAPES);
    const path = outcomes[1]!.paths[0]!;
    expect(out[(count - 1) * SHAPE_FLOATS]).toBe(KIND.ring);
    expect(out[(count - 1) * SHAPE_FLOATS + 2]).toBeCloseTo(path.at(-2)!, 5);
    expect(inspector.report(false, true)!.standing).toBe(true);
    show.stepBy("tick", 1);
    inspector.advance(1 / 60, true);
    expect(inspector.shapes(out, 0, look)).toBe(0);
    expect(inspector.report(false, true), "nobody watches, but the answer is of before").toMatchObject({ standing: false });
    expect(inspector.report(false, true)).toBeNull();
  });
});
