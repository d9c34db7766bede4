/**
 * Stands where the kernel stands for a page that trains by itself: answers the page's messages, keeps the traits of the training, and runs
 * the trainer's worker. Panels do not know the difference.
 */
import { bytesOf } from "../../contract/bytes";
import type { Model } from "../../contract/model";
import type { ConfigValue, DrillTrait, PageToKernel, PolicyTrait, SceneRow } from "../../contract/protocol";
import { MACHINE_METRICS } from "../../contract/tables";
import type { FromTrainer, TrainedPolicy, TrainerPackage, Values } from "../../contract/training";
import { checkSaved, checkSetting, namesFor } from "../../session/settings/settings_check";
import { BEFORE } from "../../session/undoing";
import type { Running } from "./learner_link";
import { MetricRows } from "./metric_rows";
import { NewestPolicy } from "./newest_policy";
import type { PageModel } from "./page_model";
import { RunKeeper } from "./run_keeper";
import { SceneList } from "./scene_list";
import { Place } from "./storage";
import { ask, comparedEvery, FOLLOW_MS, laneCount, TrainerThread } from "./trainer_thread";

const MACHINE = new Set<string>(MACHINE_METRICS); // said of the machine that trained, not of this one
const HISTORY_ROWS = 500; // in one message; a longer history is thinned evenly
const NOTHING_KEPT = "This browser cannot store this run: it has no room left, or this is a private window. Save the policy before you close the page.";
const ENDED = "The run ended before its file was written. Try again.";

type Sent<T extends PageToKernel["type"]> = Extract<PageToKernel, { type: T }>;
type File = Extract<FromTrainer, { type: "FILE" }>;

export class PageTrainer {
  private thread: TrainerThread | null = null;
  private file: { file: Uint8Array; version: number } | null = null; // the run to continue exactly
  private readonly history = new MetricRows();
  private readonly newest: NewestPolicy;
  private forgetting: Promise<void> = Promise.resolve(); // what was learned
  private readonly saving: number[] = []; // requests of files that a person has asked for
  private upload: ArrayBuffer[] = [];
  private readonly scenes: SceneList;
  private readonly keeper: RunKeeper;
  private readonly timer: ReturnType<typeof setInterval>;

  constructor(
    private readonly model: PageModel,
    private readonly drill: DrillTrait,
    private readonly fetch: () => Promise<TrainerPackage>,
    private readonly finished: (file: Uint8Array) => void, // called with each run that has ended
    running: Running | null = null, // a run that continues here
    scenes: readonly SceneRow[] = [], // what is known of those that it practises
    private readonly place = new Place(),
  ) {
    this.newest = new NewestPolicy(model);
    this.scenes = new SceneList(drill.spec);
    this.keeper = new RunKeeper(drill.spec, place, () => this.log("warning", NOTHING_KEPT));
    this.thread = running?.thread ?? null;
    if (running) {
      running.thread.reportTo((message) => this.hear(message));
      this.scenes.restore(running.scenes, scenes);
      this.keeper.begin();
    }
    this.timer = setInterval(() => this.beat(), FOLLOW_MS);
  }

  /** Ends the worker; what it learned since it was last kept is lost. */
  dispose(): void {
    clearInterval(this.timer);
    this.thread?.end();
    this.thread = null;
  }

  /** True: handled here. */
  receive(message: PageToKernel, buffers: readonly ArrayBuffer[]): boolean {
    this.handle(message, buffers).catch((error: Error) => this.log("error", error.message));
    return true;
  }

  /** Continues from a run that was kept or loaded. Rejects with an Error of one sentence, and nothing changes. */
  async load(bytes: Uint8Array, name: string): Promise<void> {
    await this.forgetting.catch(() => undefined); // what is forgotten was before: Undo may come at once
    const { code } = await this.fetch();
    const found = await ask(code, { type: "READ", spec: this.drill.spec, file: bytes, name });
    if (found.type !== "FILE") return;
    try {
      this.adopt(found, bytes);
    } catch (error) {
      throw new Error(`'${name}' cannot be loaded: ${(error as Error).message}`);
    }
    if (name === BEFORE) this.keeper.keep({ file: bytes, version: found.policy.version }); // forgetting took it from the browser, too
  }

