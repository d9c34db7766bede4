/**
 * One widget on this page, shared by all its views: keeps traits, show host and history in step. What a person presses goes
 * into the `show` trait or to the kernel; the `show` trait, whoever changed it, is what the host is set to.
 *
 * Folder `session`: the state of one widget between kernel and show worker. Builds no DOM.
 */

import { listen, type Model, type SavedSnapshot } from "../contract/model";
import type { Episode, FromWorker, Recording, ShowTrait, Snapshot, Status, StepUnit, ToWorker } from "../contract/protocol";
import { Events, type SessionEvents, type ShowState } from "./events";
import { Facing } from "./facing";
import { History } from "./history";
import { registry, type ShowHost } from "./host/registry";
import { Reports } from "./host/reports";
import { type Ends, Screen } from "./host/screen";
import { ShowLink } from "./host/show_link";
import { keepSparing } from "./host/sparing";
import { type Journal, keepJournal } from "./journal";
import { KernelLink } from "./kernel/kernel_link";
import { followKernel } from "./kernel/kernel_messages";
import { Presence } from "./kernel/presence";
import type { Link, LinkKind, StandIn } from "./link";
import { Links } from "./links";
import { ReplayLink } from "./replay_link";
import { Drafts } from "./settings/drafts";
import { SharedShow } from "./shared_show";
import { Snapshots } from "./snapshots";
import { Thoughts } from "./thoughts";

export class Session {
  readonly id = registry().nextId();
  readonly events = new Events<SessionEvents>();
  readonly history = new History();
  readonly kernel: KernelLink;
  readonly journal: Journal;
  readonly drafts: Drafts;
  readonly thoughts: Thoughts;
  readonly replay: ReplayLink; // a saved one in the live match's place
  taken = false; // a person plays side 0, whatever the mode
  readonly facing = new Facing(this);
  private readonly links = new Links();
  private readonly ending = new AbortController();
  private readonly screen: Screen | null; // of a show that the kernel plays
  private readonly host: Promise<ShowHost>;
  private readonly choice: SharedShow;
  private readonly hosted: ShowLink;
  private readonly snapshots: Snapshots;
  private readonly reports: Reports;
  private readonly presence: Presence;
  private over = false;
  private views = 0;

  constructor(
    readonly model: Model,
    links: readonly LinkKind[] = [],
  ) {
    const signal = this.ending.signal;
    const save = () => this.save();
    this.choice = new SharedShow(model, save, () => this.showChanged());
    this.snapshots = new Snapshots(model, this.choice, save);
    const { saved } = this.snapshots;
    this.screen = this.pictures ? new Screen(this.screenEnds()) : null;
    this.host = this.screen ? Promise.resolve(this.screen) : registry().host;
    this.hosted = new ShowLink(this);
    this.kernel = new KernelLink(model, (connected) => this.kernelIs(connected), signal);
    this.journal = keepJournal(this, signal);
    this.thoughts = new Thoughts(this);
    this.drafts = new Drafts(
      model,
      this.kernel,
      (key, value) => this.links.takes(key, value),
      () => this.configChanged(),
    );
    const snapshot = (taken: Snapshot) => {
      this.snapshots.add(taken);
      this.presence.tell();
    };
    this.reports = new Reports(this, saved, this.show.playing, snapshot);
    this.presence = new Presence(this.kernel, this.reports, () => this.snapshots.flush(), signal);
    this.replay = new ReplayLink(this, signal);
    this.links.add(ReplayLink, this.replay);
    for (const kind of links) this.links.add(kind, new kind(this, signal));
    const unsubscribe = registry().subscribe(this.id, (message) => this.receiveFromHost(message));
    signal.addEventListener("abort", unsubscribe, { once: true });

    listen(model, "change:drill", () => this.beginDrill(this.snapshots.saved), signal);
    listen(model, "change:policy", () => this.hosted.sendPolicy(), signal);
    listen(model, "change:show", () => this.choice.insisted() || this.showChanged(), signal);
    listen(model, "change:rivals", () => this.hosted.rivalsChanged(), signal);
    listen(model, "change:config", () => this.configChanged(), signal);
    const again = (event: "status" | "controls" | "scenes" | "seat" | "league") => () => this.events.emit(event, undefined);
    for (const trait of ["status", "status_text", "error", "paused"]) listen(model, `change:${trait}`, again("status"), signal);
    for (const trait of ["controls", "scenes", "seat", "league"] as const) listen(model, `change:${trait}`, again(trait), signal);
    listen(model, "change:metrics", () => this.appendMetrics(), signal);
    followKernel(this, this.screen, (message, bytes) => this.links.receiveFromKernel(message, bytes), signal);
    window.addEventListener("pagehide", () => this.snapshots.flush(), { signal });

    this.appendMetrics();
    this.beginDrill(saved);
    keepSparing(this, signal);
    this.thoughts.weigh(model.get("config")?.values.reward_weights);
  }

  /** Ends the show and every listener. */
  dispose(): void {
    this.snapshots.flush();
    this.ending.abort();
    this.post({ type: "DISPOSE", id: this.id });
    this.over = true;
  }

