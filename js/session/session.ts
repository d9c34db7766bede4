/**
 * One widget on this page, shared by all its views: keeps traits, show host and history in step. What a person presses goes
 * into the `show` trait or to the kernel; the `show` trait, whoever changed it, is what the host is set to.
 *
 * Folder `session`: the state of one widget between kernel and show worker. Builds no DOM.
 */

import { listen, type Model, type SavedSnapshot, type Traits } from "../contract/model";
import type {
  Bytes,
  ConfigValue,
  Episode,
  FromWorker,
  KernelToPage,
  Recording,
  RendererKind,
  ShowTrait,
  Snapshot,
  Status,
  StepUnit,
  ToWorker,
} from "../contract/protocol";
import { readWeights } from "../match/scores";
import { Events, type MindState, type PastState, type SessionEvents, type ShowState } from "./events";
import { History } from "./history";
import { type Journal, keepJournal } from "./journal";
import { KernelLink } from "./kernel_link";
import type { Link, Ends as LinkEnds, LinkKind } from "./link";
import { registry, type ShowHost } from "./registry";
import { ReplayLink } from "./replay_link";
import { runSettings } from "./run_settings";
import { sameSetting } from "./same_setting";
import { type Ends, Screen } from "./screen";
import { SharedShow } from "./shared_show";
import { keepSparing } from "./sparing";

const NO_GOAL = "No goal in two minutes of play. The match continues from here.";

type Buffers = readonly DataView<ArrayBuffer>[] | undefined;

export class Session {
  readonly id = registry().nextId();
  readonly events = new Events<SessionEvents>();
  readonly history = new History();
  readonly kernel: KernelLink;
  state: ShowState;
  mind: MindState = { player: 0, version: 0, range: 0, standing: false, thought: null };
  past: PastState = { versions: [], ghost: -1 };
  back = 0; // versions that the ghost is to be behind, 0: no ghost
  readonly journal: Journal;
  readonly replay: ReplayLink; // a saved one in the live match's place
  scores: readonly Episode[] = []; // the last finished games
  map = false; // whether the value map is wanted
  sight = false; // whether lines to what the player sees are wanted
  taken = false; // a person plays side 0, whatever the mode
  private readonly links: ReadonlyMap<LinkKind, Link>; // of features
  private readonly ending = new AbortController();
  private readonly screen: Screen | null; // of a show that the kernel plays
  private readonly host: Promise<ShowHost>;
  private readonly choice: SharedShow;
  private shown: ShowTrait;
  private rules = ""; // of the drill that the host was given
  private renderer: RendererKind = "canvas2d";
  private drafted: Record<string, ConfigValue> = {}; // hyper-parameters that were changed here, until the kernel has them
  private readonly recorders: ((recording: Recording) => void)[] = []; // who asked for it, in order
  private unsaved: Snapshot | null = null;
  private views = 0;
  private watchers = 0; // open panels of thoughts
  private weights = ""; // of reward terms, as the host was sent

  constructor(
    readonly model: Model,
    links: readonly LinkKind[] = [],
  ) {
    const signal = this.ending.signal;
    this.choice = new SharedShow(
      model,
      () => this.save(),
      () => this.showChanged(),
    );
    const saved = this.savedSnapshot();
    this.screen = this.pictures ? new Screen(this.screenEnds()) : null;
    this.host = this.screen ? Promise.resolve(this.screen) : registry().host;
    this.shown = this.show;
    this.state = {
      tick: saved?.tick ?? 0,
      score: saved?.score ?? [0, 0],
      version: saved?.version ?? 0,
      fps: 0,
      playing: this.shown.playing,
      events: [],
      probabilities: [],
      value: 0,
    };
    this.kernel = new KernelLink(model, () => this.events.emit("status", undefined), signal);
    this.journal = keepJournal(this, signal);
    this.links = new Map(links.map((kind) => [kind, new kind(this satisfies LinkEnds, signal)]));
    this.replay = new ReplayLink(this);
    const unsubscribe = registry().subscribe(this.id, (message) => this.receiveFromHost(message));
    signal.addEventListener("abort", unsubscribe, { once: true });

    listen(model, "change:drill", () => this.beginDrill(this.savedSnapshot()), signal);
    listen(model, "change:policy", () => this.sendPolicy(), signal);
    listen(model, "change:show", () => this.choice.insisted() || this.showChanged(), signal);
    listen(model, "change:rivals", () => this.rivalsChanged(), signal);
    listen(model, "change:config", () => this.configChanged(), signal);
    listen(model, "change:controls", () => this.events.emit("controls", undefined), signal);
    for (const trait of ["status", "status_text", "error", "paused"]) {
      listen(model, `change:${trait}`, () => this.events.emit("status", undefined), signal);
    }
    listen(model, "change:scenes", () => this.events.emit("scenes", undefined), signal);
    listen(model, "change:seat", () => this.events.emit("seat", undefined), signal);
    listen(model, "change:metrics", () => this.appendMetrics(), signal);
    listen(model, "change:league", () => this.events.emit("league", undefined), signal);
    listen(model, "msg:custom", (message: KernelToPage, buffers: Buffers) => this.receiveFromKernel(message, buffers), signal);
    window.addEventListener("pagehide", () => this.saveSnapshot(), { signal });
    document.addEventListener("visibilitychange", () => this.visibilityChanged(), { signal });

    this.appendMetrics();
    this.beginDrill(saved);
    keepSparing(this, signal);
    this.sendWeights(model.get("config")?.values.reward_weights);
  }

