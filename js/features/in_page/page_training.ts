/**
 * When a page trains, and what it offers: by itself at once in an exported page, and on request when the kernel is gone or hardly gets on;
 * for the kernel with `engine="page"`. A run that the browser kept is offered to whoever trains now.
 */
import { bytesOf } from "../../contract/bytes";
import { listen, type Model } from "../../contract/model";
import type { KernelToPage, PageAttribute } from "../../contract/protocol";
import type { TrainerPackage } from "../../contract/training";
import type { Between } from "../plug";
import { LearnerLink } from "./learner_link";
import { buildOffer, type Offer } from "./offer";
import { type OwnTraits, PageModel, TRAINERS } from "./page_model";
import { PageTrainer, packPolicy } from "./page_trainer";
import { pieces } from "./pieces";
import { hasRelaxedSimd } from "./relaxed_simd";
import { trainerOf } from "./saved";
import { Starving } from "./starving";
import { forgetRun, type Kept, keptRuns, Place } from "./storage";

const FETCH_AFTER_MS = 5_000; // after training began in the kernel: not in its first seconds

export class PageTraining implements Between {
  readonly model: PageModel;
  /** What is offered now. */
  offer: Offer | null = null;
  private trainer: PageTrainer | null = null;
  private learner: LearnerLink | null = null; // for runs of the kernel
  private fetched: Promise<TrainerPackage> | null = null;
  /** Whether the trainer is in this page. */
  ready = false;
  private lost = false; // the kernel
  private readonly starving = new Starving(); // the kernel's learner
  private readonly followers = new Set<() => void>();
  private kept: Kept[] = []; // the newest first
  private readonly place = new Place();
  private readonly ending = new AbortController();

