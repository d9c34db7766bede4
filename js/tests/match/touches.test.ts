import { describe, expect, it } from "vitest";
import type { DrillSpec, Handle } from "../../contract/protocol";
import { Body } from "../../match/handles";
import { Touches } from "../../match/touches";

const RATE = 100;
const handle = (name: string, kind: Handle["kind"], index = 0): Handle => ({
  name,
  kind,
  index,
  x: `${name}x`,
  y: `${name}y`,
  vx: `${name}vx`,
  vy: `${name}vy`,
});

/** A ball and a player on a field ten wide, moved by hand. */
function field(sides = 2) {
  const names = ["b", "p"].flatMap((thing) => ["x", "y", "vx", "vy"].map((axis) => thing + axis));
  const state = Object.fromEntries(names.map((name) => [name, new Float32Array(1)])) as Record<string, Float32Array>;
  const bodies = [new Body(state, handle("b", "ball")), new Body(state, handle("p", "player"))];
  const spec = { sides, tick_rate: RATE, world: [-5, -3, 5, 3] } as DrillSpec;
  const touches = new Touches(spec, bodies);
  const run = (seconds: number, version = 0) => {
    for (let k = 0; k < seconds * RATE; k++) touches.ticked(version);
  };
  return { touches, run, ball: bodies[0]!, player: bodies[1]! };
}

describe("what a match comes to", () => {
  it("counts touches, shots and goals a minute", () => {
    const { touches, run, ball, player } = field();
    run(9);
    expect(touches.report(), "too little was played").toBeNull();
    run(1);
    ball.put(0, 0, 1, 0); // a slow push
    run(5);
    ball.put(0, 0, 8, 0); // a shot
    run(1);
    touches.scored();
    run(4);
    expect(touches.report()).toEqual({ now: { touches: 6, shots: 3, goals: 3 }, untrained: null });
    player.put(4, 2, 0, 0);
    ball.put(-5, 0, -8, 0); // off a wall, nobody near
    run(1);
    expect(touches.report()!.now.touches).toBe(6);
  });

  it("counts one touch of a ball that is pushed along, and none where it is put somewhere", () => {
    const { touches, run, ball } = field();
    run(10);
    for (let k = 1; k <= 10; k++) {
      ball.put(0, 0, k, 0);
      run(1 / RATE);
    }
    run(5);
    touches.begin();
    ball.put(0, 0, 0, 0);
    run(1);
    expect(Math.round((touches.report()!.now.touches / 60) * 16)).toBe(1);
  });

  it("counts no fewer shots than goals: a ball that is pushed over the line was one, too", () => {
    const { touches, run, ball } = field();
    run(10);
    ball.put(4, 0, 0.2, 0);
    run(5);
    touches.scored();
    run(3);
    touches.scored();
    expect(touches.report()!.now).toMatchObject({ shots: 7, goals: 7 });
  });

  it("remembers how it was before anything was learned", () => {
    const { touches, run, ball } = field();
    run(10);
    ball.put(0, 0, 1, 0);
    run(10);
    run(25, 1);
    expect(touches.report()).toEqual({ now: { touches: 0, shots: 0, goals: 0 }, untrained: { touches: 3, shots: 0, goals: 0 } });
  });

  it("has nothing to say where there is no opponent", () => {
    const { touches, run } = field(1);
    run(30);
    expect(touches.report()).toBeNull();
  });
});
