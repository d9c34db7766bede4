import { describe, expect, it } from "vitest";
import { replay } from "../../../match/replay";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { TOY } from "../../../tests/harness/toy_game";
import { Ahead, checkSum, type Wanted } from "../ahead";

const REPEAT = TOY.spec.action_repeat;

/** A show whose policy is elsewhere, and what is there: the same match, played ahead by fixed actions. */
class Elsewhere {
  readonly show = new Show(loadRules(TOY.javascript), TOY.spec, 3, () => 0);
  readonly ahead = new Ahead();
  readonly plans: Wanted[] = [];

  constructor() {
    this.show.deciders.add({ elsewhere: this.ahead });
    this.ahead.set(true);
  }

  frames(count: number): void {
    for (let k = 0; k < count; k++) this.show.advance(1 / 60);
  }

  /** The plan that the show wants now. */
  wanted(): Wanted | null {
    const wanted = this.ahead.takeWanted();
    if (wanted) this.plans.push(wanted);
    return wanted;
  }

  /** Decisions of the newest plan: forward, always. */
  decide(count: number, version = 7, action = 2): void {
    const { plan, tick, state, repeat } = this.plans.at(-1)!;
    const game = loadRules(TOY.javascript);
    const copy = game.create(state.slice(0));
    const decisions = Array.from({ length: count }, (_, k) => {
      const made = [tick + k * repeat, checkSum(copy.buffer), action, 0];
      copy.action.set([action, 0]);
      game.decide(copy);
      for (let each = 0; each < repeat; each++) game.tick(copy);
      return made;
    });
    this.ahead.add(plan, version, decisions);
  }
}

describe("a policy elsewhere", () => {
  it("is asked anew where the match is reset, though nothing came of what was asked before", () => {
    const away = new Elsewhere();
    away.frames(5);
    const first = away.wanted()!;
    away.frames(5);
    expect(away.wanted()).toBeNull();
    away.show.reset(4);
    away.frames(5);
    expect(away.wanted()).toMatchObject({ plan: first.plan + 1, tick: 0 });
    away.decide(2);
    away.frames(30);
    expect(away.show.tick).toBe(2 * REPEAT);
  });

  it("is waited for, and its decisions are carried out", () => {
    const away = new Elsewhere();
    away.frames(30);
    expect(away.show.tick).toBe(0);
    expect(away.wanted()).toMatchObject({ tick: 0, repeat: REPEAT, opponent: "pusher" });
    expect(away.wanted()).toBeNull();
    away.decide(5);
    away.frames(30);
    expect([away.show.tick, away.show.version]).toEqual([5 * REPEAT, 7]);
    expect(away.ahead.takeDecided()).toMatchObject({ tick: 4 * REPEAT, left: 0 });
    expect(away.ahead.takeDecided()).toBeNull();
    expect(away.show.takeEvents().map(({ kind, version }) => `${kind} ${version}`)).toContain("swap 7");
    expect(away.wanted()).toBeNull(); // more of the same plan will do
  });

  it("gets another plan where a hand changed the match", () => {
    const away = new Elsewhere();
    away.frames(1);
    away.wanted();
    away.decide(20);
    away.frames(10);
    const [ball] = away.show.bodies;
    away.show.hand.hold(ball!, 1, 0, 0, 0);
    away.show.hand.throw(ball!, 0, 0);
    away.frames(10);
    const again = away.wanted()!;
    expect(again.plan).toBeGreaterThan(away.plans[0]!.plan);
    expect(new Uint8Array(again.state)).toEqual(new Uint8Array(away.show.state.buffer));
    const stood = away.show.tick;
    away.ahead.add(away.plans[0]!.plan, 7, [[stood, checkSum(away.show.state.buffer), 0, 0]]);
    away.frames(10);
    expect(away.show.tick).toBe(stood); // decisions of a void plan count for nothing
    away.decide(2);
    away.frames(10);
    expect(away.show.tick).toBe(stood + 2 * REPEAT);
  });

  it("leaves the match to a person, and takes up where the person ends", () => {
    const away = new Elsewhere();
    away.show.takeOver(true);
    away.frames(30);
    expect(away.show.tick).toBeGreaterThan(30);
    expect(away.wanted()).toBeNull();
    away.show.takeOver(false);
    away.frames(10);
    expect(away.wanted()!.tick).toBe(away.show.tick);
  });

  it("is asked again when opponent, decisions or match become others", () => {
    const away = new Elsewhere();
    const again = (change: () => void) => {
      away.frames(2);
      away.wanted();
      away.decide(30);
      change();
      away.frames(20);
      return away.wanted();
    };
    expect(again(() => away.show.setMode("sandbox", "idle"))).toMatchObject({ opponent: "idle" });
    expect(again(() => away.show.setActionRepeat(2))).toMatchObject({ repeat: 2 });
    expect(again(() => away.show.reset(9))).toMatchObject({ tick: 0 });
  });

  it("is stepped as soon as its decision is there", () => {
    const away = new Elsewhere();
    away.show.stepBy("decision", 3);
    away.wanted();
    expect(away.show.tick).toBe(0);
    away.decide(2);
    away.frames(1);
    expect([away.show.tick, away.show.playing]).toEqual([2 * REPEAT, false]);
    away.decide(0);
    away.show.play();
    away.show.pause();
    away.frames(5);
    expect(away.show.tick).toBe(2 * REPEAT); // what was owed is let go
  });

  it("can be recorded and played again", () => {
    const away = new Elsewhere();
    away.frames(1);
    away.wanted();
    away.decide(30);
    away.frames(120);
    const recording = away.show.recording();
    expect(recording.ticks).toBe(30 * REPEAT);
    const again = replay(loadRules(TOY.javascript), TOY.spec, recording);
    expect(checkSum(again.buffer)).toBe(checkSum(away.show.state.buffer));
  });
});
