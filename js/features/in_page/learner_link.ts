/**
 * The learner of a run that the kernel starts and steers (`engine="page"`): hands the kernel's orders to the trainer's worker and what that
 * says to the kernel, as `learner_to_kernel` has it. dshq_widget/widget/in_page/run.py is the other end.
 */
import { bytesOf } from "../../contract/bytes";
import { listen, type Model } from "../../contract/model";
import type { DrillSpec, KernelToPage, MetricsRow } from "../../contract/protocol";
import type { FromTrainer, ToTrainer, TrainedPolicy, TrainerPackage, Values } from "../../contract/training";
import { NewestPolicy } from "./newest_policy";
import { pieces } from "./pieces";
import { RunKeeper } from "./run_keeper";
import { wordsOf } from "./scene_list";
import { Place } from "./storage";
import { comparedEvery, FOLLOW_MS, laneCount, TrainerThread } from "./trainer_thread";

const BEAT_MS = 1_000; // without another word; the kernel gives a silent page up

interface Start {
  type: "START";
  spec: DrillSpec;
  values: Values;
  metrics: MetricsRow;
  scenes: string[]; // bytes of each in hex
  paused: boolean;
  asked: number;
  policy: Omit<TrainedPolicy, "weights">;
}
type Scenes = { type: "SCENES"; scenes: string[] };
type Order = Start | Scenes | { type: "SAVE" } | Exclude<ToTrainer, { type: "START" | "SCENES" | "SAVE" }>;
type Buffers = readonly DataView<ArrayBuffer>[];

/** A worker that trains, and the scenes that it practises. */
export interface Running {
  thread: TrainerThread;
  scenes: readonly Uint32Array[];
}

export class LearnerLink {
  private readonly learner = Math.floor(Math.random() * 2 ** 52);
  private run = 0; // 0: none
  private thread: TrainerThread | null = null;
  private keeper: RunKeeper | null = null;
  private early: ToTrainer[] = []; // said before the worker was there
  private scenes: Uint32Array[] = []; // that the run practises
  private readonly newest: NewestPolicy;
  private saidAt = 0; // ms
  private saves = 0; // files that the kernel has asked for

  constructor(
    private readonly base: Model,
    private readonly fetch: () => Promise<TrainerPackage>,
    signal: AbortSignal,
    private readonly place = new Place(),
  ) {
    this.newest = new NewestPolicy(base);
    const receive = (message: KernelToPage, buffers: Buffers = []) => {
      if (message.type === "LEARNER_WANTED") this.offer();
      else if (message.type === "TO_LEARNER" && message.learner === this.learner) this.order(message.run, message.message as unknown as Order, buffers);
    };
    listen(base, "msg:custom", receive, signal);
    const follow = () => {
      this.beat();
      this.thread?.follow();
    };
    const timer = setInterval(follow, FOLLOW_MS);
    const leave = () => {
      if (this.run) this.say({ type: "LEFT" });
      this.end();
    };
    addEventListener("pagehide", leave, { signal });
    signal.addEventListener(
      "abort",
      () => {
        clearInterval(timer);
        leave();
      },
      { once: true },
    );
    this.offer();
  }

  /** Whether a run is here. */
  get running(): boolean {
    return this.thread !== null;
  }

  /** Gives the running worker away, with the scenes that it practises; null where there is none. The kernel hears no more of it. */
  release(): Running | null {
    const { thread, scenes } = this;
    this.thread = null;
    this.end();
    return thread && { thread, scenes };
  }

  private offer(): void {
    this.base.send({ type: "LEARNER_OFFERED", learner: this.learner });
  }

  // ---- orders of the kernel

