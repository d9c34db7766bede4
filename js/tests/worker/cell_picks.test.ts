import { beforeEach, expect, it } from "vitest";
import type { DrillSpec, PointerInput } from "../../contract/protocol";
import { replay } from "../../match/replay";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { Look } from "../../renderer/palette";
import { CellPicks } from "../../worker/cell_picks";
import { TOY } from "../harness/toy_game";

const UNIT = 0.01; // world units per CSS pixel
const game = loadRules(TOY.javascript);
const spec: DrillSpec = {
  ...TOY.spec,
  actions: [
    { name: "move", options: ["stop", "forward", "back"] },
    { name: "dash", options: ["no", "yes"] },
  ],
  cells: { columns: 3, rows: 1, x0: -1.5, y0: -0.5, size: 1, choice: "move" },
  time_limit: 1e9,
};
let show: Show;
let picks: CellPicks;

beforeEach(() => {
  show = new Show(game, spec, 1, () => 0);
  show.setMode("human_vs_ai", "idle");
  picks = new CellPicks(show, { field: () => null, shapes: (_out, count) => count });
});

function point(kind: PointerInput["kind"], x: number, y: number, touch = false): void {
  picks.receive(0, { kind, pointer: 1, touch, x: 0, y: 0, t: 0 }, x, y, UNIT);
}
function click(x: number, y: number, touch = false): void {
  point("down", x, y, touch);
  point("up", x, y, touch);
}
/** Of each outlined cell: its middle and strength. */
function outlined(): [x: number, strength: number][] {
  const out = new Float32Array(40 * 12);
  const count = picks.shapes(out, 0, new Look(spec.palette, "light"));
  const found: [number, number][] = [];
  for (let k = 0; k < count; k += 4) found.push([Math.round((out[12 * k + 2]! + out[12 * k + 4]!) / 2), out[12 * k + 9]!]);
  return found;
}

it("makes the clicked cell the option of its choice, by mouse and by finger, beside what keys say", () => {
  click(1, 0);
  show.input({ code: "Space", down: true, t: 0 });
  show.stepBy("decision", 1);
  expect(show.state.action[0]).toBe(2 * 2 + 1);
  show.input({ code: "Space", down: false, t: 0 });
  click(0.1, 0.2, true);
  show.stepBy("decision", 2);
  expect(show.state.action[0]).toBe(1 * 2);
});

it("outlines the chosen cell, and more softly the one under the pointer", () => {
  expect(outlined()).toEqual([[-1, 1]]);
  point("move", 0.4, 0);
  expect(outlined()).toEqual([
    [0, 0.5],
    [-1, 1],
  ]);
  click(0.4, 0);
  expect(outlined()).toEqual([
    [0, 0.5],
    [0, 1],
  ]);
  point("leave", 9, 9);
  expect(outlined()).toEqual([[0, 1]]);
  click(1, 0, true);
  expect(outlined()).toEqual([[1, 1]]);
});

it("takes no drag and nothing beside the cells for a click", () => {
  point("down", 1, 0);
  point("up", 0.5, 0);
  click(1, 0.7);
  show.stepBy("decision", 1);
  expect(show.state.action[0]).toBe(0);
});

it("means nothing while nobody plays by hand, or in a drill without cells", () => {
  show.setMode("ai_vs_ai", "idle");
  click(1, 0, true);
  expect(outlined()).toEqual([]);
  show.takeOver(true);
  expect(outlined()).toEqual([[-1, 1]]);
  const plain = new Show(game, { ...spec, cells: null }, 1, () => 0);
  plain.setMode("human_vs_ai", "idle");
  const none = new CellPicks(plain, { field: () => null, shapes: (_out, count) => count });
  none.receive(0, { kind: "down", pointer: 1, touch: false, x: 0, y: 0, t: 0 }, 1, 0, UNIT);
  none.receive(0, { kind: "up", pointer: 1, touch: false, x: 0, y: 0, t: 0 }, 1, 0, UNIT);
  expect(none.shapes(new Float32Array(120), 0, new Look(spec.palette, "light"))).toBe(0);
});

it("is in the recording, which plays again", () => {
  click(1, 0);
  show.stepBy("decision", 3);
  const recording = show.recording();
  expect(recording.inputs).toContainEqual({ kind: "cell", option: 2, tick: 0 });
  expect(new Uint8Array(replay(game, spec, recording).buffer)).toEqual(new Uint8Array(show.state.buffer));
});
