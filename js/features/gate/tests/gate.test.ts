import { describe, expect, it } from "vitest";
import { loadRules } from "../../../match/rules";
import { Gate, type Territory } from "../gate";
import { SETTINGS, TERRITORY } from "./territory";

const game = loadRules(TERRITORY.javascript);

function stateWith(change: Partial<{ workers: number[]; protectors: number[]; energy: number; ticks: number }> = {}): Territory {
  const state = game.create() as Territory;
  game.reset(state);
  const { workers, protectors = [], energy = 100, ticks = 0 } = change;
  if (workers) {
    state.worker_chunk.fill(-1);
    state.worker_chunk.set(workers);
  }
  state.protector_chunk.set(protectors);
  state.queen_energy[0] = energy;
  state.ticks[0] = ticks;
  return state;
}

function judged(state: Territory, chunk: number, kind: number, settings = SETTINGS): Gate {
  const gate = new Gate(settings);
  gate.judge(state, chunk, kind);
  return gate;
}

// tests/algorithms/gate/test_gate_page.py holds these functions equal to Python's over random states
describe("a judgement", () => {
  it("knows what protectors threaten", () => {
    const survival = (...protectors: number[]) => judged(stateWith({ protectors }), 100, 0).components[0];
    expect(survival()).toBe(1);
    expect(survival(101)).toBe(0);
    expect(survival(105)).toBeCloseTo(1 - Math.exp(-1.5), 12);
    expect(survival(105, 200)).toBeCloseTo((1 - Math.exp(-1.5)) * (1 - Math.exp(-1.5)), 12);
    expect(survival(108)).toBe(1);
  });

  it("knows whom a parasite disturbs", () => {
    const disruption = (kind: number, protectors: number[]) => judged(stateWith({ workers: [100, 106, 107], protectors }), 100, kind).components[1];
    expect(disruption(0, [])).toBeCloseTo(2 / 3, 12);
    expect(disruption(0, [100, 100, 101])).toBeCloseTo(-1 / 3, 12);
    expect(disruption(1, [102])).toBe(1);
    expect(judged(stateWith({ workers: [] }), 100, 0).components[1]).toBe(0);
  });

  it("knows what is near: workers, or the hive where there are none", () => {
    expect(judged(stateWith({ workers: [0] }), 399, 0).components[2]).toBeCloseTo(-0.4, 12);
    expect(judged(stateWith({ workers: [] }), 190, 0).components[2]).toBeCloseTo(0, 12);
  });

  it("gives WAIT and a finite signal where the queen cannot pay, in any mode", () => {
    for (const mode of ["gated", "ungated"]) {
      const gate = judged(stateWith({ energy: 14 }), 210, 0, { ...SETTINGS, mode });
      expect([gate.expected, gate.signal, gate.sends]).toEqual([-1, -1, false]);
    }
  });

  it("sends above the threshold only, unless there is no gate", () => {
    const far = stateWith({ workers: [], ticks: 400 }); // survival alone, and the whole bonus
    far.worker_chunk.fill(-1);
    expect(judged(far, 190, 0).sends).toBe(false);
    expect(judged(far, 190, 0, { ...SETTINGS, mode: "ungated" }).sends).toBe(true);
    expect(judged(stateWith(), 210, 0).sends).toBe(true);
  });
});
