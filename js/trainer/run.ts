/**
 * One training run in the page: play, learn, publish, report, in a loop. dshq_widget/learning/run.py with the parts of PPO on drills. The loop
 * lets messages in after every update.
 */
import type { Activation, DrillSpec, LeagueRow, MetricsRow } from "../contract/protocol";
import type { ToTrainer, TrainedPolicy, Values } from "../contract/training";
import { competitionFor } from "./competitions";
import { Draws } from "./draws";
import { type Asked, Comparison } from "./engines/comparison";
import type { Engine, Update } from "./engines/engine";
import { FasterEngine, type Other } from "./engines/faster";
import { WasmEngine } from "./engines/wasm";
import { EntropyGuard } from "./exploration";
import { general } from "./files/format";
import type { PolicyFile } from "./files/policy_file";
import { number, type Tensors } from "./files/tensors";
import { Evaluator } from "./games/evaluator";
import type { Kernels } from "./games/kernels";
import type { Lanes } from "./games/lanes";
import { Matches } from "./games/matches";
import type { Modules } from "./games/modules";
import { ScenePractice } from "./games/scenes";
import { Pace } from "./pace";
import type { Contest, Post, Steered } from "./parts";
import { ALGORITHM, Learner } from "./ppo/learner";
import { layersOf, untrained } from "./ppo/network";
import { makePlan } from "./ppo/plan";
import { hyperAt } from "./ppo/schedule";
import { readSettings, type Settings } from "./settings";
import { DRAWS, RUN } from "./tables";
import { Tally } from "./tally";

const REPORTED = ["learning_rate", "entropy_coef"] as const; // settings that are metrics
const SIGN_OF_LIFE_MS = 500;
const KERNELS = ["train.targets"]; // what a file has of a kernel's run, and a page has no part for: it continues in the next file

/** How a run begins. */
type Job = Omit<Extract<ToTrainer, { type: "START" }>, "type" | "spec" | "modules" | "wgsl" | "prefer" | "compare" | "file" | "lanes"> & {
  file: PolicyFile | null;
};

export class Run implements Steered {
  readonly engine: Engine;
  settings: Settings;
  agentSteps: number;
  updates = 0;
  version: number;
  rate = 1; // factor of the learning rate after setbacks
  private seconds = 0; // playing and learning
  private skips = 0; // bad updates in a row
  private good = 0; // updates since the last revert, or since the learning rate was last raised again
  private reverts = 0; // reverts without a good update in between
  private metrics: MetricsRow;
  private published: Float32Array; // weights of `version`
  private tally = new Tally(0);
  private stopping = false;
  private wake: (() => void) | null = null;
  private beaten = Number.NEGATIVE_INFINITY; // ms, when it last said that it rests
  private ofKernel: Tensors = {};
  private place = ""; // where it trains, as the page was informed
  private readonly layers: readonly number[];
  private readonly pace: Pace;
  private readonly evaluator: Evaluator;
  private readonly contest: Contest | null;
  private readonly exploration = new EntropyGuard();
  private readonly scenes: ScenePractice;

