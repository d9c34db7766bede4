/** A person's match against the policy: countdown, end, and what is said of it. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ShowTrait } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import { ageInWords, Duel, outcome } from "../../session/duel";
import { Events, type SessionEvents, type ShowState } from "../../session/events";

const state: ShowState = { tick: 900, score: [3, 4], version: 738, fps: 60, playing: true, events: [], probabilities: [], value: 0 };

class FakeSession {
  readonly events = new Events<SessionEvents>();
  readonly model = { get: (name: string) => (name === "drill" ? { spec: { tick_rate: 120, baselines: ["chaser"] } } : { layers: [4, 7] }) } as never;
  readonly history = {
    rows: [
      { agent_steps: 1, seconds: 51.7, version: 738 },
      { agent_steps: 2, seconds: 90, version: 902 },
    ],
  }; // the newer version waits
  get facing() {
    return { opponent: this.show.opponent || "chaser", met: this.show.opponent };
  }
  shared: ShowTrait = { ...SHOW_DEFAULTS, mode: "sandbox", speed: 4 };
  show = this.shared;
  state = state;
  alone = false;

  setOwnShow(change: Partial<ShowTrait> | null): void {
    this.alone = change !== null;
    this.show = change ? { ...this.show, ...change } : this.shared;
    this.events.emit("show", undefined);
  }

  report(change: Partial<ShowState>): void {
    this.state = { ...this.state, ...change };
    this.events.emit("state", this.state);
  }
}

let session: FakeSession;
let duel: Duel;
let ending: AbortController;

beforeEach(() => {
  vi.useFakeTimers();
  session = new FakeSession();
  ending = new AbortController();
  duel = new Duel(session, ending.signal);
});
afterEach(() => {
  ending.abort();
  vi.useRealTimers();
});

/** Past the countdown, with the match at its beginning. */
function begin(): void {
  duel.start();
  session.report({ tick: 0, score: [0, 0] });
  vi.advanceTimersByTime(5000);
}

describe("a duel", () => {
  it("counts three, two, one over a fresh match that stands, then lets it run", () => {
    duel.start();
    expect(session.show).toMatchObject({ mode: "human_vs_ai", speed: 1, playing: false, match: 1.5 });
    const seen: unknown[] = [];
    session.events.on("duel", () => seen.push(duel.phase.name === "countdown" ? duel.phase.count : duel.phase.name));
    expect(duel.phase).toEqual({ name: "countdown", count: 3 });
    vi.advanceTimersByTime(5000);
    expect(seen).toEqual([2, 1, "on"]);
    expect(session.show.playing).toBe(true);
  });

  it("ends at five goals, says who played and how long that version had trained, and stands", () => {
    begin();
    session.report({ tick: 500, score: [2, 4] });
    expect(duel.phase.name).toBe("on");
    session.report({ tick: 600, score: [2, 5] });
    expect(duel.phase).toEqual({ name: "over", goals: [2, 5], rival: "version 738", age: 51.7 });
    expect(session.show.playing).toBe(false);
    duel.leave();
    expect(session.show).toMatchObject({ mode: "sandbox", speed: 4, playing: true });
    expect(duel.phase.name).toBe("off");
  });

  it("ends after a minute of play, and begins again", () => {
    begin();
    session.report({ tick: 120 * 60 });
    expect(duel.phase).toMatchObject({ name: "over", goals: [0, 0] });
    duel.start();
    expect(duel.phase).toEqual({ name: "countdown", count: 3 });
    expect(session.show.match).toBe(2.5);
    vi.advanceTimersByTime(5000);
    session.report({ tick: 10, score: [0, 0], version: 0 });
    session.report({ tick: 20, score: [5, 0] });
    expect(duel.phase).toMatchObject({ name: "over", goals: [5, 0], rival: "the chaser", age: null });
  });

  it("is over without a word where somebody changes who plays, or runs the match on", () => {
    begin();
    session.setOwnShow({ mode: "ai_vs_ai" });
    expect(duel.phase.name).toBe("off");
    begin();
    session.report({ tick: 120 * 60 });
    session.setOwnShow({ playing: true });
    expect(duel.phase.name).toBe("off");
    session.shared = { ...session.shared, mode: "human_vs_ai" };
    begin();
    session.setOwnShow(null);
    expect(duel.phase.name, "in everybody's match, which a person plays, too").toBe("off");
    begin();
    session.setOwnShow({ match: 7 });
    expect(duel.phase.name, "another one of this page alone continues").toBe("on");
  });
});

describe("whom one meets in a duel", () => {
  it("is the policy, however the sandbox plays", () => {
    session.show = session.shared = { ...session.shared, opponent: "gold" };
    duel.start();
    expect(session.show.opponent).toBe("");
  });

  it("is the opponent that a person has chosen to play, also once more", () => {
    session.show = session.shared = { ...session.shared, mode: "human_vs_ai", opponent: "gold" };
    begin();
    session.report({ tick: 120 * 60 });
    expect(duel.phase).toMatchObject({ name: "over", rival: "gold", age: null });
    duel.start();
    expect(session.show.opponent).toBe("gold");
  });

  it("is the opponent of the match before anything is learned", () => {
    session.show = session.shared = { ...session.shared, opponent: "gold" };
    session.report({ version: 0 });
    duel.start();
    expect(session.show.opponent).toBe("gold");
  });
});

describe("what is said", () => {
  it("counts goals from where it began", () => {
    const begun = { tick: 100, score: [3, 4] as [number, number] };
    expect(outcome(begun, { tick: 200, score: [7, 5] }, 120)).toBeNull();
    expect(outcome(begun, { tick: 200, score: [8, 5] }, 120)).toEqual([5, 1]);
    expect(outcome(begun, { tick: 7300, score: [4, 4] }, 120)).toEqual([1, 0]);
  });

  it.each([
    [0.4, "1 second old"],
    [52.4, "52 seconds old"],
    [185, "3 minutes old"],
    [7300, "2 hours old"],
  ])("%d s are %s", (seconds, words) => expect(ageInWords(seconds)).toBe(words));
});