  // ---- messages of the page

  private async handle(message: PageToKernel, buffers: readonly ArrayBuffer[]): Promise<void> {
    switch (message.type) {
      case "HELLO":
        return this.sendHistory();
      case "START_TRAINING":
        return this.start(this.settingsIn(message), { paused: false, asked: 0 });
      case "NEXT_UPDATE":
        if (this.thread) this.hold(true, { type: "NEXT_UPDATE" });
        else this.start(this.settingsIn(message), { paused: true, asked: 1 });
        return;
      case "STOP_TRAINING":
        return this.stop();
      case "RESET_TRAINER":
        this.forgetting = this.reset();
        return this.forgetting;
      case "PAUSE_TRAINING":
        return this.hold(true, message);
      case "RESUME_TRAINING":
        return this.hold(false, message);
      case "SET_HYPER":
        return this.setHyper(message.key, message.value as ConfigValue); // ppo has no section
      case "SAVE_POLICY":
        return this.save(message.request).catch((error: Error) => this.refuse(error.message, message.request));
      case "LOAD_POLICY":
        return this.receiveFile(message, buffers);
      case "RESTORE_HISTORY":
        if (!this.thread) this.history.replace(message.rows);
        return;
      case "DRILL_SCENE":
        this.scenes.add(message.state);
        return this.scenesChanged();
      case "DROP_SCENE":
        this.scenes.remove(message.key);
        return this.scenesChanged();
      default: // ACK and PAGE_STATE need no answer, a server's time and league are not here
    }
  }

  private async start(values: Record<string, ConfigValue>, orders: { paused: boolean; asked: number }): Promise<void> {
    const { model, drill } = this;
    if (this.thread || model.get("status") === "starting") return;
    for (const [key, value] of Object.entries(values)) this.setHyper(key, value);
    model.set("error", "");
    model.set("paused", orders.paused);
    this.say("starting", "starting the trainer in this page");
    let trainer: TrainerPackage;
    try {
      await this.forgetting.catch(() => undefined); // it has said why
      trainer = await this.fetch();
    } catch (error) {
      return this.fail((error as Error).message);
    }
    if (this.thread || model.get("status") !== "starting") return; // stopped meanwhile, or stopped and started again
    if (this.file && this.file.version < (model.get("policy")?.version ?? 0)) this.goBackTo(this.file.version);
    this.place.begin(this.file?.version ?? model.get("policy")?.version ?? 0);
    const { workers, num_envs: games } = this.values;
    this.thread = new TrainerThread(trainer.code, (message) => this.hear(message), laneCount(Number(workers), Number(games)));
    this.thread.post({
      type: "START",
      spec: drill.spec,
      modules: trainer.modules,
      wgsl: trainer.wgsl,
      prefer: "",
      compare: comparedEvery(),
      values: this.values,
      file: this.file?.file ?? null,
      policy: policyIn(model.get("policy")),
      metrics: model.get("metrics"),
      scenes: this.scenes.words,
      lanes: [],
      ...orders,
    });
  }

  /** A new network takes the place of what was learned, which stays in the browser. */
  private beginAnew(untrained: TrainedPolicy): void {
    this.place.begin(0);
    this.file = null;
    this.showUntrained(untrained);
  }

  private showUntrained(policy: TrainedPolicy): void {
    this.history.replace([]);
    this.scenes.forget();
    this.show(policy, true);
    this.model.set("metrics", {});
    this.model.set("league", []);
    this.sendScenes();
  }

  /** A run that failed continues from its file: the curves end there, too, and do not start over with the next report. */
  private goBackTo(version: number): void {
    const rows = this.history.rows().filter((row) => (row.version ?? 0) <= version);
    this.history.replace(rows);
    this.model.set("metrics", {});
    this.sendHistory();
    this.model.set("metrics", rows.at(-1) ?? {});
  }

  private stop(): void {
    if (!this.thread) {
      if (this.model.get("status") === "starting") this.say("stopped", `at version ${this.model.get("policy")?.version ?? 0}`);
      return;
    }
    this.say("stopping", "finishing this update");
    this.thread.post({ type: "STOP" });
  }