  // ---- what the panels read

  /** Whether the kernel plays the show and the page only draws its pictures: there are no rules here. */
  get pictures(): boolean {
    return this.model.get("drill")?.spec.pictures === true;
  }

  get state(): ShowState {
    return this.reports.state;
  }

  get scores(): readonly Episode[] {
    return this.reports.scores;
  }

  get show(): ShowTrait {
    return this.choice.here;
  }

  /** The link that a feature brought. Throws an Error where none did. */
  link<L extends Link>(kind: LinkKind<L>): L {
    return this.links.of(kind);
  }

  /** Whether a feature has a say in every decision of the policy: nothing else is offered that decides for it. */
  get claimed(): boolean {
    return this.links.claims;
  }

  /** Whether the policy plays in the kernel, and side 0 only. */
  get elsewhere(): boolean {
    return this.links.elsewhere;
  }

  /** Who plays side 1 in the place of the policy, where a feature has somebody. */
  get standIn(): StandIn | null {
    return this.links.standIn;
  }

  /** Whether what is seen is the live match, and no replay. */
  get live(): boolean {
    return this.replay.recording === null;
  }

  /** Whether this page shows a match of its own: a duel. */
  get alone(): boolean {
    return this.choice.alone;
  }

  get status(): Status {
    return this.kernel.connected ? (this.model.get("status") ?? "idle") : "disconnected";
  }

  // ---- what a person does

  /** Changes the show for everybody: this page, other views, Python. */
  setShow(change: Partial<ShowTrait>): void {
    if (change.mode !== undefined && this.choice.alone) this.setOwnShow(null); // back to everybody's match, which may have that mode already
    this.choice.set(change);
  }

  /** The same on this page alone: a duel is nobody else's, and ends with the page. null: back to everybody's match, as it was. */
  setOwnShow(change: Partial<ShowTrait> | null): void {
    this.choice.setOwn(change);
    const saved = change ? null : this.snapshots.saved;
    if (saved) this.post({ type: "RESTORE", id: this.id, snapshot: saved });
  }

  step(unit: StepUnit, count = 1): void {
    if (this.show.playing) this.setShow({ playing: false });
    this.post({ type: "STEP", id: this.id, unit, count });
  }

  skipToGoal(): void {
    this.events.emit("notice", "");
    this.post({ type: "SKIP", id: this.id });
  }

  takeOver(on: boolean): void {
    this.taken = on;
    this.post({ type: "TAKE_OVER", id: this.id, on });
    this.events.emit("show", undefined);
  }

  /** The match so far. */
  record(): Promise<Recording> {
    this.post({ type: "RECORD", id: this.id });
    return this.reports.recording;
  }

  resetMatch(seed: number): void {
    this.setShow({ seed, match: this.show.match + 1 });
  }

  /** Starts training with the settings that were changed here. */
  train(): void {
    this.events.emit("notice", "");
    this.drafts.train();
  }

  /** Learns once, then holds; starts training for that where none runs. */
  nextUpdate(): void {
    this.events.emit("notice", "");
    this.drafts.nextUpdate();
  }

  // ---- the host

  /** The host, once it is chosen; null when this session ended meanwhile. */
  async ready(): Promise<ShowHost | null> {
    const host = await this.host;
    return this.ending.signal.aborted ? null : host;
  }

  nextView(): number {
    this.kernel.greet();
    return this.views++;
  }

  /** In order, as soon as there is a host. After the show's end nothing goes there: it would begin another one that nobody ends. */
  post(message: ToWorker, transfer: Transferable[] = []): void {
    if (!this.over) void this.host.then((host) => host.post(message, transfer));
  }

  private beginDrill(saved: SavedSnapshot | null): void {
    this.hosted.begin(saved, () => {
      this.reports.forget();
      this.links.begin();
    });
  }

  private showChanged(): void {
    this.hosted.follow(() => this.replay.leave()); // who asks for a match wants the live one
  }

  private receiveFromHost(message: FromWorker): void {
    const known = this.reports.receive(message) || this.links.receive(message);
    if (known && message.type === "STATE" && this.screen) this.presence.tell();
  }

  // ---- the kernel

  private kernelIs(connected: boolean): void {
    if (connected) {
      this.kernel.greet();
      this.links.again();
    }
    this.events.emit("status", undefined);
  }

  private configChanged(): void {
    this.drafts.follow();
    this.thoughts.weigh(this.model.get("config")?.values.reward_weights);
    this.events.emit("config", undefined);
  }

  private screenEnds(): Ends {
    return {
      id: this.id,
      toKernel: (message) => this.kernel.send(message),
      toPage: (message) => this.receiveFromHost(message),
      resized: (width, height) => this.events.emit("picture", { width, height }),
    };
  }

  private appendMetrics(): void {
    const metrics = this.model.get("metrics");
    if (metrics && Object.keys(metrics).length) this.history.append(metrics);
    else this.history.clear();
    this.events.emit("history", undefined);
  }

  /** Without a kernel the page keeps to itself what a person chooses. */
  private save(): void {
    if (this.kernel.connected) this.model.save_changes();
  }
}
