/**
 * The show worker: every match and every canvas of a page, one GPU device. `Host` is the whole of it and also runs on the page
 * itself, where there is no worker or none that draws; inside a worker it is wired to the thread's messages at the bottom.
 */
import { Ghost } from "../mind/ghost";
import { film } from "./film";
import { Frames } from "./frames";
import { Grips } from "./grips";
import { Inspector } from "../mind/inspector";
import { Policy } from "../match/policy";
import type { FromWorker, Thread, ToWorker } from "../contract/protocol";
import { hex } from "../match/recording";
import { Effects } from "../renderer/effects";
import { Gpu } from "../renderer/gpu";
import { Stage } from "../renderer/stage";
import { loadRules } from "../match/rules";
import { Show } from "../match/show";

const BEAT_MS = 250; // between two STATEs; whatever else the page is told as time goes by comes with them
const SLOW_BEAT_MS = 500; // where frames are few: a page that changes is composed anew, and whole where no GPU does it
const FEW_FRAMES = 45; // a second
const SNAPSHOT_BEATS = 4; // between two SNAPSHOTs
const FPS_WINDOW_MS = 1000;

/** What a widget has once its drill is there. */
interface Live {
  show: Show;
  effects: Effects;
  inspector: Inspector;
  grips: Grips;
}

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

/** One widget: its match, the effects on it, and the canvases that show it. */
class Widget {
  show: Show | null = null;
  effects: Effects | null = null;
  inspector: Inspector | null = null;
  grips: Grips | null = null;
  ghost: Ghost | null = null;
  readonly stages = new Map<number, Stage>();
  readonly waiting: ToWorker[] = []; // came before the drill
  reducedMotion = false;
  time = 0; // seconds of show time at the last frame
  drawn = -1; // `changes` of the show at the last frame
  told = -Infinity; // ms: when STATE was last posted
  saved = Infinity; // beats since SNAPSHOT was last posted
  untold = true; // something changed since STATE was posted
  unsaved = true; // and since SNAPSHOT was
  scored = 0; // finished games when SCORES was last posted
  private readonly frames: number[] = []; // ms: when the frames of the last second were drawn

  constructor(readonly id: string) {}

  frameDrawn(now: number): void {
    this.frames.push(now);
    this.fps(now);
  }

  fps(now: number): number {
    while (this.frames.length > 0 && this.frames[0]! <= now - FPS_WINDOW_MS) this.frames.shift();
    return this.frames.length;
  }
}

export class Host {
  private readonly widgets = new Map<string, Widget>();
  private readonly gpu: Gpu;
  private readonly frames = new Frames(
    () => this.looked(),
    () => this.everyStage((stage) => stage.replace()), // what ended the frames ended what the canvases show, too
  );
  private last = 0; // ms: the last frame
  private awake = false;

  constructor(
    private readonly post: (message: FromWorker) => void,
    private readonly thread: Thread = typeof document === "undefined" ? "worker" : "page",
  ) {
    this.gpu = new Gpu(
      () => this.everyStage((stage) => void stage.deviceLost()),
      (text) => this.widgets.forEach(({ id }) => this.post({ type: "ERROR", id, text: `WebGPU: ${text}` })),
    );
  }

  /** Does what a message says; what is wrong with it is answered as one ERROR and changes nothing. */
  receive(message: ToWorker): void {
    try {
      this.handle(message);
    } catch (error) {
      this.post({ type: "ERROR", id: message.id, text: (error as Error).message });
    }
    this.wake();
  }

  private handle(message: ToWorker): void {
    const { id } = message;
    switch (message.type) {
      case "PROBE":
        void this.gpu.capabilities().then((capabilities) => this.post({ type: "CAPABILITIES", id, capabilities }));
        return;
      case "FILM":
        void film(message, (share) => this.post({ type: "FILMED", id, share, content: null })).then(
          ({ buffer }) => this.post({ type: "FILMED", id, share: 1, content: buffer }),
          (error: Error) => this.post({ type: "ERROR", id, text: error.message }),
        );
        return;
      case "DISPOSE":
        this.dispose(message);
        return;
      case "INIT_CANVAS":
        this.addStage(this.widget(id), message);
        return;
      case "RESIZE":
        this.eachView(message, (stage) => stage.resize(message.width, message.height, message.dpi));
        return;
      case "THEME":
        if (message.reducedMotion !== undefined) this.setMotion(this.widget(id), message.reducedMotion);
        this.eachView(message, (stage) => stage.setTheme(message.theme));
        return;
      case "VISIBLE":
        this.eachView(message, (stage) => {
          stage.visible = message.visible;
          stage.stale = true;
        });
        return;
      case "DRILL":
        this.beginShow(this.widget(id), message);
        return;
      case "POINTER":
        this.point(this.widget(id), message);
        return;
      case "INSPECT":
      case "PICK":
      case "IMAGINE":
      case "GHOST": {
        const widget = this.widget(id);
        if (widget.show && widget.inspector) this.inspect(widget, widget.show, widget.inspector, message);
        else widget.waiting.push(message);
        return;
      }
      default: {
        const widget = this.widget(id);
        if (widget.show) this.direct(widget, widget.show, message);
        else widget.waiting.push(message);
      }
    }
  }