  private async reset(): Promise<void> {
    const { model } = this;
    this.endThread();
    model.set("error", "");
    model.set("paused", false); // now: a run that is begun meanwhile may begin paused
    this.say("idle", "not started"); // what is just starting ends, too
    this.file = null;
    const { code, modules } = await this.fetch();
    const fresh = await ask(code, { type: "FRESH", spec: this.drill.spec, modules, values: this.values });
    if (fresh.type === "POLICY") this.showUntrained(fresh);
    if (model.get("status") === "stopped") this.say("idle", "not started"); // a run that was begun meanwhile, and stopped before it came
    await this.place.forget(this.drill.spec.rules_hash);
  }

  private hold(paused: boolean, message: Sent<"PAUSE_TRAINING" | "RESUME_TRAINING" | "NEXT_UPDATE">): void {
    if (!this.thread) return;
    this.thread.post({ type: message.type });
    this.model.set("paused", paused);
  }

  private setHyper(key: string, value: ConfigValue): void {
    const { model } = this;
    const config = model.get("config");
    const entry = config.schema[key];
    const checked = checkSetting(key, value, entry, namesFor(entry?.kind, this.drill.spec));
    model.set("config", { ...config, values: { ...config.values, [key]: checked } });
    if (this.thread && entry?.effect !== "restart") this.thread.post({ type: "SET_HYPER", key, value: checked });
    else if (this.thread) model.set("status_text", `${key} will take effect at the next start`);
  }

  private async save(request = 0): Promise<void> {
    if (this.thread && this.model.get("status") === "training") {
      this.saving.push(request);
      this.thread.post({ type: "SAVE" });
      return;
    }
    if (this.file && this.file.version === this.model.get("policy")?.version) this.download(this.file.file, this.file.version, request);
    else {
      const packed = await packPolicy((await this.fetch()).code, this.model);
      if (packed) this.download(packed.file, packed.version, request);
      else this.refuse("There is no policy to save yet.", request);
    }
  }

  private async receiveFile({ name, part, parts }: Sent<"LOAD_POLICY">, buffers: readonly ArrayBuffer[]): Promise<void> {
    if (part === 0) this.upload = [];
    this.upload.push(...buffers);
    if (part < parts - 1) return;
    const bytes = new Uint8Array(await new Blob(this.upload).arrayBuffer());
    this.upload = [];
    await this.load(bytes, name);
  }

  // ---- messages of the worker

  private hear(message: FromTrainer): void {
    const { model } = this;
    switch (message.type) {
      case "PHASE":
        if (model.get("status") === "starting") this.keeper.begin();
        if (model.get("status") !== "stopping") this.say("training", message.text);
        return;
      case "POLICY":
        if (message.version === 0) this.beginAnew(message);
        else this.newest.put(message);
        this.swap();
        return;
      case "METRICS":
        this.history.append(message.values);
        model.set("metrics", message.values);
        return;
      case "LEAGUE":
        model.set("league", message.rows);
        return;
      case "SCENES":
        this.scenes.measured(message.rows);
        this.sendScenes();
        return;
      case "WARNING":
        this.log("warning", message.text);
        return;
      case "SAVED": {
        const request = this.saving.shift();
        if (request !== undefined) this.download(message.file, message.version, request);
        this.file = message; // where it fails, it continues from here
        this.keeper.keep(message);
        return;
      }
      case "STOPPED":
        this.file = message;
        this.swap(true);
        this.endThread();
        model.set("paused", false);
        this.say("stopped", `at version ${message.version}`);
        this.finished(message.file);
        this.keeper.keep(message);
        return;
      case "FAILED":
        this.fail(message.text);
        return;
    }
  }

  private fail(text: string): void {
    this.endThread();
    this.model.set("error", text);
    this.say("error", text);
  }

  /** The newest policy joins the match, at most once per swap interval. */
  private swap(now = false): void {
    const policy = this.newest.take(now);
    if (policy) this.show(policy);
  }

  private show({ version, step, layers, activation, weights }: TrainedPolicy, replaces = false): void {
    const run = (this.model.get("policy")?.run ?? 0) + (replaces ? 1 : 0);
    this.model.set("policy", { version, step, run, layers, activation, shape_hash: "", data: weights });
  }