  constructor(private readonly base: Model) {
    this.model = new PageModel(base);
    const drill = base.get("drill");
    if (!drill || drill.spec.pictures) return;
    const { signal } = this.ending;
    if (base.trainer) {
      this.fetched = trainerOf(base.trainer);
      this.takeOver();
    } else if (base.get("config")?.engine === "page") {
      const fresh = () => {
        this.fetched = null; // other rewards are other modules
        return this.fetch();
      };
      this.learner = new LearnerLink(base, fresh, signal, this.place);
    } else if (!base.standalone) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const follow = () => {
        if (base.get("status") !== "training" || timer !== undefined) return;
        timer = setTimeout(() => void this.fetch().catch(() => undefined), FETCH_AFTER_MS);
      };
      listen(base, "change:status", follow, signal);
      listen(base, "change:drill", () => this.fetchAgain(), signal);
      listen(base, "change:metrics", () => this.weigh(), signal);
      listen(base, "change:status", () => base.get("status") !== "training" && this.weigh(), signal);
      signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
      follow();
    }
    void keptRuns(drill.spec.rules_hash).then((kept) => {
      if (signal.aborted) return;
      const known = base.trainer ? 0 : (base.get("policy")?.version ?? 0); // what a page has from its file is another training
      this.kept = kept.filter(({ version }) => version > known);
      this.offerAgain();
    });
  }

  /** Another report of the kernel's learner, or its end. */
  private weigh(): void {
    const training = this.base.get("status") === "training";
    if (training ? this.starving.report(this.base.get("metrics").processors) : this.starving.end()) this.offerAgain();
  }

  /** Ends the kernel's training and continues here from the policy that plays. */
  private takeFromKernel(): void {
    this.base.send({ type: "STOP_TRAINING" });
    this.takeOver();
  }

  /** The kernel is gone, or is back. What it learned stays in the browser. */
  kernelIs(connected: boolean): void {
    const died = this.ready && !this.lost && !connected && !this.trainer && !this.learner?.running; // a run is kept as a whole
    this.lost = !connected;
    this.offerAgain();
    if (died) void this.keepPlaying().catch(() => undefined); // the browser may refuse to keep anything
  }

  /** What the dead kernel's policy learned, for the kernel that comes when the cell is run again. */
  private async keepPlaying(): Promise<void> {
    const { name, rules_hash } = this.base.get("drill")!.spec;
    const packed = await packPolicy((await this.fetch()).code, this.base);
    if (packed && packed.version > 0) await this.place.keep(rules_hash, { drill: name, savedAt: Date.now(), ...packed });
  }

  private async saved(): Promise<File> {
    const packed = await packPolicy((await this.fetch()).code, this.base);
    if (!packed) throw new Error("There is no policy to save yet.");
    return new File([packed.file.slice()], `${this.base.get("drill")!.spec.name}-v${packed.version}.dshq`);
  }

  /** `changed` is called when there is another offer, until `signal` ends. */
  onOffer(changed: () => void, signal: AbortSignal): void {
    this.followers.add(changed);
    signal.addEventListener("abort", () => this.followers.delete(changed), { once: true });
  }

  show(set: (name: PageAttribute, value: string) => void, signal: AbortSignal): HTMLElement {
    const ready = () => set("trainer-ready", String(this.ready));
    this.onOffer(ready, signal);
    ready();
    return buildOffer(this, signal);
  }

  dispose(): void {
    this.ending.abort();
    this.trainer?.dispose();
  }

  private takeOver(): void {
    const drill = this.base.get("drill")!;
    const { model, base } = this;
    const running = this.learner?.release() ?? null;
    const own = Object.fromEntries(TRAINERS.map((name) => [name, base.get(name)])) as unknown as OwnTraits;
    this.trainer = new PageTrainer(
      model,
      drill,
      () => this.fetch(),
      (file) => this.handBack(file),
      running,
      base.get("scenes") ?? [],
      this.place,
    );
    const stopped = (own.policy?.version ?? 0) > 0;
    const config = { ...own.config, start: undefined }; // the ladder is the kernel's
    const rests: Partial<OwnTraits> = {
      ...{ status: stopped ? "stopped" : "idle", status_text: stopped ? `at version ${own.policy!.version}` : "" },
      ...{ error: "", paused: false },
    };
    model.takeOver({ ...own, ...(running ? {} : rests), config, seat: {} }, (message, buffers) => this.trainer!.receive(message, buffers));
    this.lost = false;
    this.offerAgain();
  }

  /** The worker's code and the modules; asked for once. Rejects with an Error of one sentence. */
  private fetch(): Promise<TrainerPackage> {
    this.fetched ??= this.request();
    void this.fetched.then(
      () => {
        this.ready = true;
        this.offerAgain();
      },
      () => {
        if (!this.base.trainer) this.fetched = null; // a kernel may be asked again
      },
    );
    return this.fetched;
  }

  /** Other rewards are other modules. */
  private fetchAgain(): void {
    if (!this.fetched || this.trainer) return;
    this.fetched = null;
    void this.fetch().catch(() => undefined);
  }

  private request(): Promise<TrainerPackage> {
    return new Promise((resolve, reject) => {
      const answered = new AbortController();
      this.ending.signal.addEventListener("abort", () => answered.abort(), { once: true });
      const receive = (message: KernelToPage, buffers: readonly DataView<ArrayBuffer>[] = []) => {
        if (message.type !== "TRAINER") return;
        answered.abort();
        const [code, learner, drill, wgsl] = buffers.map((view) => bytesOf(view).slice().buffer);
        if (!code || !learner || !drill) reject(new Error(message.problem || "The kernel sent no trainer."));
        else resolve({ code: new TextDecoder().decode(code), modules: { learner, drill }, wgsl: new TextDecoder().decode(wgsl) });
      };
      listen(this.base, "msg:custom", receive, answered.signal);
      this.base.send({ type: "FETCH_TRAINER", relaxed: hasRelaxedSimd() });
    });
  }

  /** What the page has learned goes to a kernel that is there, so that Python can save it. */
  private handBack(file: Uint8Array): void {
    if (this.base.standalone || this.lost) return;
    const name = "the page's run";
    for (const { part, parts, bytes } of pieces(file)) this.base.send({ type: "LOAD_POLICY", name, part, parts }, undefined, [bytes]);
  }

  private async continueKept(kept: Kept): Promise<void> {
    if (this.trainer) await this.trainer.load(kept.file, "the kept run");
    else this.handBack(kept.file);
    this.place.goOnFrom(kept);
    this.kept = [];
    this.offerAgain();
  }

  private offerAgain(): void {
    const [kept, ...others] = this.kept;
    if (this.lost && this.ready && !this.trainer) {
      this.offer = {
        text: "Kernel disconnected. This page can train by itself, from the policy that plays now.",
        actions: [
          { control: "train-in-page", act: () => this.takeOver() },
          { control: "keep-policy", act: () => this.saved() },
        ],
      };
    } else if (this.starving.now && this.ready && !this.trainer) {
      const text = "Other programs leave the kernel little processor time. This page can train by itself, probably faster.";
      this.offer = { text, actions: [{ control: "train-in-page", act: () => this.takeFromKernel() }] };
    } else if (kept && !this.lost) {
      const time = new Date(kept.savedAt).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
      this.offer = {
        text: `This browser kept version ${kept.version} (${time})${others.length ? `, and ${others.length} other run${others.length > 1 ? "s" : ""}` : ""}.`,
        actions: [
          { control: "continue-kept", act: () => this.continueKept(kept) },
          ...(others.length ? [{ control: "other-kept" as const, act: () => this.showOther() }] : []),
          { control: "discard-kept", act: () => this.discard(kept) },
        ],
      };
    } else this.offer = null;
    for (const changed of this.followers) changed();
  }

  /** The one kept before it; after the last of them the newest. */
  private showOther(): void {
    this.kept = [...this.kept.slice(1), ...this.kept.slice(0, 1)];
    this.offerAgain();
  }

  private async discard({ key }: Kept): Promise<void> {
    this.kept = this.kept.filter((run) => run.key !== key);
    await forgetRun(key);
    this.offerAgain();
  }
}