  private order(run: number, order: Order, buffers: Buffers): void {
    if (order.type === "START") {
      this.end();
      this.run = run;
      this.scenes = order.scenes.map(wordsOf);
      this.start(run, order, buffers).catch((error: Error) => this.fail(run, error.message));
    } else if (run !== this.run) return;
    else if (order.type === "STOP" && !this.thread) {
      this.say({ type: "STOPPED" });
      this.end();
    } else {
      if (order.type === "SAVE") this.saves += 1;
      if (order.type === "SCENES") this.scenes = order.scenes.map(wordsOf);
      const message: ToTrainer = order.type === "SCENES" ? { type: "SCENES", scenes: this.scenes } : order.type === "SAVE" ? { type: "SAVE" } : order;
      if (this.thread) this.thread.post(message);
      else this.early.push(message);
    }
  }

  private async start(run: number, { spec, values, metrics, paused, asked, policy }: Start, [weights, file]: Buffers): Promise<void> {
    const { scenes } = this; // changes of them are among what came early
    const { code, modules, wgsl } = await this.fetch();
    if (run !== this.run) return; // stopped meanwhile
    this.place.begin(policy.version);
    this.keeper = new RunKeeper(spec, this.place);
    this.thread = new TrainerThread(code, (message) => this.hear(message), laneCount(Number(values.workers), Number(values.num_envs)));
    this.thread.post({
      ...{ type: "START", spec, modules, wgsl, prefer: "", compare: comparedEvery(), values, metrics, paused, asked, lanes: [] },
      file: file ? bytesOf(file).slice() : null,
      policy: weights ? { ...policy, weights: new Float32Array(bytesOf(weights).slice().buffer) } : null,
      scenes,
    });
    for (const message of this.early.splice(0)) this.thread.post(message);
  }

  private fail(run: number, text: string): void {
    if (run !== this.run) return;
    this.say({ type: "FAILED", text });
    this.end();
  }

  private end(): void {
    this.thread?.end();
    this.thread = this.keeper = null;
    this.newest.forget();
    this.early = [];
    this.run = this.saves = 0;
  }

  // ---- what the worker says

  private hear(message: FromTrainer): void {
    switch (message.type) {
      case "BEAT": // a browser holds back the timers of a page that is not seen, but not a worker's
        this.beat();
        return;
      case "PHASE":
        this.keeper?.begin();
        this.say(message);
        return;
      case "METRICS":
      case "LEAGUE":
      case "SCENES":
      case "WARNING":
        this.say(message);
        return;
      case "POLICY":
        if (message.version === 0) this.place.begin(0); // a new network
        this.newest.put(message);
        this.sendPolicy();
        return;
      case "SAVED":
        this.keeper?.keep(message);
        if (this.saves > 0) {
          this.saves -= 1;
          this.sendFile(message.file, false);
        }
        return;
      case "STOPPED":
        this.keeper?.keep(message);
        this.sendPolicy(true);
        this.sendFile(message.file, true);
        this.end();
        return;
      case "FAILED":
        this.fail(this.run, message.text);
        return;
    }
  }

  /** The newest policy, at most once per swap interval. */
  private sendPolicy(now = false): void {
    const policy = this.newest.take(now);
    if (policy) this.say({ type: "POLICY", version: policy.version, step: policy.step }, [policy.weights.slice().buffer as ArrayBuffer]);
  }

  private sendFile(file: Uint8Array, ended: boolean): void {
    for (const { part, parts, bytes } of pieces(file)) this.say({ type: "FILE", part, parts, ended }, [bytes]);
  }

  /** Policies that had to wait, the run kept in the browser, and a sign of life. */
  private beat(): void {
    if (!this.run) return;
    this.sendPolicy();
    if (this.keeper?.due()) this.thread?.post({ type: "SAVE" });
    if (performance.now() - this.saidAt >= BEAT_MS) this.say({ type: "BEAT" });
  }

  private say(message: object, buffers: ArrayBuffer[] = []): void {
    this.saidAt = performance.now();
    try {
      this.base.send({ type: "FROM_LEARNER", learner: this.learner, run: this.run, message: message as Record<string, unknown> }, undefined, buffers);
    } catch (error) {
      console.debug("dshq-widget: the kernel that steers this run takes no messages:", error); // it is gone, which the page says; the run stays
    }
  }
}
