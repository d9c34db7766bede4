import { describe, expect, it } from "vitest";
import { Policy } from "../../match/network/policy";
import { replay } from "../../match/replay";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { TOY } from "../harness/toy_game";

const still = () => 0; // a clock that stands still: no frame is ever late

function newShow({ seed = 1, spec = TOY.spec, now = still } = {}): Show {
  return new Show(loadRules(TOY.javascript), spec, seed, now);
}

/** Nobody moves, so that no episode ends before its time. */
function idleShow(now = still): Show {
  const show = newShow({ spec: { ...TOY.spec, time_limit: 1e9 }, now });
  show.setMode("human_vs_ai", "idle");
  return show;
}

/** A policy with random weights of its own, from a seed. */
function newPolicy(version: number, seed = version): Policy {
  const weights = Float32Array.from({ length: 4 * 8 + 9 * 7 }, (_, k) => Math.sin(12.9898 * (k + 1) + 78.233 * (seed + 1)) * 1.5);
  return new Policy(version, [3, 8, 7], "tanh", weights);
}

const bytes = (show: Show) => [...new Uint8Array(show.state.buffer)];
const frames = (show: Show, count: number, rate = 60) => {
  for (let k = 0; k < count; k++) show.advance(1 / rate);
};

describe("time", () => {
  it.each([0.25, 0.5, 1, 2, 4, 8, 16, 32])("runs 120 ticks a second at speed %d", (speed) => {
    const show = idleShow();
    show.setSpeed(speed);
    frames(show, 120);
    expect(Math.abs(show.tick - 240 * speed)).toBeLessThanOrEqual(1);
  });

  it("does not depend on the frame rate", () => {
    const [slow, fast] = [newShow(), newShow()];
    frames(slow, 40, 20);
    frames(fast, 288, 144);
    slow.stepBy("tick", 250 - slow.tick);
    fast.stepBy("tick", 250 - fast.tick);
    expect(bytes(slow)).toEqual(bytes(fast));
  });

  it("does not catch up with more than a quarter of a second", () => {
    const show = idleShow();
    show.advance(10);
    expect(show.tick).toBe(30);
    show.advance(-5);
    expect(show.tick).toBe(30);
  });

  it("lets time go when a machine is too slow, instead of owing it", () => {
    let clock = 0;
    const show = idleShow(() => (clock += 5)); // 5 ms pass at every look
    show.setSpeed(32);
    show.advance(0.25); // 960 ticks due
    const first = show.tick;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(960);
    show.advance(1 / 60);
    expect(show.tick - first).toBeLessThanOrEqual(64);
  });

  it("says how far the picture is between two ticks", () => {
    const show = idleShow();
    show.setSpeed(0.25);
    show.advance(1 / 60); // half a tick
    expect(show.alpha).toBeCloseTo(0.5);
    show.pause();
    expect(show.alpha).toBe(1);
  });

  it("refuses a speed that is not offered, and keeps the old one", () => {
    const show = newShow();
    for (const speed of [-1, 0, 64, NaN]) expect(() => show.setSpeed(speed)).toThrow("choose one of 0.25, 0.5");
    expect(show.speed).toBe(1);
  });
});

describe("play, pause and step", () => {
  it("stands still while paused", () => {
    const show = newShow();
    frames(show, 10);
    show.pause();
    const before = bytes(show);
    frames(show, 60);
    expect(bytes(show)).toEqual(before);
    show.play();
    frames(show, 1);
    expect(show.tick).toBe(22);
  });

  it("steps exactly one tick, one decision, or as many as asked", () => {
    const show = newShow();
    show.stepBy("tick", 1);
    expect(show.tick).toBe(1);
    expect(show.playing).toBe(false);
    show.stepBy("decision", 1);
    expect(show.tick).toBe(5);
    show.actionRepeat = 2;
    show.stepBy("decision", 3);
    expect(show.tick).toBe(11);
  });

  it("takes the same way in steps as in frames", () => {
    const [stepped, played] = [newShow(), newShow()];
    stepped.stepBy("tick", 120);
    frames(played, 60);
    played.stepBy("tick", 120 - played.tick);
    expect(bytes(stepped)).toEqual(bytes(played));
  });

  it("keeps the scenes of the last two ticks", () => {
    const show = newShow();
    show.setMode("sandbox", "pusher");
    show.stepBy("tick", 2);
    const second = show.current.slice();
    show.stepBy("tick", 1);
    expect(show.previous).toEqual(second);
    expect(show.current).not.toEqual(second);
  });
});