  constructor(
    private readonly post: Post,
    private readonly modules: Modules,
    job: Job,
    lanes: Lanes | null = null,
    other: Other | null = null, // what may play and learn in place of WebAssembly
    asked: Asked | null = null, // for debugging: what learns beside WebAssembly
  ) {
    const { spec } = modules;
    this.settings = readSettings(job.values);
    const { activation, separate_value_net: separate, seed } = this.settings;
    const layers = layersOf(spec, this.settings);
    const given = job.file ?? job.policy;
    const fits = given !== null && given.activation === activation && String(given.layers) === String(layers);
    const begun = fits ? given : freshPolicy(modules, layers, this.settings);
    const plan = makePlan(modules, layers, activation, separate, this.settings.rollout_length);
    this.layers = layers;
    const comparison = asked && new Comparison(spec, new Learner(modules, plan, this.settings, begun.weights), asked, (text) => this.warn(text));
    const home = new WasmEngine(modules, plan, this.settings, begun.weights, lanes, comparison, (text) => this.warn(text));
    this.engine = new FasterEngine(home, other, (text) => this.warn(text), begun.version);
    const { play } = new Matches(modules, { layers, activation });
    this.evaluator = new Evaluator(spec, seed, play);
    this.contest = competitionFor(this.settings)?.(this, spec, plan, play, modules) ?? null;
    this.scenes = new ScenePractice(spec, seed, play, post);
    this.pace = new Pace(job.paused, job.asked);
    this.agentSteps = begun.step;
    this.version = begun.version;
    this.published = begun.weights;
    this.metrics = fits ? { ...job.metrics } : {};
    if (fits) this.resume(job.file);
    else this.post({ type: "POLICY", ...this.policy });
    this.practise(job.scenes);
  }

  /** Trains until stopped. Rejects with an Error of one sentence if it cannot continue. */
  async train(): Promise<void> {
    this.tellPlace();
    this.contest?.begin();
    let evaluated = performance.now();
    this.tally = new Tally(evaluated);
    while (!this.stopping) {
      const rest = this.pace.rest(performance.now() / 1000, this.settings.pace);
      if (rest > 0) {
        await this.rest(rest);
        continue;
      }
      const before = performance.now();
      this.scenes.beforeUpdate(this.published, this.version);
      const begin = performance.now();
      const update = await this.engine.update(this.settings, this.hyper);
      this.tellPlace();
      this.follow(update);
      const now = performance.now();
      this.tally.add(update);
      this.seconds += (now - begin) / 1000;
      this.explore(update);
      this.contest?.afterUpdate(update.learned);
      this.pace.made(begin / 1000, update.agentSteps);
      if (performance.now() - evaluated >= 1000 * this.evaluator.pause(this.settings)) {
        this.evaluator.play(this.engine.weights);
        evaluated = performance.now();
      }
      this.tally.leaveOut(begin - before + performance.now() - now); // what is neither playing nor learning
      if (this.tally.spent(performance.now()) >= 1000 * RUN.report_seconds) this.report(performance.now());
      await turn();
    }
    if (this.tally.updates) this.report(performance.now());
    this.engine.close();
  }

  /** A message from the page. */
  receive(message: ToTrainer): void {
    switch (message.type) {
      case "STOP":
        this.stopping = true;
        break;
      case "SET_HYPER": {
        const paid = this.settings.reward_weights;
        this.settings = { ...this.settings, ...readSettings({ [message.key]: message.value }) };
        this.tellIfRewardsChanged(paid);
        break;
      }
      case "PAUSE_TRAINING":
        this.pace.pause();
        break;
      case "RESUME_TRAINING":
        this.pace.resume();
        break;
      case "NEXT_UPDATE":
        this.pace.nextUpdate();
        break;
      case "SCENES":
        this.practise(message.scenes);
        break;
      default:
        return;
    }
    this.wake?.();
  }

  // ---- updates, and what follows from bad ones

  /** Loads other weights with a fresh optimiser, and publishes them at once. */
  replaceWeights(weights: Float32Array): void {
    this.engine.load(weights);
    this.contest?.weightsReplaced();
    this.publish();
  }

  /** Halves the learning rate after a setback, down to a lower limit; good updates raise it again. */
  slowDown(): void {
    [this.rate, this.good] = [Math.max(this.rate * RUN.rollback_rate, RUN.least_rate), 0];
  }

  warn(text: string): void {
    this.post({ type: "WARNING", text });
  }

  sendLeague(rows: LeagueRow[]): void {
    this.post({ type: "LEAGUE", rows });
  }

  /** The settings of the next update. */
  get hyper() {
    return hyperAt(this.settings, this.agentSteps, this.rate, this.exploration.bonus);
  }