  /** Messages that speak to the match itself. */
  private direct(widget: Widget, show: Show, message: ToWorker): void {
    switch (message.type) {
      case "POLICY":
        this.swapIn(widget, show, new Policy(message.version, message.layers, message.activation, message.data));
        break;
      case "RIVAL":
        show.deciders.setRival(message.name, new Policy(message.version, message.layers, message.activation, message.data));
        break;
      case "PAST":
        widget.ghost?.goBack(message.back);
        break;
      case "SET_MODE":
        show.setMode(message.mode, message.opponent);
        break;
      case "INPUT_BATCH":
        for (const event of message.events) show.input(event);
        return;
      case "SHOW_CONFIG":
        if (message.action_repeat !== undefined) show.setActionRepeat(message.action_repeat);
        show.deciders.swapWhen = message.swap ?? show.deciders.swapWhen;
        show.deciders.swapInterval = message.swap_interval_ms ?? show.deciders.swapInterval;
        show.deciders.blend = message.blend_ms ?? show.deciders.blend;
        return;
      case "TAKE_OVER":
        show.takeOver(message.on);
        return;
      case "RECORD":
        this.post({ type: "RECORDING", id: widget.id, recording: show.recording() });
        return;
      case "CAPTURE":
        this.post({ type: "SCENE", id: widget.id, state: hex(show.state.buffer), over: show.over });
        return;
      case "SKIP":
        show.skipToGoal();
        break;
      case "PLAY":
        show.play();
        break;
      case "PAUSE":
        show.pause();
        break;
      case "STEP":
        show.stepBy(message.unit, message.count);
        break;
      case "RESET_SHOW":
        show.reset(message.seed);
        break;
      case "SET_SIM_SPEED":
        show.setSpeed(message.multiplier);
        break;
      case "RESTORE":
        show.restore(message.snapshot);
        break;
      default:
        console.warn("dshq-widget: unknown message to the show:", message);
        return;
    }
    widget.told = -Infinity; // whoever asked sees the answer at the next frame
    widget.saved = Infinity;
  }

  private swapIn({ ghost }: Widget, show: Show, policy: Policy): void {
    show.setPolicy(policy);
    ghost?.see(policy); // once the show has taken it
  }

  /** Pointers before the drill or on a canvas that is gone mean nothing. */
  private point({ show, grips, stages }: Widget, message: Message<"POINTER">): void {
    const view = message.view ?? 0;
    const stage = stages.get(view);
    if (!show || !grips || !stage) return;
    const { world } = show.spec;
    grips.pointed(view, message, ...stage.worldAt(world, message.x, message.y), stage.unit(world), performance.now());
  }

  /** Messages of the person who asks what the policy thinks. */
  private inspect(widget: Widget, show: Show, inspector: Inspector, message: Message<"INSPECT" | "PICK" | "IMAGINE" | "GHOST">): void {
    const { id } = message;
    switch (message.type) {
      case "INSPECT":
        inspector.wish(message);
        return;
      case "PICK": {
        const place = widget.stages.get(message.view ?? 0)?.worldAt(show.spec.world, message.x, message.y);
        if (place) inspector.pick(...place);
        return;
      }
      case "IMAGINE":
        this.post({ type: "OUTCOMES", id, player: inspector.wishes.player, outcomes: inspector.imagine(message.repeat) });
        return;
      case "GHOST":
        inspector.point(message.outcome);
    }
  }

  // ---- widgets and canvases

  private widget(id: string): Widget {
    const known = this.widgets.get(id);
    if (known) return known;
    const widget = new Widget(id);
    this.widgets.set(id, widget);
    return widget;
  }

  /** A drill that is already being shown goes on; another one begins anew. */
  private beginShow(widget: Widget, { spec, javascript }: Message<"DRILL">): void {
    if (widget.show?.spec.rules_hash === spec.rules_hash) return;
    const show = new Show(loadRules(javascript), spec);
    const effects = new Effects(show);
    effects.reducedMotion = widget.reducedMotion;
    show.spectator = effects;
    const inspector = new Inspector(show);
    const { map = false, watch = false, weights = {} } = widget.inspector?.wishes ?? {};
    inspector.wish({ map, watch, weights });
    const grips = new Grips(show, inspector);
    Object.assign(widget, { show, effects, inspector, grips, ghost: new Ghost(show), drawn: -1 });
    for (const message of widget.waiting.splice(0)) this.handle(message);
  }