describe("one side", () => {
  const alone = (terms = TOY.spec.terms) => newShow({ spec: { ...TOY.spec, sides: 1, baselines: [], terms, time_limit: 40 } });

  it("scores the return and the decisions of the present episode, and begins anew with the next", () => {
    // the toy's first term is 0 until a goal, so what counts here is written by hand
    const show = alone([{ name: "goal", weight: 3, kind: "reward", help: "" }]);
    show.game.terms = (_, side, out) => {
      out[0] = side === 0 ? 0.5 : NaN;
    };
    show.stepBy("decision", 4);
    expect(show.score).toEqual([6, 4]);
    const saved = show.snapshot();
    show.stepBy("decision", 6); // 40 ticks: the time limit
    expect(show.score).toEqual([15, 10]);
    expect(show.takeEvents().map((event) => event.kind)).toContain("draw");
    show.stepBy("tick", 43); // the run-out and the first tick of the next
    expect(show.state.ticks[0]).toBe(1);
    expect(show.score).toEqual([0, 0]);
    show.restore(saved);
    show.stepBy("decision", 1);
    expect(show.score).toEqual([7.5, 5]);
  });

  it("leaves potentials out", () => {
    const show = alone([{ name: "goal", weight: 3, kind: "potential", help: "" }]);
    show.game.terms = (_, __, out) => {
      out[0] = 1;
    };
    show.stepBy("decision", 4);
    expect(show.score).toEqual([0, 4]);
  });
});

describe("episodes", () => {
  /** Side 1 pushes the ball into side 0's goal. */
  function lost(): Show {
    const show = idleShow();
    show.setMode("human_vs_ai", "pusher");
    return show;
  }
  const untilGoal = (show: Show) => {
    for (let k = 0; k < 2000 && show.score[1] === 0; k++) show.advance(1 / 120);
  };

  it("scores for the winner at a decision boundary, lets the world run out, and begins a proper match in place", () => {
    const show = lost();
    untilGoal(show);
    expect(show.score).toEqual([0, 1]);
    expect(show.tick % show.actionRepeat).toBe(0);
    const goal = show.takeEvents().find((event) => event.kind === "goal")!;
    expect(goal).toMatchObject({ side: 1, tick: show.tick });
    const held = show.tick;
    const ended = show.state.ticks[0]!;
    frames(show, 41); // 82 of 84 ticks of the run-out
    expect(show.tick).toBe(held + 82);
    expect(show.state.ticks[0]).toBe(ended + 82);
    expect(show.score).toEqual([0, 1]);
    frames(show, 2);
    expect(show.tick).toBe(held + 86);
    expect(show.state.ticks[0]).toBe(2);
    expect(show.state.practice[0]).toBe(0);
  });

  it("plays the same match at every speed and step by step", () => {
    const [stepped, fast] = [lost(), lost()];
    fast.setSpeed(16);
    for (let k = 0; k < 200; k++) stepped.stepBy("tick", 2);
    while (fast.tick < 400) fast.advance(1 / 120 / 16);
    expect(fast.tick).toBe(400);
    expect(bytes(fast)).toEqual(bytes(stepped));
    expect(fast.score).toEqual(stepped.score);
    expect(fast.score[1]).toBeGreaterThan(0);
  });

  it("ends in a draw at the time limit", () => {
    const show = newShow({ spec: { ...TOY.spec, time_limit: 40 } });
    show.setMode("human_vs_ai", "idle");
    show.stepBy("tick", 40);
    expect(show.score).toEqual([0, 0]);
    expect(show.takeEvents().map((event) => event.kind)).toEqual(["reset", "draw"]);
  });

  it("begins a new game after the last, however slow its ticks are", () => {
    const show = newShow({ spec: { ...TOY.spec, tick_rate: 1, time_limit: 40 } });
    show.setMode("human_vs_ai", "idle");
    show.stepBy("tick", 42);
    expect(show.state.ticks[0]).toBe(1);
    const copy = replay(show.game, show.spec, show.recording());
    expect(new Uint8Array(copy.buffer)).toEqual(new Uint8Array(show.state.buffer));
  });

  it("begins again from its seed at a reset, and only there does the tick fall", () => {
    const show = newShow({ seed: 5 });
    const start = bytes(show);
    show.stepBy("tick", 300);
    show.reset();
    expect(show.tick).toBe(0);
    expect(show.score).toEqual([0, 0]);
    expect(bytes(show)).toEqual(start);
    show.reset(6);
    expect(bytes(show)).not.toEqual(start);
  });

  it("is never interpolated across the beginning of an episode", () => {
    const show = lost();
    untilGoal(show);
    const ball = 3 * 12 + 2;
    const ways: number[] = [];
    const places: number[] = [];
    for (let tick = 0; tick < 100; tick++) {
      show.stepBy("tick", 1);
      ways.push(Math.abs(show.previous[ball]! - show.current[ball]!));
      places.push(show.current[ball]!);
    }
    expect(show.state.ticks[0]).toBeLessThan(100); // of the next one
    expect(Math.max(...places.slice(1).map((x, k) => Math.abs(x - places[k]!))), "the ball is put back").toBeGreaterThan(3);
    expect(Math.max(...ways)).toBeLessThan(0.1);
  });
});

