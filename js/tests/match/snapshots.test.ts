/** Snapshots come from other pages of the widget: numbers that no match has would let it stand still for good. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../contract/protocol";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { TOY } from "../harness/toy_game";

const rules = loadRules(TOY.javascript);

describe("a snapshot", () => {
  it.each([
    ["tick", { tick: "9" }],
    ["tick", { tick: 2 ** 53 }],
    ["score", { score: 3 }],
    ["score", { score: [1, "<b>"] }],
    ["version", { version: -1 }],
    ["seed", { seed: 0.5 }],
    ["seed", { rng: 1e300 }],
    ["decision's length", { phase: -1e15 }],
    ["decision's length", { phase: 0.5 }],
    ["pause", { rest: 1e300 }],
    ["pause", { rest: undefined }],
    ["memory", { memory: new ArrayBuffer(6) }],
    ["memory", { memory: new Float32Array([Number.NaN]) }],
    ["tick", { state: lasting() }],
  ])("of no match is refused and changes nothing, by its %s: %j", (what, wrong) => {
    const show = new Show(rules, TOY.spec);
    show.stepBy("tick", 9);
    const before = show.snapshot();
    expect(() => show.restore({ ...before, ...wrong } as Snapshot)).toThrow(`a ${what}`);
    expect(show.snapshot()).toEqual(before);
  });

  it("of a rest after a goal is taken, though the clock of its game went on", () => {
    const show = new Show(rules, TOY.spec);
    const { state } = show.snapshot();
    rules.create(state).ticks[0] = TOY.spec.time_limit + 20;
    show.restore({ ...show.snapshot(), state, rest: 42 });
    expect(show.snapshot().rest).toBe(42);
  });
});

/** A game that does not end by its clock for days. */
function lasting(): ArrayBuffer {
  const { buffer, ticks } = rules.create();
  ticks[0] = -(2 ** 31);
  return buffer;
}
