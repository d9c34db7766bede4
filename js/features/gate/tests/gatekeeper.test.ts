import { describe, expect, it } from "vitest";
import type { Recording } from "../../../contract/protocol";
import { stateHash } from "../../../match/recording";
import { replay } from "../../../match/replay";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { TOY } from "../../../tests/harness/toy_game";
import { CHUNKS } from "../gate";
import { Gatekeeper } from "../gatekeeper";
import { gatedShow, SETTINGS, TERRITORY } from "./territory";

const [ENERGY_AT_WORK, COMBAT_AT_WORK, ENERGY_FAR_AWAY] = [CHUNKS + 210, 2 * CHUNKS + 210, CHUNKS + 19];

describe("a gate before the match", () => {
  it("sends what it expects enough of, and says later what came of it", () => {
    const { show, gatekeeper } = gatedShow(ENERGY_AT_WORK);
    show.stepBy("tick", 1);
    expect(show.state.action[0]).toBe(ENERGY_AT_WORK);
    const [proposal] = gatekeeper.takeNews();
    expect(proposal).toMatchObject({ tick: 0, chunk: 210, kind: "energy", sent: true, outcome: null, survived: null });
    expect(proposal!.confidence).toBeGreaterThan(0.99);
    expect(proposal!.expected).toBeCloseTo(0.9, 9);
    expect(proposal!.components).toEqual([1, 1, -0, 1, 0]);
    show.stepBy("tick", 14);
    expect(gatekeeper.takeNews()).toEqual([{ ...proposal, outcome: 0.25, survived: true }]);
    show.stepBy("tick", 1);
    expect(gatekeeper.takeNews()).toMatchObject([{ tick: 15, outcome: null }]);
  });

  it("blocks the rest: nothing is spawned, and nothing comes of it", () => {
    const { show, gatekeeper } = gatedShow(ENERGY_FAR_AWAY);
    show.stepBy("decision", 1);
    expect(show.state.action[0]).toBe(0);
    const news = gatekeeper.takeNews();
    expect(news).toMatchObject([{ chunk: 19, sent: false, outcome: null }]);
    expect(news[0]!.signal).toBeLessThan(0);
  });

  it("is asked for what the queen cannot pay, too", () => {
    const { show, gatekeeper } = gatedShow(COMBAT_AT_WORK);
    show.stepBy("decision", 3); // 60 energy pay for two
    expect(gatekeeper.takeNews().filter(({ outcome }) => outcome === null)).toMatchObject([
      { kind: "combat", sent: true },
      { kind: "combat", sent: true },
      { kind: "combat", sent: false, expected: -1, signal: -1 },
    ]);
    expect(show.state.action[0]).toBe(0);
  });

  it("proposes no waiting, however likely the network finds it", () => {
    const { show, gatekeeper } = gatedShow(0);
    show.stepBy("decision", 20);
    const proposals = gatekeeper.takeNews().filter(({ outcome }) => outcome === null);
    expect(proposals).toHaveLength(20);
    for (const { confidence } of proposals) expect(confidence).toBeCloseTo(1 / 800, 4);
  });

  it("lets everybody else decide as before", () => {
    const { show, gatekeeper } = gatedShow(ENERGY_FAR_AWAY, null);
    show.stepBy("decision", 1);
    expect(show.state.action[0]).toBe(ENERGY_FAR_AWAY);
    gatekeeper.set(SETTINGS);
    show.setMode("human_vs_ai");
    show.stepBy("decision", 2);
    expect(gatekeeper.takeNews()).toEqual([]);
  });

  it("judges by new settings from the next decision on", () => {
    const { show, gatekeeper } = gatedShow(ENERGY_FAR_AWAY);
    gatekeeper.set({ ...SETTINGS, threshold: 0 });
    show.stepBy("decision", 1);
    expect(show.state.action[0]).toBe(ENERGY_FAR_AWAY);
  });

  it("forgets with a new match", () => {
    const { show, gatekeeper } = gatedShow(ENERGY_AT_WORK);
    show.stepBy("tick", 3);
    show.reset(2);
    expect([gatekeeper.takeNews(), gatekeeper.latest]).toEqual([[], null]);
  });

  it("is in no recording: that holds what was done", () => {
    const { show } = gatedShow(ENERGY_AT_WORK);
    show.stepBy("decision", 12);
    const recording = JSON.parse(JSON.stringify(show.recording())) as Recording;
    expect(new Set(recording.actions)).toEqual(new Set([ENERGY_AT_WORK, 0]));
    expect(stateHash(replay(loadRules(TERRITORY.javascript), TERRITORY.spec, recording).buffer)).toBe(recording.sha256);
  });

  it("is refused by a drill that it cannot read", () => {
    const show = new Show(loadRules(TOY.javascript), TOY.spec, 1, () => 0);
    expect(() => new Gatekeeper(show).set(SETTINGS)).toThrow('Toy has no state field "worker_chunk"');
  });
});
