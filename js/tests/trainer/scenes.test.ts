/** Arranged scenes are measured before anything is learned from them. */
import { expect, test } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import type { FromTrainer } from "../../contract/training";
import { ScenePractice } from "../../trainer/games/scenes";

const SPEC = { baselines: [] } as unknown as DrillSpec;
const WEIGHTS = new Float32Array(1);

test("a new scene is measured before the next update, also one in another's place", () => {
  const measured: number[][] = [];
  const play = (_: unknown, __: unknown, matches: number, ___: number, scene: Uint32Array) => ({ wins: matches * scene[0]! }) as never;
  const post = (message: FromTrainer) => {
    if (message.type === "SCENES") measured.push(message.rows.map(({ share }) => share));
  };
  const practice = new ScenePractice(SPEC, 0, play as never, post as never);
  practice.beforeUpdate(WEIGHTS, 1);
  expect(measured).toEqual([]);
  practice.set([Uint32Array.of(1)]);
  practice.beforeUpdate(WEIGHTS, 1);
  practice.beforeUpdate(WEIGHTS, 2);
  expect(measured).toEqual([[1]]);
  practice.set([Uint32Array.of(2)]);
  practice.beforeUpdate(WEIGHTS, 2);
  practice.set([]);
  practice.beforeUpdate(WEIGHTS, 2);
  expect(measured).toEqual([[1], [2]]);
});