  private addStage(widget: Widget, message: Message<"INIT_CANVAS">): void {
    const { id, view = 0, offscreen: canvas, width, height, dpi, theme, renderer = "webgpu", reason = "" } = message;
    widget.stages.get(view)?.dispose();
    if (message.reducedMotion !== undefined) this.setMotion(widget, message.reducedMotion);
    const options = { id, view, canvas, width, height, dpi, theme, renderer, reason };
    widget.stages.set(view, new Stage(options, this.gpu, this.thread, this.post, () => this.wake()));
  }

  private setMotion(widget: Widget, reduced: boolean): void {
    widget.reducedMotion = reduced;
    if (widget.effects) widget.effects.reducedMotion = reduced;
  }

  private dispose({ id, view }: Message<"DISPOSE">): void {
    const widget = this.widgets.get(id);
    if (!widget) return;
    for (const [name, stage] of widget.stages) {
      if (view !== undefined && view !== name) continue;
      stage.dispose();
      widget.stages.delete(name);
    }
    if (view === undefined) this.widgets.delete(id);
  }

  private eachView({ id, view = 0 }: { id: string; view?: number }, act: (stage: Stage) => void): void {
    const stage = this.widgets.get(id)?.stages.get(view);
    if (stage) act(stage);
  }

  private looked(): boolean {
    return [...this.widgets.values()].some(({ stages }) => [...stages.values()].some(({ visible }) => visible));
  }

  private everyStage(act: (stage: Stage) => void): void {
    for (const widget of this.widgets.values()) widget.stages.forEach(act);
  }

  // ---- frames

  private wake(): void {
    if (this.awake) return;
    this.awake = true;
    this.last = performance.now();
    this.frames.next(this.frame);
  }

  private readonly frame = (): void => {
    const now = performance.now();
    const seconds = (now - this.last) / 1000;
    this.last = now;
    this.awake = false;
    for (const widget of this.widgets.values()) {
      const { show, effects, inspector, grips } = widget;
      if (show && effects && inspector && grips && this.run(widget, { show, effects, inspector, grips }, seconds, now)) this.awake = true;
    }
    if (this.awake) this.frames.next(this.frame);
  };

  /** One frame of one widget; whether there is to be another. */
  private run(widget: Widget, { show, effects, inspector, grips }: Live, seconds: number, now: number): boolean {
    const held = grips.advance(now);
    show.advance(seconds);
    effects.advance(show.time - widget.time, seconds);
    widget.time = show.time;
    const changed = show.playing || show.skipping || show.changes !== widget.drawn;
    widget.drawn = show.changes;
    const seen = [...widget.stages.values()].some((stage) => stage.visible && stage.ready);
    const busy = inspector.advance(seconds, seen);
    const stirred = inspector.stirred || grips.stirred;
    inspector.stirred = grips.stirred = false;
    const blurred = show.skipping && widget.reducedMotion; // only the end of a quick way is shown
    let drew = false;
    for (const stage of widget.stages.values()) {
      if (!stage.visible || !stage.ready || blurred || !(changed || stirred || stage.stale)) continue;
      stage.draw(show, effects, grips);
      drew = true;
    }
    if (drew) widget.frameDrawn(now);
    for (const [view, cursor] of grips.changedCursors()) this.post({ type: "CURSOR", id: widget.id, view, cursor });
    if (changed) widget.untold = widget.unsaved = true;
    const beat = this.report(widget, show, now);
    const mind = inspector.report(beat, changed);
    if (mind) this.post({ type: "MIND", id: widget.id, ...mind });
    return show.playing || show.skipping || busy || held || widget.untold || widget.unsaved;
  }

  /** Tells the page how the match stands, on its beat or because somebody asked; whether it did. */
  private report(widget: Widget, show: Show, now: number): boolean {
    const { id } = widget;
    const fps = widget.fps(now);
    const asked = widget.told === -Infinity;
    const beat = show.playing && fps < FEW_FRAMES ? SLOW_BEAT_MS : BEAT_MS;
    if (!asked && !((widget.untold || widget.unsaved) && now - widget.told >= beat)) return false;
    widget.told = now;
    widget.untold = false;
    const { tick, version, playing } = show;
    const events = show.takeEvents();
    this.post({ type: "STATE", id, tick, score: [...show.score], version, fps, playing, events, ...show.deciders.opinion(show.state) });
    const past = widget.ghost?.advance();
    if (past) this.post({ type: "PAST", id, ...past });
    if (++widget.saved < SNAPSHOT_BEATS || !(widget.unsaved || widget.saved === Infinity)) return true;
    widget.saved = 0;
    widget.unsaved = false;
    this.post({ type: "SNAPSHOT", id, ...show.snapshot() });
    if (show.scores.changes !== widget.scored) {
      widget.scored = show.scores.changes;
      this.post({ type: "SCORES", id, episodes: [...show.scores.episodes] });
    }
    return true;
  }
}

declare const WorkerGlobalScope: (new () => EventTarget) | undefined;

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  const host = new Host((message) => self.postMessage(message));
  self.onmessage = ({ data }: MessageEvent<ToWorker>) => host.receive(data);
}