describe("the policy swap", () => {
  it("never touches the state, and waits for the next decision", () => {
    const show = newShow();
    show.setPolicy(newPolicy(0));
    show.stepBy("tick", 6); // in the middle of a decision
    const before = bytes(show);
    show.setPolicy(newPolicy(1));
    expect(bytes(show)).toEqual(before);
    show.stepBy("tick", 2);
    expect(show.version).toBe(0);
    show.stepBy("tick", 1);
    expect(show.version).toBe(1);
  });

  it("leaves the match up to that decision as it would have been", () => {
    const [swapped, plain] = [newShow(), newShow()];
    for (const show of [swapped, plain]) {
      show.setPolicy(newPolicy(1));
      show.stepBy("tick", 5);
    }
    swapped.setPolicy(newPolicy(2));
    for (const show of [swapped, plain]) show.stepBy("tick", 3);
    expect(bytes(swapped)).toEqual(bytes(plain));
    expect(swapped.tick).toBe(plain.tick);
  });

  it("keeps at least the asked interval, and takes the newest then", () => {
    let clock = 0;
    const show = newShow({ now: () => clock });
    show.deciders.next.set({ swap_interval_ms: 1000 });
    show.setPolicy(newPolicy(1));
    show.setPolicy(newPolicy(2));
    show.stepBy("decision", 2);
    expect(show.version).toBe(1);
    show.setPolicy(newPolicy(3));
    clock = 1500;
    show.stepBy("decision", 1);
    expect(show.version).toBe(3);
    const versions = show.takeEvents().filter((event) => event.kind === "swap");
    expect(versions.map((event) => event.version)).toEqual([1, 3]);
  });

  it.each(["now", "at_reset"] as const)("waits for nothing with a policy that replaces the one that plays (%s)", (when) => {
    const show = newShow({ now: () => 0 });
    show.deciders.next.set({ swap_interval_ms: 600_000, swap: when });
    show.setPolicy(newPolicy(40));
    show.setPolicy(newPolicy(7), true);
    show.setPolicy(newPolicy(8)); // the newest of that run
    show.stepBy("decision", 1);
    expect(show.version).toBe(8);
    show.setPolicy(newPolicy(9));
    show.stepBy("decision", 1);
    expect(show.version).toBe(8);
  });

  it("refuses a policy of another shape and plays on with the last good one", () => {
    const show = newShow();
    show.setPolicy(newPolicy(4));
    const other = new Policy(5, [2, 7], "tanh", new Float32Array(21));
    expect(() => show.setPolicy(other)).toThrow("version 5 was refused: the drill needs 3 inputs and 7 outputs");
    show.stepBy("decision", 2);
    expect(show.version).toBe(4);
  });

  it("fades from the old policy to the new over the blend time", () => {
    // the old one always takes action 0, the new one always action 1
    const always = (version: number, action: number) =>
      new Policy(
        version,
        [3, 7],
        "tanh",
        Float32Array.from({ length: 28 }, (_, k) => (k === 21 + action ? 50 : 0)),
      );
    const show = newShow({ spec: { ...TOY.spec, time_limit: 1e9 } });
    show.deciders.next.set({ blend_ms: 1000 });
    show.setPolicy(always(1, 0));
    show.stepBy("decision", 1);
    show.setPolicy(always(2, 1));
    const taken: number[] = [];
    for (let k = 0; k < 60; k++) {
      show.stepBy("decision", 1);
      taken.push(show.state.action[0]!, show.state.action[1]!);
    }
    const share = (from: number, to: number) => taken.slice(from, to).filter((action) => action === 1).length / (to - from);
    expect(share(0, 20)).toBeLessThan(0.5);
    expect(share(40, 60)).toBeGreaterThan(0.5);
    expect(share(60, 120)).toBe(1);
  });
});

