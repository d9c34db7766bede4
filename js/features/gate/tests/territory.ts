/** A game by hand with the state that the gate reads, and networks that always propose the same spawn. */
import type { DrillTrait } from "../../../contract/protocol";
import { Policy } from "../../../match/network/policy";
import { loadRules } from "../../../match/rules";
import { Show } from "../../../match/show";
import { PLAIN } from "../../../tests/harness/plain";
import { beginParts } from "../../../worker/parts";
import { CHUNKS } from "../gate";
import type { Gatekeeper } from "../gatekeeper";
import type { GateSettings } from "../messages";
import type { GateOverlay } from "../overlay";
import { gate } from "../worker";

const javascript = `"use strict";
const fields = [["rng_key", "u32", 1], ["rng_count", "u32", 1], ["practice", "i32", 1], ["ticks", "i32", 1], ["action", "i32", 1],
  ["worker_chunk", "i32", 8], ["protector_chunk", "i32", 3], ["queen_energy", "f32", 1], ["spawned_at", "i32", 400], ["spawn_survived", "i32", 1]];
const words = fields.reduce((sum, field) => sum + field[2], 0);
function create(buffer = new ArrayBuffer(words * 4)) {
  const s = { buffer };
  const views = { u32: Uint32Array, i32: Int32Array, f32: Float32Array };
  let at = 0;
  for (const [name, type, length] of fields) {
    s[name] = new views[type](buffer, at, length);
    at += 4 * length;
  }
  return s;
}
function reset(s) {
  new Uint32Array(s.buffer).fill(0, 3);
  s.worker_chunk.fill(210);
  s.protector_chunk.fill(-1);
  s.queen_energy[0] = 60;
}
function decide(s) {
  const kind = Math.floor(s.action[0] / 400);
  if (kind > 0) {
    s.queen_energy[0] -= kind === 1 ? 15 : 25;
    s.spawned_at[s.action[0] % 400] = s.ticks[0];
  }
  s.spawn_survived[0] = kind > 0 ? 1 : 0;
}
function scene(s, out) {
  out.fill(0, 0, 12);
  return 1;
}
return { words, fields, create, reset, decide, scene,
  tick: (s) => { s.ticks[0]++; },
  observe: (s, side, out) => { out[0] = 1; },
  mask: (s, side, out) => { out.forEach((_, a) => { out[a] = a < 400 ? a === 0 : s.queen_energy[0] >= (a < 800 ? 15 : 25); }); },
  terms: (s, side, out) => { out[0] = s.action[0] > 0 ? 0.25 : -0.5; },
  terminated: () => false, winner: () => 0, random: (s, out) => { out[0] = 0; }, baselines: {} };
`;

export const TERRITORY: DrillTrait = {
  javascript,
  spec: {
    ...PLAIN,
    name: "territory",
    title: "Territory Drill",
    sides: 1,
    tick_rate: 1,
    action_repeat: 15,
    time_limit: 600,
    world: [-1, -1, 20, 20],
    mirrored: false,
    fields: [],
    actions: [
      { name: "type", options: ["wait", "energy", "combat"] },
      { name: "chunk", options: Array.from({ length: CHUNKS }, (_, k) => `chunk ${k}`) },
    ],
    n_actions: 3 * CHUNKS,
    keys: {},
    observations: [{ name: "one", scale: 1, unit: "", help: "" }],
    n_obs: 1,
    terms: [{ name: "result", weight: 1, kind: "reward", help: "" }],
    baselines: [],
    drag: [],
    scene_max: 1,
    palette: ["floor", "target"],
    rules_hash: "territory",
  },
};

export const SETTINGS: GateSettings = {
  survival_weight: 0.4,
  disruption_weight: 0.5,
  location_weight: 0.1,
  threshold: 0.6,
  mode: "gated",
  epsilon: 0.2,
};

/** A network that is almost sure of one action; waiting is as likely to it as everything else. */
export function sureOf(action: number, version = 1): Policy {
  const blob = new Float32Array(2 * (3 * CHUNKS + 1));
  blob[3 * CHUNKS + 1 + action] = 30;
  return new Policy(version, [1, 3 * CHUNKS + 1], "relu", blob);
}

/** A match of it with a gate. */
export function gatedShow(action: number, settings: GateSettings | null = SETTINGS): { show: Show; gatekeeper: Gatekeeper; overlay: GateOverlay } {
  const show = new Show(loadRules(TERRITORY.javascript), TERRITORY.spec, 1, () => 0);
  const [part] = beginParts([gate], { show, post: () => undefined });
  show.setPolicy(sureOf(action));
  const { decider, layer } = part as { decider: Gatekeeper; layer: GateOverlay };
  decider.set(settings);
  return { show, gatekeeper: decider, overlay: layer };
}