  /** Throws an Error, and changes nothing, where settings or scenes of the file are none. */
  private adopt({ exact, policy, values, metrics, scenes }: File, bytes: Uint8Array): void {
    const { model } = this;
    const config = model.get("config");
    const meant = Object.keys(config.schema).filter((key) => Object.hasOwn(values, key) && key !== "device");
    const known = Object.fromEntries(meant.map((key) => [key, checkSaved(key, values[key]!, config.schema[key]!)]));
    this.scenes.restore(scenes);
    this.endThread();
    this.file = exact ? { file: bytes, version: policy.version } : null;
    model.set("config", { ...config, values: { ...config.values, ...known } });
    this.sendScenes();
    this.history.replace([]);
    this.show(policy, true);
    model.set("league", []);
    model.set("error", "");
    model.set("paused", false);
    model.set("metrics", {}); // other curves begin
    model.set("metrics", Object.fromEntries(Object.entries(metrics).filter(([key]) => !MACHINE.has(key))));
    this.say("stopped", `at version ${policy.version}${exact ? "" : ", which was trained with other rules"}`);
  }

  // ---- small things

  private get values(): Values {
    return this.model.get("config").values;
  }

  private settingsIn(message: Sent<"START_TRAINING" | "NEXT_UPDATE">): Record<string, ConfigValue> {
    const { type: _type, ...values } = message;
    return values as Record<string, ConfigValue>;
  }

  private say(status: "idle" | "starting" | "training" | "stopping" | "stopped" | "error", text: string): void {
    this.model.set("status_text", text);
    this.model.set("status", status);
  }

  private log(level: string, text: string): void {
    this.model.say("msg:custom", { type: "LOG", level, text });
  }

  private sendHistory(): void {
    this.model.say("msg:custom", { type: "HISTORY", start: 0, rows: this.history.rows(HISTORY_ROWS) });
  }

  private scenesChanged(): void {
    this.thread?.post({ type: "SCENES", scenes: this.scenes.words });
    this.sendScenes();
  }

  private sendScenes(): void {
    this.model.set("scenes", this.scenes.rows as SceneRow[]);
  }

  private download(file: Uint8Array, version: number, request: number): void {
    const name = `${this.drill.spec.name.replace(/[^A-Za-z0-9_.]+/g, "-")}-v${version}.dshq`;
    this.model.say("msg:custom", { type: "POLICY_FILE", name, problem: "", request }, [new DataView(file.slice().buffer)]);
  }

  /** Whatever happens, whoever asked for a file waits for an answer. */
  private refuse(problem: string, request = 0): void {
    this.model.say("msg:custom", { type: "POLICY_FILE", name: "", problem, request });
  }

  private endThread(): void {
    this.thread?.end();
    this.thread = null;
    this.keeper.end();
    for (const request of this.saving.splice(0)) this.refuse(ENDED, request);
    this.newest.forget();
  }

  /** Signs of life, policies that had to wait, and the run kept in the browser. */
  private beat(): void {
    if (!this.thread && this.model.get("status") !== "starting") return;
    this.model.set("seq", this.model.get("seq") + 1);
    if (!this.thread) return; // its code is on its way, or what was learned is being forgotten
    this.swap();
    if (this.keeper.due()) this.thread.post({ type: "SAVE" });
    this.thread.follow();
  }
}

/** The policy that plays, as a file without what its training would need to continue exactly; null before any. */
export async function packPolicy(code: string, model: Pick<Model, "get">): Promise<{ file: Uint8Array; version: number } | null> {
  const [drill, policy] = [model.get("drill"), policyIn(model.get("policy"))];
  if (!drill || !policy) return null;
  const packed = await ask(code, {
    type: "PACK",
    spec: drill.spec,
    values: model.get("config").values as Values,
    policy,
    metrics: model.get("metrics"),
  });
  return packed.type === "SAVED" ? packed : null;
}

function policyIn(policy: PolicyTrait | null): TrainedPolicy | null {
  if (!policy?.data?.byteLength) return null;
  const { version, step, layers, activation, data } = policy;
  return { version, step, layers, activation, weights: new Float32Array(bytesOf(data).slice().buffer) };
}
