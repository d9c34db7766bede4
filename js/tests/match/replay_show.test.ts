import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Recording } from "../../contract/protocol";
import { stateHash } from "../../match/recording";
import { replayShow } from "../../match/replay";
import { readReplay } from "../../match/replay_file";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { playByScript } from "../harness/scripted_person";
import { TOY } from "../harness/toy_game";

const { spec } = TOY;
const game = loadRules(TOY.javascript);
const newShow = (seed: number) => new Show(game, spec, seed, () => 0);

function recorded(seed: number, start?: Show): { show: Show; recording: Recording } {
  const show = newShow(seed);
  if (start) show.restore(start.snapshot());
  playByScript(show, seed, 900 + 37 * seed);
  return { show, recording: JSON.parse(JSON.stringify(show.recording())) as Recording };
}

describe("a show of a recording", () => {
  it.each([...Array(8).keys()])("plays it again to the bit, with its score, and stands still at its end (%d)", (seed) => {
    const { show, recording } = recorded(seed);
    const again = replayShow(game, spec, recording);
    again.stepBy("tick", recording.ticks + 100);
    expect(again.tick).toBe(recording.ticks);
    expect(again.ended).toBe(true);
    expect(stateHash(again.state.buffer)).toBe(recording.sha256);
    expect(again.score).toEqual(show.score);
    expect(again.version).toBe(show.version);
    again.play();
    again.advance(0.2);
    expect(again.tick).toBe(recording.ticks);
  });

  it("begins in the middle where the recording does", () => {
    const before = newShow(4);
    playByScript(before, 4, 333);
    const { recording } = recorded(5, before);
    const again = replayShow(game, spec, recording);
    expect(again.tick).toBe(before.tick);
    again.stepBy("tick", recording.ticks);
    expect(again.recording().sha256).toBe(recording.sha256);
  });

  it.each<[string, (recording: Recording) => Partial<Recording>]>([
    ["other actions", ({ actions }) => ({ actions: actions.map((action) => (action + 1) % spec.n_actions) })],
    ["too few actions", ({ actions }) => ({ actions: actions.slice(0, 20) })],
    ["things that are not there", ({ inputs }) => ({ inputs: [{ tick: 0, kind: "hold", handle: "moon", x: 0, y: 0, vx: 0, vy: 0, index: 0 }, ...inputs] })],
    ["half a state", () => ({ start: { tick: 0, phase: 0, rest: 0, state: "00ff" } })],
  ])("refuses %s in a sentence", (_, change) => {
    const { recording } = recorded(3);
    expect(() => replayShow(game, spec, { ...recording, ...change(recording) })).toThrow("does not end as it was recorded: the file is damaged");
  });
});

describe("a replay file", () => {
  const { recording } = recorded(2);
  const read = (change: object) => readReplay(JSON.stringify({ ...recording, ...change }), "toy.json", spec);

  it("is read as it was written", () => {
    expect(read({})).toEqual(recording);
  });

  it.each(["", "{", "null", "3", "[]", "{}", JSON.stringify({ ...recording, actions: {} }), JSON.stringify({ ...recording, ticks: 1e300 })])(
    "that is none is refused in a sentence (%#)",
    (text) => {
      expect(() => readReplay(text, "notes.json", spec)).toThrow("notes.json is not a replay. Choose a file that Save replay has written.");
    },
  );

  it("of a match that has not begun is read, and stands still", () => {
    const still = new Show(game, spec, 3).recording();
    expect(readReplay(JSON.stringify(still), "toy.json", spec)).toEqual(still);
    const show = replayShow(game, spec, still);
    show.play();
    show.advance(1);
    expect([show.tick, show.ended]).toEqual([0, true]);
  });

  it("of release 0.1.0 has no format, and is read", () => {
    const { format: _, ...old } = recording;
    expect(readReplay(JSON.stringify(old), "toy.json", spec)).toEqual(old);
    const text = readFileSync("tests/formats/0.1.0/replay.json", "utf-8");
    const { rules_hash } = JSON.parse(text) as Recording;
    const drag = ["player 0", "player 1", "ball"].map((name) => ({ ...spec.drag[0]!, name }));
    expect(readReplay(text, "replay.json", { ...spec, name: "ball", rules_hash, drag, n_actions: 30 }).seed).toBe(3);
  });

  const start = { tick: 0, phase: 0, rest: 0, state: "" };
  const hold = { tick: 0, kind: "hold", handle: "ball", x: 0, y: 0, vx: 0, vy: 0 };
  const long = 2 ** 53; // the next number is the same: a loop that counts from there has no end
  it.each<[string, object]>([
    ["a seed", { seed: -1 }],
    ["a tick", { start: { ...start, tick: long }, ticks: long + 2 }],
    ["a tick", { ticks: 1.5 }],
    ["a pause", { start: { ...start, rest: 1e15 } }],
    ["a pause", { start: { ...start, rest: 0.5 } }],
    ["a pause", { start: { ...start, rest: undefined } }],
    ["a decision's length", { start: { ...start, phase: -1e15 } }],
    ["a decision's length", { inputs: [{ tick: 0, kind: "repeat", ticks: 1e15 }] }],
    ["a decision's length", { inputs: [{ tick: 0, kind: "repeat" }] }],
    ["an action", { actions: [0, spec.n_actions] }],
    ["an action", { actions: [0, "1"] }],
    ["a handle", { inputs: [{ ...hold, handle: "moon" }] }],
    ["a place", { inputs: [{ ...hold, vx: "fast" }] }],
    ["an input", { inputs: [null] }],
    ["a length", { actions: new Array(120_001).fill(0) }],
  ])("with %s that no match has is refused before it is played (%#)", (what, change) => {
    expect(() => read({ ticks: 1, actions: [0, 0], inputs: [], start: null, ...change })).toThrow(`toy.json has ${what} that no match of "toy" has.`);
  });

  it("of a newer release says so", () => {
    expect(() => read({ format: "2" })).toThrow("toy.json has the format 2 of a newer release, and this one reads 1. Update dshq-widget.");
  });

  it("of another drill says which", () => {
    expect(() => read({ drill: "snake" })).toThrow('toy.json is a replay of the drill "snake", and this is "toy". Load it in DrillWidget("snake").');
  });

  it("of other rules says so", () => {
    expect(() => read({ rules_hash: "0123" })).toThrow('toy.json was recorded with other rules of the drill "toy"');
  });
});
