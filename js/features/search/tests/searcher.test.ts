import { describe, expect, it } from "vitest";
import { countFloats } from "../../../match/network/layers";
import { Policy } from "../../../match/network/policy";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { TOY } from "../../../tests/harness/toy_game";
import { beginParts } from "../../../worker/parts";
import type { Searcher } from "../searcher";
import { search } from "../worker";

const SETTINGS = { num_particles: 16, search_depth: 4, gamma: 0.99, weights: {} };
const level = (version = 1) => new Policy(version, [3, 7], "tanh", new Float32Array(4 * 7));

function begin(policy: Policy | null = level()): { show: Show; searcher: Searcher } {
  const show = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
  const [part] = beginParts([search], { show, post: () => undefined });
  if (policy) show.setPolicy(policy);
  return { show, searcher: part!.decider as Searcher };
}

describe("search decides", () => {
  it("for the side that the policy plays", () => {
    const { show, searcher } = begin();
    expect(searcher.side).toBe(-1);
    searcher.set(SETTINGS);
    expect(searcher.side).toBe(0);
    show.setMode("human_vs_ai");
    expect(searcher.side).toBe(1);
    show.setMode("sandbox");
    expect(searcher.side).toBe(0);
    show.takeOver(true);
    expect(searcher.side).toBe(-1); // a person against a script
    show.takeOver(false);
    searcher.set(null);
    expect(searcher.side).toBe(-1);
  });

  it("for nobody before there is a policy", () => {
    const { show, searcher } = begin(null);
    searcher.set(SETTINGS);
    expect(searcher.side).toBe(-1);
    show.stepBy("decision", 3);
    expect(searcher.ms).toBe(0);
  });

  it("from the next decision on, the same way every time, and leaves the match's own chance alone", () => {
    const play = (searched: boolean) => {
      const { show, searcher } = begin();
      show.stepBy("decision", 2);
      if (searched) searcher.set(SETTINGS);
      show.stepBy("decision", 6);
      return show;
    };
    const [one, two, without] = [play(true), play(true), play(false)];
    expect([...new Uint8Array(one.state.buffer)]).toEqual([...new Uint8Array(two.state.buffer)]);
    expect([...new Uint8Array(one.state.buffer)]).not.toEqual([...new Uint8Array(without.state.buffer)]);
    expect(one.state.rng_key[0]).toBe(without.state.rng_key[0]);
    expect(one.state.rng_count[0]).toBe(without.state.rng_count[0]);
  });

  it("with the player whom the match has on the other side", () => {
    const { show, searcher } = begin();
    show.setMode("sandbox", "pusher");
    let asked = 0;
    const { pusher } = show.game.baselines;
    show.game.baselines.pusher = (state, side) => {
      asked++;
      return pusher!(state, side);
    };
    show.stepBy("decision", 1);
    expect(asked).toBe(1);
    searcher.set(SETTINGS);
    show.stepBy("decision", 1);
    expect(asked).toBe(1 + 1 + 16 * 4);
    show.game.baselines.pusher = pusher!;
  });

  it("refuses numbers that make no search", () => {
    expect(() => begin().searcher.set({ ...SETTINGS, num_particles: 0 })).toThrow("one particle");
  });

  it("for no network with a memory", () => {
    const layers = [3, 6, -4, 7];
    const { show, searcher } = begin(new Policy(1, layers, "tanh", new Float32Array(countFloats(layers))));
    searcher.set(SETTINGS);
    expect(searcher.side).toBe(-1);
    show.stepBy("decision", 2);
  });
});