describe("who plays", () => {
  const actionsOf = (show: Show) => {
    show.stepBy("decision", 1);
    return [...show.state.action];
  };

  it("lets a person play side 0", () => {
    const show = newShow();
    show.setMode("human_vs_ai", "pusher");
    show.input({ code: "KeyS", down: true, t: 0 });
    expect(actionsOf(show)).toEqual([4, 2]);
    show.input({ code: "Space", down: true, t: 0 });
    expect(actionsOf(show)).toEqual([5, 2]);
  });

  it("applies keys at decision boundaries only", () => {
    const show = newShow();
    show.setMode("human_vs_ai", "idle");
    show.stepBy("tick", 1);
    show.input({ code: "KeyW", down: true, t: 0 });
    show.stepBy("tick", 3);
    expect(show.state.action[0]).toBe(0);
    show.stepBy("tick", 1);
    expect(show.state.action[0]).toBe(2);
  });

  it("plays baselines before any policy, an untrained one only against itself, a trained one everywhere", () => {
    const show = newShow();
    show.setMode("ai_vs_ai", "pusher");
    expect(actionsOf(show)[1]).toBe(2);
    const idle = new Policy(
      0,
      [3, 7],
      "tanh",
      Float32Array.from({ length: 28 }, (_, k) => (k === 21 ? 50 : 0)),
    );
    show.setPolicy(idle);
    expect(actionsOf(show)).toEqual([0, 0]);
    show.setMode("human_vs_ai", "");
    expect(actionsOf(show)).toEqual([0, 2]);
    const dashing = new Policy(
      1,
      [3, 7],
      "tanh",
      Float32Array.from({ length: 28 }, (_, k) => (k === 22 ? 50 : 0)),
    );
    show.setPolicy(dashing);
    expect(actionsOf(show)).toEqual([0, 1]);
    show.setMode("sandbox", "pusher");
    expect(actionsOf(show)).toEqual([1, 2]);
  });

  it("refuses unknown modes and opponents with the choices", () => {
    const show = newShow();
    expect(() => show.setMode("sandbox", "gold")).toThrow("choose one of idle, random, pusher.");
    expect(() => show.setMode("solo" as never)).toThrow("choose one of ai_vs_ai, human_vs_ai, sandbox");
    expect(() => show.setMode("sandbox", "messi")).toThrow("choose one of idle, random, pusher");
    expect(show.deciders.mode).toBe("ai_vs_ai");
  });

  it("lets a person meet the policy, or whom they name", () => {
    const show = newShow();
    const [mine, gold] = [newPolicy(3), newPolicy(900)];
    show.setPolicy(mine);
    show.deciders.setRival("gold", gold);
    const meets = () => [show.deciders.policyOf(1), show.deciders.scripted(1)];
    show.setMode("human_vs_ai");
    expect(meets()).toEqual([mine, false]);
    show.setMode("human_vs_ai", "gold");
    expect(meets()).toEqual([gold, false]);
    show.setMode("human_vs_ai", "pusher");
    expect([meets()[1], show.deciders.opponent]).toEqual([true, "pusher"]);
    show.setMode("ai_vs_ai");
    expect(meets()).toEqual([mine, false]);
    show.setMode("human_vs_ai", "");
    expect(meets()).toEqual([mine, false]);
  });

  it("lets another network be the opponent of the sandbox, and of a person while nothing is learned", () => {
    const show = newShow();
    const [mine, gold] = [newPolicy(3), newPolicy(900)];
    show.setPolicy(mine);
    show.deciders.setRival("gold", gold);
    show.setMode("sandbox", "gold");
    expect([show.deciders.policyOf(0), show.deciders.policyOf(1)]).toEqual([mine, gold]);
    expect([show.deciders.scripted(0), show.deciders.scripted(1)]).toEqual([false, false]);
    const against = newShow();
    against.setPolicy(newPolicy(3));
    against.setMode("sandbox", "idle");
    frames(show, 60);
    frames(against, 60);
    expect(bytes(show)).not.toEqual(bytes(against));
    show.setMode("human_vs_ai", "");
    expect(show.deciders.policyOf(1)).toBe(mine);
    const fresh = newShow();
    fresh.setPolicy(newPolicy(0));
    fresh.deciders.setRival("gold", gold);
    fresh.setMode("human_vs_ai", "gold");
    expect(fresh.deciders.policyOf(1)).toBe(gold);
    show.setMode("sandbox", "pusher");
    expect([show.deciders.scripted(0), show.deciders.scripted(1)]).toEqual([false, true]);
    expect(() => show.deciders.setRival("tin", new Policy(1, [2, 2], "tanh", new Float32Array(6)))).toThrow("Choose another opponent.");
  });

  it("gives the policy's opinion without touching anything", () => {
    const show = newShow();
    expect(show.deciders.opinion(show.state)).toEqual({ probabilities: [], value: 0 });
    show.setPolicy(newPolicy(1));
    const before = bytes(show);
    const { probabilities } = show.deciders.opinion(show.state);
    expect(probabilities.map((row) => row.length)).toEqual([3, 2]);
    for (const row of probabilities) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    expect(bytes(show)).toEqual(before);
  });
});

