/**
 * The trainer's worker. A first message START begins a run, which the others reach, and the worker ends with it; LANE_PORT makes it one of
 * the threads that play a run's games; or it has one task with a policy file.
 */
import { countWords } from "../contract/state";
import type { FromTrainer, ToTrainer } from "../contract/training";
import { comparedGpu, pageGpu } from "./engines/open_gpu";
import { decode, encode, type PolicyFile } from "./files/policy_file";
import { LaneOrders, type Post as LanePost } from "./games/lane";
import { Lanes, type ToLane } from "./games/lanes";
import { Modules } from "./games/modules";
import { ALGORITHM } from "./ppo/learner";
import { layersOf } from "./ppo/network";
import { freshPolicy, policyFile, Run } from "./run";
import { readSettings } from "./settings";

type Message<T extends ToTrainer["type"]> = Extract<ToTrainer, { type: T }>;

/** The parts of a worker's scope that it uses; the page's type library does not describe them. */
const scope = self as unknown as {
  postMessage(message: FromTrainer): void;
  close(): void;
  onmessage: ((event: MessageEvent<ToTrainer>) => void) | null;
};
const post = (message: FromTrainer) => scope.postMessage(message);
const early: ToTrainer[] = []; // what came before the run was there
let run: Run | null = null;

scope.onmessage = ({ data }) => {
  handle(data).catch((error: Error) => post({ type: "FAILED", text: error.message }));
};

async function handle(message: ToTrainer): Promise<void> {
  switch (message.type) {
    case "LANE_PORT":
      return playFor(message.port);
    case "START":
      return start(message);
    case "SAVE":
      if (run) await save(run, "SAVED");
      else early.push(message);
      return;
    case "FRESH": {
      const settings = readSettings(message.values);
      const modules = await Modules.load(message.spec, message.modules);
      return post({ type: "POLICY", ...freshPolicy(modules, layersOf(message.spec, settings), settings) });
    }
    case "PACK": {
      const file = policyFile(message.spec, message.policy, readSettings(message.values), message.metrics);
      return post({ type: "SAVED", version: file.version, file: await encode(file) });
    }
    case "READ":
      return read(message);
    default:
      if (run) run.receive(message);
      else early.push(message);
  }
}

async function start({ spec, modules: bytes, wgsl, prefer, compare, file, lanes: ports, ...job }: Message<"START">): Promise<void> {
  const modules = await Modules.load(spec, bytes);
  const saved = file && (await decode(file));
  const version = (saved ?? job.policy)?.version ?? 0;
  const lanes = ports.length ? await Lanes.start(modules, bytes, job.values, ports, version) : null;
  const other = prefer === "wasm" || compare ? null : pageGpu(modules, wgsl, prefer === "webgpu");
  run = new Run(post, modules, { ...job, file: saved }, lanes, other, compare ? { every: compare, open: comparedGpu } : null);
  await Promise.all(early.splice(0).map(handle));
  await run.train();
  await save(run, "STOPPED");
}

/** This is a thread of games: what comes through `port` are its orders. */
function playFor(port: MessagePort): void {
  const answer: LanePost = (message, transfer) => port.postMessage(message, transfer);
  const thread = new LaneOrders(answer);
  port.onmessage = ({ data }: MessageEvent<ToLane>) => {
    if (data.type === "END") scope.close();
    else void thread.receive(data);
  };
}

async function save(run: Run, type: "SAVED" | "STOPPED"): Promise<void> {
  const file = run.file(); // between two updates, as every message
  post({ type, version: file.version, file: await encode(file) });
}

/** Checks a file, and that it fits the drill. */
async function read({ spec, file, name }: Message<"READ">): Promise<void> {
  const fail = (why: string) => new Error(`'${name}' cannot be loaded: ${why}`);
  let found: PolicyFile;
  try {
    found = await decode(file);
  } catch (error) {
    throw fail((error as Error).message);
  }
  const { layers, algorithm, drill, state } = found;
  if (algorithm !== ALGORITHM) throw fail(`it was trained by the algorithm ${algorithm}, and this page trains by ${ALGORITHM}: load it in Python`);
  if (drill !== spec.name || layers[0] !== spec.n_obs || layers.at(-1) !== spec.n_actions + 1) throw fail(`it plays ${drill}, not ${spec.name}`);
  const { version, step, activation, weights, config } = found;
  const [kept, each] = [state["train.scenes"], countWords(spec.fields)];
  if (kept && (kept.dtype !== "U32" || kept.shape.length !== 2 || kept.shape[1] !== each)) throw fail(`its scenes are none of ${spec.name}`);
  const scenes = kept ? Array.from({ length: kept.shape[0]! }, (_, k) => kept.data.slice(k * each, (k + 1) * each)) : [];
  const values = config as Parameters<typeof readSettings>[0];
  const metrics = Object.fromEntries(Object.entries(found.metrics).filter((row): row is [string, number] => Number.isFinite(row[1])));
  const exact = found.rules_hash === spec.rules_hash;
  post({ type: "FILE", exact, policy: { version, step, layers: [...layers], activation, weights }, values, metrics, scenes });
}
