/** A run in Node, update by update, from the weights and settings it is given: tests/page_training compares it with Python's. */
import type { DrillSpec } from "../../contract/protocol";
import type { Values } from "../../contract/training";
import { Modules } from "../../trainer/games/modules";
import { Rollouts } from "../../trainer/games/rollouts";
import { LANES } from "../../trainer/games/samples";
import { Learner } from "../../trainer/ppo/learner";
import { layersOf } from "../../trainer/ppo/network";
import { makePlan } from "../../trainer/ppo/plan";
import { hyperAt } from "../../trainer/ppo/schedule";
import { readSettings } from "../../trainer/settings";

interface Order {
  spec: DrillSpec;
  learner: string; // base64
  drill: string;
  values: Values;
  weights: string; // f32, base64
  updates: number;
  scenes: string[]; // base64 of each
}

const bytes = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const text = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("base64");

/** What each update began with, said and led to. */
export default async function lockstep({ spec, learner, drill, values, weights, updates, scenes }: Order): Promise<unknown> {
  const modules = await Modules.load(spec, { learner: bytes(learner), drill: bytes(drill) });
  const settings = readSettings(values);
  const plan = makePlan(modules, layersOf(spec, settings), settings.activation, settings.separate_value_net, settings.rollout_length);
  const learning = new Learner(modules, plan, settings, new Float32Array(bytes(weights)));
  const games = new Rollouts(modules, plan, settings);
  games.practise(scenes.map((scene) => new Uint32Array(bytes(scene))));
  const tiles = () => games.state()["train.tiles"]!.data as Uint8Array;
  const begin = text(tiles());
  const rows: unknown[] = [];
  let steps = 0;
  for (let k = 0; k < updates; k++) {
    const experience = games.play(learning.at, settings);
    const hyper = hyperAt(settings, steps);
    const learned = learning.update(experience, hyper);
    steps += experience.units.length * LANES;
    rows.push({ hyper, learned, stats: [...experience.stats].map((x) => (Number.isFinite(x) ? x : null)), weights: text(learning.weights) });
  }
  return { begin, end: text(tiles()), units: [...games.units], rows };
}