  /** Ends the show and every listener. */
  dispose(): void {
    this.saveSnapshot();
    this.post({ type: "DISPOSE", id: this.id });
    this.ending.abort();
  }

  // ---- what the panels read

  /** Whether the kernel plays the show and the page only draws its pictures: there are no rules here. */
  get pictures(): boolean {
    return this.model.get("drill")?.spec.pictures === true;
  }

  get show(): ShowTrait {
    return this.choice.here;
  }

  /** The link that a feature brought. Throws an Error where none did. */
  link<L extends Link>(kind: LinkKind<L>): L {
    const link = this.links.get(kind);
    if (!link) throw new Error(`This session has no ${kind.name}: add its feature to js/features/page.ts.`);
    return link as L;
  }

  /** Whether a feature has a say in every decision of the policy: nothing else is offered that decides for it. */
  get claimed(): boolean {
    return [...this.links.values()].some(({ claims }) => claims);
  }

  /** Whether the policy plays in the kernel, and side 0 only. */
  get elsewhere(): boolean {
    return [...this.links.values()].some(({ elsewhere }) => elsewhere);
  }

  get status(): Status {
    return this.kernel.connected ? (this.model.get("status") ?? "idle") : "disconnected";
  }

  /** Who plays side 1 in the sandbox, and both sides before any training. */
  get opponent(): string {
    return this.show.opponent || (this.model.get("drill")?.spec.baselines[0] ?? "random");
  }

  /** Policies that may be the opponent, by name; null: chosen once, its weights would come from the kernel. */
  get rivals(): Traits["rivals"] {
    return this.model.get("rivals") ?? {};
  }

  // ---- what a person does

  /** Changes the show for everybody: this page, other views, Python. */
  setShow(change: Partial<ShowTrait>): void {
    this.choice.set(change);
  }

  /** The same on this page alone: a duel is nobody else's, and ends with the page. null: back to everybody's match, as it was. */
  setOwnShow(change: Partial<ShowTrait> | null): void {
    this.choice.setOwn(change);
    const saved = change ? null : this.savedSnapshot();
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
    return new Promise((resolve) => this.recorders.push(resolve));
  }

  resetMatch(seed: number): void {
    this.setShow({ seed, match: this.show.match + 1 });
  }

  /** Side 1 of AI vs AI is played by the version that many back; 0: by the same as side 0, Infinity: by the first one seen. */
  goBack(versions: number): void {
    this.back = versions;
    this.post({ type: "PAST", id: this.id, back: versions });
    this.events.emit("past", undefined);
  }

  // ---- what the policy thinks

  /** One panel more, or one less, wants the thoughts reported. */
  watch(wanted: boolean): void {
    this.watchers += wanted ? 1 : -1;
    this.post({ type: "INSPECT", id: this.id, watch: this.watchers > 0 });
  }

  setMap(map: boolean): void {
    this.map = map;
    this.post({ type: "INSPECT", id: this.id, map });
    this.events.emit("mind", this.mind);
    this.events.emit("map", undefined);
  }

  setSight(sight: boolean): void {
    this.sight = sight;
    this.post({ type: "INSPECT", id: this.id, sight });
    this.events.emit("mind", this.mind);
  }

  choosePlayer(player: number): void {
    this.post({ type: "INSPECT", id: this.id, player });
  }

  /** Starts training with the hyper-parameters that were changed here. */
  train(): void {
    this.events.emit("notice", "");
    this.kernel.send({ type: "START_TRAINING", ...this.drafted });
  }

  /** Learns once, then holds; starts training for that where none runs. */
  nextUpdate(): void {
    this.events.emit("notice", "");
    this.kernel.send({ type: "NEXT_UPDATE", ...this.drafted });
  }

  /** Hyper-parameters that were changed here and that the kernel does not have yet. */
  drafts(): Readonly<Record<string, ConfigValue>> {
    return this.drafted;
  }