  /** Publishes what an update led to, or reverts it. */
  private follow({ agentSteps, skipped, learned }: Update): void {
    this.agentSteps += agentSteps;
    if (skipped) this.engine.mend();
    const taught = learned.loss_value !== undefined;
    if (taught || !skipped) {
      if (!this.engine.weights.every(Number.isFinite)) {
        this.goBack("the learner's weights are not finite");
        return;
      }
      this.publish(); // what other minibatches taught is in the learner already
      this.updates += 1;
    }
    if (skipped) {
      this.skip(skipped, taught);
      return;
    }
    this.skips = this.reverts = 0;
    this.good += 1;
    if (this.good >= RUN.recovery) [this.rate, this.good] = [Math.min(this.rate / RUN.rollback_rate, 1), 0];
  }

  private publish(): void {
    this.version += 1;
    this.published = this.engine.weights;
    this.post({ type: "POLICY", ...this.policy });
  }

  private skip(minibatches: number, partly: boolean): void {
    this.skips += 1;
    const what = `${minibatches} minibatches had a non-finite gradient; check the rewards and observations`;
    if (this.skips >= RUN.most_skips) this.goBack(`${this.skips} updates in a row were skipped; in the last one ${what}`);
    else if (this.skips === 1) this.warn(`an update was skipped${partly ? " in part" : ""}: ${what}`);
  }

  /** Reverts to the last published weights with a fresh optimiser and a smaller learning rate. */
  private goBack(why: string): void {
    this.reverts += 1;
    if (this.reverts > RUN.most_reverts) {
      throw new Error(`training failed: it reverted to the last good weights ${RUN.most_reverts} times in a row; the last time because ${why}`);
    }
    this.skips = 0;
    this.slowDown();
    this.engine.load(this.published);
    this.warn(`reverted to version ${this.version}; continuing with the learning rate times ${general(this.rate)}: ${why}`);
  }

  /** Reverts to weights that still explored when the policy has stopped exploring: learning/exploration.py. */
  private explore({ learned, meanReturn }: Update): void {
    if (this.skips || this.reverts || learned.entropy === undefined) return; // no update was made
    const guard = this.exploration;
    const problem = guard.afterUpdate(learned.entropy, meanReturn, this.settings.min_entropy, this.published);
    if (!problem) return;
    if (guard.awake) this.replaceWeights(guard.awake);
    const done = guard.awake ? "reverted to an earlier policy that still explored; continuing" : "continuing";
    this.warn(`${done} with exploration raised by ${general(guard.bonus)}: ${problem}`);
  }

  // ---- what it reports and keeps

  /** Says where it trains, if that is not known yet. */
  private tellPlace(): void {
    const { place, threads } = this.engine;
    const played = threads ? `, played on ${threads} more thread${threads > 1 ? "s" : ""}` : "";
    if (place + played === this.place) return;
    this.place = place + played;
    this.post({ type: "PHASE", text: `training ${place}, ${this.settings.num_envs.toLocaleString("en")} games in parallel${played}` });
  }

  private report(now: number): void {
    const { tally } = this;
    this.tally = new Tally(now);
    const row = tally.row(this.modules.spec, now);
    const { hyper } = this;
    for (const key of REPORTED) row[key] = hyper[key];
    row.memory_mb = this.modules.heap.wasm.buffer.byteLength / 2 ** 20;
    if (tally.spent(now) < 500 * RUN.report_seconds) {
      for (const key of ["agent_steps_per_second", "updates_per_second"]) if (this.metrics[key] !== undefined) row[key] = this.metrics[key];
    }
    this.metrics = { ...row, ...this.counters, dropped_chunks: 0, ...this.evaluator.metrics, ...this.contest?.metrics };
    this.post({ type: "METRICS", values: this.metrics });
  }

  private get counters(): MetricsRow {
    return { agent_steps: this.agentSteps, updates: this.updates, version: this.version, seconds: this.seconds };
  }

