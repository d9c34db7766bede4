import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Recording } from "../../contract/protocol";
import { Policy } from "../../match/network/policy";
import { Random } from "../../match/random";
import { MatchLog, stateHash } from "../../match/recording";
import { played, replay } from "../../match/replay";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { playByScript } from "../harness/scripted_person";
import { TOY } from "../harness/toy_game";

const replayed = (recording: Recording) => stateHash(replay(loadRules(TOY.javascript), TOY.spec, recording).buffer);

function newShow(seed = 1): Show {
  return new Show(loadRules(TOY.javascript), TOY.spec, seed, () => 0);
}

it("hashes a state as everybody does", () => {
  const state = Uint8Array.from({ length: 300 }, (_, k) => k);
  expect(stateHash(state.buffer)).toBe(createHash("sha256").update(state).digest("hex"));
});

describe("a recorded match", () => {
  it.each([...Array(10).keys()])("replays to the same state (%d)", (seed) => {
    const show = newShow(seed);
    playByScript(show, seed, 1500 + 37 * seed);
    const recording = JSON.parse(JSON.stringify(show.recording())) as Recording;
    expect(recording.start).toBeNull();
    expect(new Set(recording.inputs.map((input) => input.kind)).size).toBe(8);
    expect(recording.ticks).toBe(show.tick);
    expect(recording.sha256).toBe(stateHash(show.state.buffer));
    expect(replayed(recording)).toBe(recording.sha256);
  });

  it("is at its beginning before the first tick, and may have none", () => {
    const show = newShow(5);
    const recording = show.recording();
    expect(recording.ticks).toBe(0);
    expect(replayed(recording)).toBe(recording.sha256);
    const game = loadRules(TOY.javascript);
    const state = game.create();
    played(game, TOY.spec, recording, state);
    expect(stateHash(state.buffer), "a picture of it is none of an empty state").toBe(recording.sha256);
  });

  it("is stamped: the same inputs a tick later lead elsewhere", () => {
    const show = newShow();
    playByScript(show, 3, 600);
    const recording = show.recording();
    const late = recording.inputs.map((input) => (input.kind === "throw" || input.kind === "hold" ? { ...input, tick: input.tick + 1 } : input));
    expect(replayed({ ...recording, inputs: late })).not.toBe(recording.sha256);
  });

  it("continues from a restored moment", () => {
    const before = newShow(4);
    playByScript(before, 4, 333);
    const show = newShow(9);
    show.restore(before.snapshot());
    playByScript(show, 5, 500);
    const recording = JSON.parse(JSON.stringify(show.recording())) as Recording;
    expect(recording.start!.tick).toBe(before.tick);
    expect(replayed(recording)).toBe(recording.sha256);
  });

  it("begins anew at a reset", () => {
    const show = newShow(4);
    playByScript(show, 4, 333);
    show.reset(8);
    show.stepBy("tick", 10);
    expect(show.recording()).toMatchObject({ seed: 8, start: null, ticks: 10 });
    expect(show.recording().inputs[0]).toEqual({ tick: 0, kind: "reset", seed: 8 });
    expect(replayed(show.recording())).toBe(show.recording().sha256);
  });

  it("stays bounded, and what is left still replays", () => {
    const show = newShow(2);
    (show as unknown as { log: MatchLog }).log = new MatchLog(100, 50);
    show.reset(2);
    playByScript(show, 2, 2000);
    const recording = JSON.parse(JSON.stringify(show.recording())) as Recording;
    expect(recording.actions.length).toBeLessThanOrEqual(204);
    expect(recording.start!.tick).toBeGreaterThan(500);
    expect(replayed(recording)).toBe(recording.sha256);
  });

  it("is refused by other rules, and without its actions", () => {
    const show = newShow();
    show.stepBy("tick", 100);
    const recording = show.recording();
    expect(() => replayed({ ...recording, rules_hash: "other" })).toThrow("made with rules other, but this drill has rules toy");
    expect(() => replayed({ ...recording, actions: recording.actions.slice(0, 10) })).toThrow("has no actions for tick 20");
  });
});

