/**
 * A small game by hand with the interface that the kernel's JavaScript back end gives: two players push a ball along the x axis.
 * Side 0 attacks +x. Actions: move (stop, forward, back) x dash (no, yes); forward is toward the other's goal.
 */
import type { DrillTrait } from "../../contract/protocol";
import { PLAIN } from "./plain";

const javascript = `"use strict";
const words = 15;
const fields = [["rng_key", "u32", 0], ["rng_count", "u32", 0], ["practice", "i32", 0], ["ticks", "i32", 0], ["action", "i32", 2],
  ["ball_px", "f32", 0], ["ball_py", "f32", 0], ["ball_vx", "f32", 0], ["ball_vy", "f32", 0],
  ["px", "f32", 2], ["target", "f32", 2], ["goal", "i32", 0]];
function create(buffer = new ArrayBuffer(words * 4)) {
  const s = { buffer };
  const views = { u32: Uint32Array, i32: Int32Array, f32: Float32Array };
  let at = 0;
  for (const [name, type, length] of fields) {
    s[name] = new views[type](buffer, at, Math.max(length, 1));
    at += 4 * Math.max(length, 1);
  }
  return s;
}
function draw(s) {
  s.rng_count[0] += 1;
  return ((Math.imul(s.rng_key[0] ^ s.rng_count[0], 0x9e3779b1) >>> 8) & 0xffff) / 0x10000;
}
function reset(s) {
  new Uint32Array(s.buffer).fill(0, 3);
  s.px[0] = -1 - draw(s);
  s.px[1] = 1 + draw(s);
}
function decide(s) {
  for (let side = 0; side < 2; side++) {
    const move = Math.floor(s.action[side] / 2);
    const dash = s.action[side] % 2;
    s.target[side] = (side === 0 ? 1 : -1) * (move === 1 ? 1 : move === 2 ? -1 : 0) * (dash ? 6 : 3);
  }
}
function tick(s) {
  for (let side = 0; side < 2; side++) {
    s.px[side] = Math.max(-3.5, Math.min(3.5, s.px[side] + s.target[side] / 120));
    const away = s.ball_px[0] - s.px[side];
    if (Math.abs(away) < 0.5) s.ball_vx[0] = (away < 0 ? -1 : 1) * 5;
  }
  s.ball_vx[0] *= 0.996;
  s.ball_px[0] += s.ball_vx[0] / 120;
  s.goal[0] = s.ball_px[0] > 4 ? 1 : s.ball_px[0] < -4 ? -1 : 0;
  s.ticks[0] += 1;
}
function observe(s, side, out) {
  const toward = side === 0 ? 1 : -1;
  out[0] = toward * s.ball_px[0] / 4;
  out[1] = s.ball_vx[0] * toward / 10;
  out[2] = toward * s.px[side] / 4;
}
function scene(s, out) {
  const put = (k, ...shape) => { for (let j = 0; j < 12; j++) out[k * 12 + j] = shape[j] ?? 0; };
  put(0, 1, 0, 0, 0, 4, 2, 1, 0, 0, 1);
  for (let side = 0; side < 2; side++) put(1 + side, 1, 1 + side, s.px[side], 0, 0.3, 0.3, 1, 0, 0.1, 1);
  put(3, 0, 3, s.ball_px[0], s.ball_py[0], 0.2, 0, 0, 0, 0, 1);
  return 4;
}
return { words, fields, create, reset, decide, tick, observe, scene,
  terms: (s, side, out) => { out[0] = (side === 0 ? 1 : -1) * s.goal[0]; },
  terminated: (s) => s.goal[0] !== 0,
  winner: (s) => s.goal[0],
  random: (s, out) => { for (let side = 0; side < 2; side++) out[side] = Math.floor(draw(s) * 6); },
  baselines: { pusher: (s, side) => 2 } };
`;

export const TOY: DrillTrait = {
  javascript,
  spec: {
    ...PLAIN,
    name: "toy",
    title: "Toy",
    sides: 2,
    tick_rate: 120,
    action_repeat: 4,
    time_limit: 600,
    world: [-4.5, -2.5, 4.5, 2.5],
    mirrored: true,
    fields: [],
    actions: [
      { name: "move", options: ["stop", "forward", "back"] },
      { name: "dash", options: ["no", "yes"] },
    ],
    n_actions: 6,
    keys: { KeyW: ["move", "forward"], KeyS: ["move", "back"], Space: ["dash", "yes"] },
    observations: ["ball ahead", "ball speed", "self"].map((name) => ({ name, scale: 1, unit: "u", help: "" })),
    n_obs: 3,
    terms: [{ name: "goal", weight: 1, kind: "reward", help: "" }],
    baselines: ["pusher"],
    drag: [{ name: "ball", x: "ball_px", y: "ball_py", vx: "ball_vx", vy: "ball_vy", kind: "ball", index: 0 }],
    scene_max: 8,
    palette: ["turf", "player0", "player1", "ball"],
    rules_hash: "toy",
  },
};