  private get policy(): TrainedPolicy {
    return {
      version: this.version,
      step: this.agentSteps,
      layers: [...this.layers],
      activation: this.settings.activation as Activation,
      weights: this.published,
    };
  }

  /** Everything needed for an exact continuation, here or in Python. Call it between two updates. */
  file(): PolicyFile {
    const own: Tensors = {
      ...this.engine.state(),
      "train.updates": number("I64", this.updates),
      "train.rate": number("F64", this.rate),
      "train.good": number("I64", this.good),
      ...this.exploration.state(),
      ...this.contest?.state(),
      ...this.scenes.state(),
      ...this.ofKernel,
    };
    return policyFile(this.modules.spec, this.policy, this.settings, { ...this.metrics, ...this.counters }, own);
  }

  /** Restores what the file has beside the weights; these alone remain where it cannot be used. */
  private resume(file: PolicyFile | null): void {
    try {
      this.restore(file);
    } catch (error) {
      this.engine.load(this.published);
      this.warn(`continuing from the weights of version ${this.version} alone: ${(error as Error).message}`);
    }
  }

  private restore(file: PolicyFile | null): void {
    const state: Tensors = file?.state ?? {};
    this.updates = Number(state["train.updates"]?.data[0] ?? this.metrics.updates ?? 0);
    this.rate = Number(state["train.rate"]?.data[0] ?? 1);
    this.good = Number(state["train.good"]?.data[0] ?? 0);
    this.seconds = this.metrics.seconds ?? 0;
    this.ofKernel = Object.fromEntries(Object.entries(state).filter(([name]) => KERNELS.includes(name)));
    this.engine.restore(state, this.version);
    this.exploration.restore(state);
    this.contest?.restore(state);
    if (file) this.tellIfRewardsChanged(readSettings(file.config as Values).reward_weights ?? {});
  }

  /** Tells who keeps what was reached where `then` paid otherwise than the run's own weights of reward terms. */
  private tellIfRewardsChanged(then: Record<string, number>): void {
    const now = this.settings.reward_weights;
    if (this.modules.spec.terms.every(({ name, weight }) => (then[name] ?? weight) === (now[name] ?? weight))) return;
    this.contest?.rewardsChanged();
    this.exploration.rewardsChanged();
  }

  private practise(scenes: readonly Uint32Array[]): void {
    this.engine.practise(scenes);
    this.scenes.set(scenes);
  }

  /** Waits for the next update's time, or for a message. */
  private async rest(seconds: number): Promise<void> {
    const now = performance.now();
    const { paused } = this.pace;
    if (this.tally.updates && seconds > RUN.report_seconds) this.report(now);
    if (now - this.beaten >= SIGN_OF_LIFE_MS) {
      this.beaten = now;
      this.post({ type: "BEAT" });
    }
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      setTimeout(resolve, Math.min(1000 * seconds, SIGN_OF_LIFE_MS));
    });
    this.wake = null;
    if (paused) this.tally.leaveOut(performance.now() - now); // there is no rate while paused
  }
}

/** Version 0 of a run. */
export function freshPolicy(kernels: Kernels, layers: number[], settings: Settings): TrainedPolicy {
  const { activation, separate_value_net: separate, seed } = settings;
  const weights = untrained(layers, separate, Draws.seeded(kernels, seed, DRAWS.weights));
  return { version: 0, step: 0, layers, activation: activation as Activation, weights };
}

/** A `.dshq` file's content; `state` is the learner's own. */
export function policyFile(spec: DrillSpec, policy: TrainedPolicy, settings: Settings, metrics: MetricsRow, state: Tensors = {}): PolicyFile {
  const { name: drill, rules_hash } = spec;
  return { ...policy, drill, rules_hash, seed: settings.seed, config: { ...settings }, metrics, state, algorithm: ALGORITHM, algorithm_settings: {} };
}

/** Lets messages in. A timer would be held back where timers are nested. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
