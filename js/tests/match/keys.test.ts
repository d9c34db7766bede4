import { describe, expect, it } from "vitest";
import { Keys } from "../../match/keys";
import { TOY } from "../harness/toy_game";

const down = (code: string) => ({ code, down: true, t: 0 });
const up = (code: string) => ({ code, down: false, t: 0 });

describe("Keys", () => {
  it("combines held keys into one action, the first choice most significant", () => {
    const keys = new Keys(TOY.spec);
    expect(keys.take()).toBe(0);
    keys.event(down("KeyW"));
    expect(keys.take()).toBe(2);
    keys.event(down("Space"));
    expect(keys.take()).toBe(3);
    keys.event(up("KeyW"));
    expect(keys.take()).toBe(1);
  });

  it("lets the latest key of a choice win, and the earlier one come back", () => {
    const keys = new Keys(TOY.spec);
    keys.event(down("KeyW"));
    keys.event(down("KeyS"));
    expect(keys.take()).toBe(4);
    keys.event(up("KeyS"));
    expect(keys.take()).toBe(2);
  });

  it("counts a tap between two decisions once", () => {
    const keys = new Keys(TOY.spec);
    keys.event(down("Space"));
    keys.event(up("Space"));
    expect(keys.take()).toBe(1);
    expect(keys.take()).toBe(0);
  });

  it("keeps what a pointer chose until another is chosen, and lets keys go before it", () => {
    const keys = new Keys(TOY.spec);
    keys.choose(0, 2);
    expect([keys.take(), keys.take(), keys.chosenOf(0), keys.chosenOf(1)]).toEqual([4, 4, 2, 0]);
    keys.event(down("KeyW"));
    keys.event(down("Space"));
    expect(keys.take()).toBe(3);
    keys.event(up("KeyW"));
    expect(keys.take()).toBe(5);
    keys.releaseAll();
    expect(keys.take()).toBe(0);
  });

  it("ignores keys the drill has not, and forgets all when let go", () => {
    const keys = new Keys(TOY.spec);
    keys.event(down("KeyP"));
    keys.event(down("KeyW"));
    keys.releaseAll();
    expect(keys.take()).toBe(0);
  });

  it("refuses a binding to an option the drill has not", () => {
    const spec = { ...TOY.spec, keys: { KeyX: ["move", "fly"] as [string, string] } };
    expect(() => new Keys(spec)).toThrow('Key KeyX is set to "move: fly"');
  });
});
