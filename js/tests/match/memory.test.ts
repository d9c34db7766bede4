import { describe, expect, it } from "vitest";
import { memoryOf } from "../../contract/memory";
import { countFloats, readLayers } from "../../match/network/layers";
import { Policy } from "../../match/network/policy";
import { stateHash } from "../../match/recording";
import { replay } from "../../match/replay";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { PolicyAnalysis } from "../../mind/analysis";
import { TOY } from "../harness/toy_game";

const LAYERS = [3, 6, -4, 7];
const ALONE = { ...TOY.spec, sides: 1, time_limit: 120 };

function newShow(seed = 1): Show {
  return new Show(loadRules(TOY.javascript), ALONE, seed, () => 0);
}

function newPolicy(version: number, layers = LAYERS): Policy {
  const weights = Float32Array.from({ length: countFloats(layers) }, (_, k) => Math.sin(12.9898 * (k + 1) + 78.233 * version));
  return new Policy(version, layers, "tanh", weights);
}

function playing(): Show {
  const show = newShow();
  show.setPolicy(newPolicy(1));
  return show;
}

const memory = (show: Show) => [...show.deciders.memory];
const bytes = (show: Show) => [...new Uint8Array(show.state.buffer)];

describe("a network with a memory", () => {
  it("is read from its layers", () => {
    expect([memoryOf(LAYERS), memoryOf([3, 6, 7]), memoryOf([3, -4, 7]), memoryOf([3, -5, -5, -1, -2, -2, 7])]).toEqual([4, 0, 0, 0]);
    expect(countFloats(LAYERS)).toBe(4 * 6 + (6 + 4 + 1) * 16 + 5 * 7);
    expect(readLayers(LAYERS).dense).toEqual([3, 6, 7]);
    expect(() => new Policy(1, LAYERS, "tanh", new Float32Array(3))).toThrow("refused");
  });

  it("takes every decision in, and forgets where an episode ends", () => {
    const show = playing();
    expect(memory(show)).toEqual(new Array(8).fill(0));
    const seen = new Set<string>();
    for (let k = 0; k < 10; k++) {
      show.stepBy("decision", 1);
      seen.add(memory(show).join());
    }
    expect(seen.size).toBe(10);
    while (show.snapshot().rest === 0) show.stepBy("tick", 1);
    show.stepBy("tick", show.snapshot().rest);
    expect(memory(show)).toEqual(new Array(8).fill(0));
    show.stepBy("decision", 3);
    show.reset();
    expect(memory(show)).toEqual(new Array(8).fill(0));
  });

  it("keeps its state at a swap where the shape fits, and begins anew where it does not", () => {
    const show = playing();
    show.stepBy("decision", 5);
    const before = memory(show);
    show.setPolicy(newPolicy(2));
    show.deciders.swap(show.tick);
    expect(show.version).toBe(2);
    expect(memory(show)).toEqual(before);
    show.setPolicy(newPolicy(3, [3, 6, -2, 7]));
    show.deciders.swap(show.tick);
    expect(memory(show)).toEqual([0, 0, 0, 0]);
    show.setPolicy(newPolicy(4, [3, 6, 7]));
    show.deciders.swap(show.tick);
    expect(memory(show)).toEqual([]);
    show.stepBy("decision", 2);
  });

  it("watches while a person plays", () => {
    const [alone, taken] = [playing(), playing()];
    taken.takeOver(true);
    taken.stepBy("decision", 4);
    alone.stepBy("decision", 4);
    expect(memory(taken).some((x) => x !== 0)).toBe(true);
    taken.takeOver(false);
    const before = memory(taken);
    taken.stepBy("decision", 1);
    expect(memory(taken)).not.toEqual(before);
  });

  it("decides by what it remembers, as one that is asked with the same state", () => {
    const show = playing();
    show.stepBy("decision", 6);
    const policy = newPolicy(1);
    const observation = new Float32Array(3);
    show.game.observe(show.state, 0, observation);
    policy.forward(observation, undefined, show.deciders.memory);
    const { value, probabilities } = show.deciders.opinion(show.state);
    expect(value).toBe(policy.value);
    const fresh = newPolicy(1);
    fresh.forward(observation);
    expect(fresh.value).not.toBe(value);
    const mind = new PolicyAnalysis(show.game, ALONE, () => show.deciders.memory);
    const thought = mind.think(show.deciders.policy!, show.state, 0);
    expect(thought.value).toBe(value);
    expect(thought.probabilities).toEqual(probabilities);
    const before = memory(show);
    expect(mind.imagine(show.deciders.policy!, show.state, 0, 4, false, () => 0)).toHaveLength(4);
    expect(memory(show)).toEqual(before);
  });

  it("continues exactly from a snapshot, and its recording plays again", () => {
    const show = playing();
    show.stepBy("decision", 7);
    const other = newShow(9);
    other.restore(show.snapshot());
    other.setPolicy(newPolicy(1));
    expect(memory(other)).toEqual(memory(show));
    for (const each of [show, other]) each.stepBy("decision", 40);
    expect(bytes(other)).toEqual(bytes(show));
    expect(memory(other)).toEqual(memory(show));
    const recording = show.recording();
    expect(stateHash(replay(loadRules(TOY.javascript), ALONE, recording).buffer)).toBe(recording.sha256);
  });

  it("remembers for each side what that side saw", () => {
    const two = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
    two.setMode("ai_vs_ai", "random");
    two.setPolicy(newPolicy(1));
    const policy = newPolicy(1);
    const states = [policy.fresh(), policy.fresh()];
    const observation = new Float32Array(3);
    for (let k = 0; k < 6; k++) {
      for (const side of [0, 1]) {
        two.game.observe(two.state, side, observation);
        policy.forward(observation, undefined, states[side]);
        states[side] = policy.remembered.slice() as Float32Array<ArrayBuffer>;
      }
      two.stepBy("decision", 1);
    }
    expect(two.deciders.memories).toEqual(states);
    expect(states[0]).not.toEqual(states[1]);
    const mind = new PolicyAnalysis(two.game, TOY.spec, (asked, side) => two.deciders.remembered(asked, side));
    expect(mind.think(two.deciders.policy!, two.state, 1).probabilities.flat()).not.toEqual(
      mind.think(two.deciders.policy!, two.state, 0).probabilities.flat(),
    );
    const other = new Show(loadRules(TOY.javascript), TOY.spec, 9, () => 0);
    other.setMode("ai_vs_ai", "random");
    other.setPolicy(newPolicy(1));
    other.restore(two.snapshot());
    expect(other.deciders.memories).toEqual(states);
  });

  it("forgets where another network plays the other side", () => {
    const two = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
    two.setPolicy(newPolicy(1));
    two.deciders.setRival("older", newPolicy(7));
    two.setMode("ai_vs_ai", "random");
    two.stepBy("decision", 3);
    const mine = [...two.deciders.memories[0]!];
    expect(two.deciders.memories[1]!.some((x) => x !== 0)).toBe(true);
    two.setMode("sandbox", "older");
    expect([...two.deciders.memories[1]!]).toEqual(new Array(8).fill(0));
    expect([...two.deciders.memories[0]!]).toEqual(mine);
    two.deciders.setRival("older", newPolicy(8, [3, 6, -2, 7]));
    two.stepBy("decision", 1);
    expect(two.deciders.memories.map(({ length }) => length)).toEqual([8, 4]);
  });
});
