import { beforeEach, describe, expect, it } from "vitest";
import { Policy } from "../../../match/network/policy";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { TOY } from "../../../tests/harness/toy_game";
import { EarlierVersion } from "../earlier_version";

/** Always the same action, so that one sees who decided. */
function stubborn(version: number, action: number): Policy {
  const weights = new Float32Array(28);
  weights[21 + action] = 50; // its bias
  return new Policy(version, [3, 7], "tanh", weights);
}

let show: Show;
let ghost: EarlierVersion;
const see = (policy: Policy) => {
  show.setPolicy(policy);
  ghost.add(policy);
  show.stepBy("decision", 1);
};

beforeEach(() => {
  show = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
  ghost = new EarlierVersion(show);
  show.deciders.add({ substitute: ghost });
  [stubborn(0, 0), stubborn(10, 1), stubborn(40, 2)].forEach(see);
});

describe("Ghost", () => {
  it("is nobody until it is asked for", () => {
    expect(ghost.advance()).toEqual({ versions: [0, 10, 40], ghost: -1 });
    expect([...show.state.action]).toEqual([2, 2]);
    expect(ghost.advance()).toBeNull();
  });

  it.each([
    [1, 10, 1],
    [30, 10, 1],
    [31, 0, 0],
    [400, 0, 0],
    [Infinity, 0, 0],
  ])("plays side 1 as the version that many back (%d)", (back, version, action) => {
    const { tick, score } = show;
    ghost.goBack(back);
    expect(ghost.advance()).toMatchObject({ ghost: version });
    show.stepBy("decision", 1);
    expect([...show.state.action]).toEqual([2, action]);
    expect([show.tick, show.score]).toEqual([tick + TOY.spec.action_repeat, score]); // the match continues
  });

  it("keeps its distance while training continues, or stays the first", () => {
    ghost.goBack(30);
    see(stubborn(70, 3));
    expect(ghost.advance()).toMatchObject({ ghost: 40 });
    ghost.goBack(Infinity);
    see(stubborn(90, 4));
    expect(ghost.advance()).toMatchObject({ ghost: 0 });
  });

  it("is nobody where nothing earlier was seen, in other modes, and after it was sent away", () => {
    ghost.goBack(5);
    ghost.advance();
    show.setMode("sandbox", "idle");
    expect(show.deciders.policyOf(1)).toBe(show.deciders.policy);
    show.setMode("ai_vs_ai");
    expect(show.deciders.policyOf(1)!.version).toBe(10);
    expect(show.deciders.policyOf(0)).toBe(show.deciders.policy);
    ghost.goBack(0);
    expect(ghost.advance()).toMatchObject({ ghost: -1 });
    ghost.goBack(5);
    see(stubborn(0, 5)); // training began anew
    expect(ghost.advance()).toEqual({ versions: [0], ghost: -1 });
  });

  it("refuses a distance that cannot be meant", () => {
    for (const back of [-1, NaN]) expect(() => ghost.goBack(back)).toThrow("0 or more");
  });
});