describe("what a hand holds", () => {
  it("is put there at once, paused or playing, inside the world and no faster than is safe", () => {
    const show = newShow();
    const ball = show.bodies[0]!;
    show.pause();
    show.hand.hold(ball, 99, -99, 500, 0);
    expect([ball.x, ball.y]).toEqual([4.5, -2.5]);
    show.hand.throw(ball, 0, -500);
    expect(show.state).toMatchObject({ ball_vx: new Float32Array([0]), ball_vy: new Float32Array([-9]) });
    show.hand.hold(ball, 1, 1, 0, 0);
    show.play();
    show.advance(0.1);
    expect(ball.x).toBeCloseTo(1, 1);
    expect(show.hand.holds(ball)).toBe(true);
  });

  it("is let go when a new game begins", () => {
    const show = newShow();
    show.hand.hold(show.bodies[0]!, 4.2, 0, 0, 0); // in the goal
    show.stepBy("tick", 4);
    expect(show.score).toEqual([1, 0]);
    show.stepBy("tick", 84);
    expect(show.hand.holds(show.bodies[0]!)).toBe(false);
    expect(replayed(show.recording())).toBe(show.recording().sha256);
  });
});

describe("Shift", () => {
  it("takes side 0 over in any mode and gives it back", () => {
    const show = newShow();
    show.setMode("sandbox", "idle");
    const rng = new Random(1);
    show.setPolicy(
      new Policy(
        1,
        [3, 7],
        "tanh",
        Float32Array.from({ length: 28 }, () => rng.next()),
      ),
    );
    show.takeOver(true);
    show.input({ code: "KeyW", down: true, t: 0 });
    for (let k = 0; k < 10; k++) {
      show.stepBy("decision", 1);
      expect(show.state.action[0]).toBe(2);
    }
    show.takeOver(false);
    const actions = Array.from({ length: 30 }, () => {
      show.stepBy("decision", 1);
      return show.state.action[0];
    });
    expect(new Set(actions).size).toBeGreaterThan(1);
    const kinds = show.recording().inputs.map(({ tick, kind }) => [tick, kind]);
    expect(kinds).toContainEqual([0, "take"]);
    expect(kinds).toContainEqual([40, "take"]);
  });
});

describe("the way to the next goal", () => {
  it("is short, ends at the goal, and leaves play and pause as they were", () => {
    const show = newShow();
    show.setMode("human_vs_ai", "pusher");
    show.pause();
    show.skipToGoal();
    let frames = 0;
    for (; show.skipping; frames++) show.advance(1 / 60);
    expect(show.score).toEqual([0, 1]);
    expect(show.playing).toBe(false);
    expect(frames).toBeLessThan(60);
    const { tick } = show;
    show.advance(1);
    expect(show.tick).toBe(tick);
    expect(show.takeEvents().at(-1)).toMatchObject({ kind: "goal", side: 1, tick });
  });

  it("is bounded", () => {
    const show = newShow();
    show.setMode("human_vs_ai", "idle");
    show.skipToGoal();
    for (let k = 0; k < 10_000 && show.skipping; k++) show.advance(1 / 60);
    expect(show.tick).toBe(120 * 120);
    expect(show.takeEvents().at(-1)!.kind).toBe("goalless");
  });
});

describe("a new policy", () => {
  it("waits for the next game where it is asked to", () => {
    const show = newShow();
    const policy = (version: number) => new Policy(version, [3, 7], "tanh", new Float32Array(28));
    show.deciders.next.set({ swap: "at_reset" });
    show.setPolicy(policy(1));
    show.setPolicy(policy(2));
    show.stepBy("decision", 3);
    expect(show.version).toBe(1);
    show.reset();
    expect(show.version).toBe(2);
    show.setPolicy(policy(3));
    show.stepBy("decision", 1);
    expect(show.version).toBe(2);
    show.deciders.next.set({ swap: "now" });
    show.stepBy("decision", 1);
    expect(show.version).toBe(3);
  });
});
