import { describe, expect, it } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { Policy } from "../../match/network/policy";
import { Observer } from "../../match/observer";
import { type Game, loadRules } from "../../match/rules";
import { TOY } from "../harness/toy_game";

/** The toy game, in which side 1 may not do what side 0 may. */
function barred(): Game {
  const game = loadRules(TOY.javascript);
  return { ...game, mask: (_, side, out) => out.forEach((_, k) => (out[k] = Number(k % 2 === side))) };
}

const spec: DrillSpec = TOY.spec;

describe("Senses", () => {
  it("lets chance choose among all that is allowed, and nothing else", () => {
    const game = barred();
    const observer = new Observer(game, spec);
    const chosen = (side: number) => Array.from({ length: 60 }, (_, k) => observer.randomAction(game.create(), side, k / 60));
    expect([...new Set(chosen(0))]).toEqual([0, 2, 4]);
    expect([...new Set(chosen(1))]).toEqual([1, 3, 5]);
  });

  it("lets chance choose anything where there is no mask", () => {
    const game = loadRules(TOY.javascript);
    const observer = new Observer(game, spec);
    expect(new Set(Array.from({ length: 60 }, (_, k) => observer.randomAction(game.create(), 0, k / 60))).size).toBe(spec.n_actions);
  });

  it("asks a policy with what the side sees and may do", () => {
    const game = barred();
    const observer = new Observer(game, spec);
    const width = spec.n_actions + 1;
    const policy = new Policy(1, [spec.n_obs, width], "tanh", new Float32Array((spec.n_obs + 1) * width));
    const state = game.create();
    observer.observe(state, 1).evaluate(policy);
    policy.probabilities.forEach((p, k) => expect(p).toBeCloseTo(k % 2 === 1 ? 2 / spec.n_actions : 0, 6));
    const observed = new Float32Array(spec.n_obs);
    game.observe(state, 1, observed);
    expect(observer.observation).toEqual(observed);
  });
});