  /** At once while training runs and the parameter allows it, else with the next Train. */
  setHyper(key: string, value: ConfigValue): void {
    for (const link of this.links.values()) if (link.takes?.(key, value)) return;
    this.drafted = { ...this.drafted, [key]: value };
    const running = this.model.get("status") === "training" || this.model.get("status") === "starting";
    if (running && runSettings(this.model.get("config")).schema[key]?.effect !== "restart") this.kernel.send({ type: "SET_HYPER", key, value });
    this.configChanged();
  }

  // ---- the host

  /** The host, once the ladder has been climbed; null when this session ended meanwhile. */
  async ready(): Promise<ShowHost | null> {
    const host = await this.host;
    return this.ending.signal.aborted ? null : host;
  }

  nextView(): number {
    this.kernel.send({ type: "HELLO", seq: this.model.get("seq") });
    return this.views++;
  }

  /** In order, as soon as there is a host. */
  post(message: ToWorker, transfer: Transferable[] = []): void {
    void this.host.then((host) => host.post(message, transfer));
  }

  /** The host keeps what comes before the drill until it comes, so the match appears as it should be, all at once. */
  private beginDrill(saved: SavedSnapshot | null): void {
    const drill = this.model.get("drill");
    if (!drill) return;
    const rules = drill.spec.rules_hash + drill.javascript; // other rewards are other code of the same rules
    if (rules === this.rules) return;
    const { id, show } = this;
    const another = this.rules !== "";
    this.rules = rules;
    this.scores = []; // of other terms
    if (another) this.post({ type: "DRILL", id, ...drill });
    this.post({ type: "RESET_SHOW", id, seed: show.seed });
    this.sendShow(show, null);
    if (saved?.rules_hash === drill.spec.rules_hash) this.post({ type: "RESTORE", id, snapshot: saved });
    if (another) this.replay.forget();
    for (const link of this.links.values()) link.begin?.();
    this.sendPolicy();
    if (!another) this.post({ type: "DRILL", id, ...drill });
    this.events.emit("drill", undefined);
  }

  private sendPolicy(): void {
    const policy = this.model.get("policy");
    if (!policy?.data?.byteLength) return;
    const data = copyBytes(policy.data);
    const { version, layers, activation } = policy;
    this.post({ type: "POLICY", id: this.id, version, layers, activation, data }, [data]);
  }

  private showChanged(): void {
    const before = this.shown;
    this.shown = this.show;
    if (before.mode !== this.shown.mode || before.match !== this.shown.match) this.replay.leave(); // who asks for a match wants the live one
    this.sendShow(this.shown, before);
    this.events.emit("show", undefined);
  }

  /** What differs from `before`; everything where there is no before. */
  private sendShow(now: ShowTrait, before: ShowTrait | null): void {
    const id = this.id;
    const differs = (...keys: (keyof ShowTrait)[]) => keys.some((key) => now[key] !== before?.[key]);
    if (differs("action_repeat", "swap", "swap_interval_ms", "blend_ms")) {
      const { swap, swap_interval_ms, blend_ms } = now;
      const action_repeat = now.action_repeat || (this.model.get("drill")?.spec.action_repeat ?? 1);
      this.post({ type: "SHOW_CONFIG", id, action_repeat, swap, swap_interval_ms, blend_ms });
    }
    if (differs("mode", "opponent")) this.sendMode();
    if (differs("speed")) this.post({ type: "SET_SIM_SPEED", id, multiplier: now.speed });
    if (before && differs("match")) this.post({ type: "RESET_SHOW", id, seed: now.seed });
    if (differs("playing")) this.post({ type: now.playing ? "PLAY" : "PAUSE", id });
  }

  /** Who plays. An opponent that is a network goes before; until its weights are here, everybody plays on as before. */
  private sendMode(): void {
    const { id, opponent } = this;
    const rival = this.rivals[opponent];
    if (rival === null) return;
    if (rival) {
      const { version, layers, activation } = rival;
      const data = copyBytes(rival.data);
      this.post({ type: "RIVAL", id, name: opponent, version, layers, activation, data }, [data]);
    }
    this.post({ type: "SET_MODE", id, mode: this.show.mode, opponent });
  }

  private rivalsChanged(): void {
    if (this.rivals[this.opponent]) this.sendMode();
    this.events.emit("rivals", undefined);
  }