describe("snapshots", () => {
  it.each([0, 1, 2, 3, 237])("continue identically from tick %d", (tick) => {
    const original = newShow({ seed: 9 });
    original.setPolicy(newPolicy(3));
    original.stepBy("tick", tick);
    const { state, ...rest } = original.snapshot();
    const other = newShow({ seed: 77 });
    other.setPolicy(newPolicy(3));
    other.restore({ ...JSON.parse(JSON.stringify(rest)), state: new DataView(state) });
    expect(other.tick).toBe(tick);
    for (const show of [original, other]) show.stepBy("tick", 700);
    expect(bytes(other)).toEqual(bytes(original));
    expect(other.snapshot()).toEqual(original.snapshot());
  });

  it("hold their own copy of the state", () => {
    const show = newShow();
    const snapshot = show.snapshot();
    const before = [...new Uint8Array(snapshot.state)];
    show.stepBy("tick", 50);
    expect([...new Uint8Array(snapshot.state)]).toEqual(before);
  });

  it("keep the version on show until a policy comes", () => {
    const original = newShow();
    original.setPolicy(newPolicy(12));
    const other = newShow();
    other.restore(original.snapshot());
    expect(other.version).toBe(12);
  });

  it("of other rules are refused and change nothing", () => {
    const show = newShow();
    const before = bytes(show);
    expect(() => show.restore({ ...show.snapshot(), rules_hash: "other" })).toThrow("other rules");
    expect(() => show.restore({ ...show.snapshot(), state: new ArrayBuffer(8) })).toThrow("other rules");
    expect(bytes(show)).toEqual(before);
  });
});

describe("loadRules", () => {
  it("refuses what does not run or lacks a verb", () => {
    expect(() => loadRules("return {")).toThrow("do not run in this browser");
    expect(() => loadRules("return {create() {}}")).toThrow("lack reset, decide, tick");
  });
});
