/** A whole run in Node, from the settings or a `.dshq` file that it is given to a number of updates more: tests/page_training. */
import type { DrillSpec } from "../../contract/protocol";
import type { FromTrainer, ToTrainer, Values } from "../../contract/training";
import { decode, encode } from "../../trainer/files/policy_file";
import { Modules } from "../../trainer/games/modules";
import { Run } from "../../trainer/run";

interface Order {
  spec: DrillSpec;
  learner: string; // base64
  drill: string;
  values: Values;
  file: string; // "": begin untrained
  updates: number;
  scenes: string[];
  paused: number; // ms that it begins with, at rest
}

const bytes = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** What it said, and the file at its end. */
export default async function pageRun({ spec, learner, drill, values, file, updates, scenes, paused }: Order): Promise<unknown> {
  const said: FromTrainer[] = [];
  const modules = await Modules.load(spec, { learner: bytes(learner).buffer, drill: bytes(drill).buffer });
  let left = updates;
  const post = (message: FromTrainer) => {
    said.push(message);
    if (message.type === "POLICY" && message.version > 0 && --left === 0) run.receive({ type: "STOP" });
  };
  const given = file ? await decode(bytes(file)) : null;
  const words = scenes.map((scene) => new Uint32Array(bytes(scene).buffer));
  const run = new Run(post, modules, {
    values,
    file: given,
    policy: null,
    metrics: given ? (given.metrics as Record<string, number>) : {},
    paused: paused > 0,
    asked: 0,
    scenes: words,
  });
  if (paused > 0) setTimeout(() => run.receive({ type: "RESUME_TRAINING" }), paused);
  await run.train();
  const kinds = said.map(({ type }) => type);
  const metrics = said.filter((message) => message.type === "METRICS").at(-1);
  const league = said.filter((message) => message.type === "LEAGUE").at(-1);
  const measured = said.find((message) => message.type === "SCENES");
  return { kinds, metrics, league, measured, file: Buffer.from(await encode(run.file())).toString("base64") };
}

/** What the worker says of a run that is asked for its file, and then stopped, before it is there. */
export async function askedEarly({ spec, learner, drill, values }: Order): Promise<unknown> {
  const kinds: string[] = [];
  const scope = { postMessage: (_message: FromTrainer) => {}, onmessage: (_event: { data: unknown }) => {} };
  Object.assign(globalThis, { self: scope });
  await import("../../trainer/worker");
  const start = { type: "START", spec, modules: { learner: bytes(learner).buffer, drill: bytes(drill).buffer }, values, file: null, policy: null };
  const more = { metrics: {}, paused: false, asked: 0, scenes: [], wgsl: "", prefer: "wasm", compare: 0, lanes: [] };
  const orders: ToTrainer[] = [{ ...start, ...more } as ToTrainer, { type: "SAVE" }, { type: "STOP" }];
  await new Promise<void>((done) => {
    scope.postMessage = (message) => {
      kinds.push(message.type);
      if (message.type === "STOPPED" || message.type === "FAILED") done();
    };
    for (const data of orders) scope.onmessage({ data });
  });
  return kinds;
}