  private receiveFromHost(message: FromWorker): void {
    switch (message.type) {
      case "STATE":
        this.state = message;
        this.replay.follow(message.tick, message.playing);
        if (this.screen) this.sendPageState();
        if (message.events.some((event) => event.kind === "goalless")) this.events.emit("notice", NO_GOAL);
        this.events.emit("state", message);
        return;
      case "SNAPSHOT": {
        const { type: _type, id: _id, ...snapshot } = message;
        this.unsaved = snapshot;
        this.saveSnapshot();
        this.sendPageState();
        return;
      }
      case "MIND":
        this.mind = message;
        this.events.emit("mind", message);
        return;
      case "PAST":
        this.past = message;
        this.events.emit("past", undefined);
        return;
      case "REPLAYING":
        this.replay.receive(message);
        return;
      case "SCORES":
        this.scores = message.episodes.filter(({ after }) => after[0]?.length === this.model.get("drill")?.spec.terms.length); // others were of the rewards before
        this.events.emit("scores", undefined);
        return;
      case "SCENE":
        this.events.emit("scene", message);
        return;
      case "OUTCOMES":
        this.events.emit("outcomes", message);
        return;
      case "CURSOR":
        this.events.emit("cursor", message);
        return;
      case "RECORDING":
        this.recorders.shift()?.(message.recording);
        return;
      case "READY":
        this.renderer = message.renderer;
        this.events.emit("ready", message);
        return;
      case "CANVAS_LOST":
        this.events.emit("lost", message);
        return;
      case "ERROR":
        this.events.emit("notice", message.text);
        return;
      case "FILMED":
      case "CAPABILITIES":
        return; // the registry's own question
      default:
        for (const link of this.links.values()) if (link.receive?.(message)) return;
    }
  }

  // ---- the kernel

  private configChanged(): void {
    const { values } = runSettings(this.model.get("config"));
    const open = Object.entries(this.drafted).filter(([key, value]) => key in values && !sameSetting(values[key], value));
    this.drafted = Object.fromEntries(open);
    this.sendWeights(values.reward_weights);
    this.events.emit("config", undefined);
  }

  /** The weights of reward terms that training uses: "goal=1,approach=3" as the kernel writes them. */
  private sendWeights(value: ConfigValue = ""): void {
    const text = String(value);
    if (text === this.weights) return;
    this.weights = text;
    this.post({ type: "INSPECT", id: this.id, weights: readWeights(text) });
  }

  private receiveFromKernel(message: KernelToPage, buffers: Buffers): void {
    switch (message.type) {
      case "HISTORY":
        this.history.replace(message.start, message.rows);
        this.events.emit("history", undefined);
        return;
      case "STEP":
        this.step(message.unit, message.count);
        return;
      case "LOG":
        this.events.emit(message.level === "warning" ? "warning" : "notice", message.text);
        return;
      case "POLICY_FILE":
      case "PAGE_FILE":
      case "TRAINER":
        return; // whoever asked for it listens
      case "REWARD_CHECKED":
        this.events.emit("reward", message);
        return;
      case "FRAME":
        if (buffers?.[0]) void this.screen?.receive(message, buffers[0]);
        return;
      default:
        for (const link of this.links.values()) if (link.receiveFromKernel?.(message, buffers?.[0])) return;
        console.warn("dshq-widget: unknown message from the kernel:", message);
    }
  }

  private screenEnds(): Ends {
    return {
      id: this.id,
      toKernel: (message) => this.kernel.send(message),
      toPage: (message) => this.receiveFromHost(message),
      resized: (width, height) => this.events.emit("picture", { width, height }),
    };
  }

  private sendPageState(now = false): void {
    const { fps, tick, score, version } = this.state;
    this.kernel.sendPageState({ fps, renderer: this.renderer, tick, score, version, visible: !document.hidden }, now);
  }

  private visibilityChanged(): void {
    this.sendPageState(true);
    if (document.hidden) this.saveSnapshot();
  }

  private appendMetrics(): void {
    const metrics = this.model.get("metrics");
    if (metrics && Object.keys(metrics).length) this.history.append(metrics);
    else this.history.clear();
    this.events.emit("history", undefined);
  }

  /** The snapshot of the match as the kernel keeps it, unless it never began or was reset since. */
  private savedSnapshot(): SavedSnapshot | null {
    const saved = this.model.get("snapshot");
    if (!saved || !(saved.tick > 0) || !saved.state) return null;
    return saved.match === undefined || saved.match === this.choice.shared.match ? saved : null;
  }

  /** Without a kernel the page keeps to itself what a person chooses. */
  private save(): void {
    if (this.kernel.connected) this.model.save_changes();
  }

  private saveSnapshot(): void {
    if (!this.unsaved || this.choice.alone) return;
    this.model.set("snapshot", { ...this.unsaved, match: this.choice.shared.match });
    this.unsaved = null;
    this.save();
  }
}

/** A fresh ArrayBuffer of the same bytes: it may be transferred without taking the trait's own away. */
function copyBytes(bytes: Bytes): ArrayBuffer {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.slice().buffer;
}
