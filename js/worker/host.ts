/**
 * The show worker: every match and every canvas of a page, one GPU device. `Host` is the whole of it and also runs on the page
 * itself, where there is no worker or none that draws. js/show_worker.ts makes it.
 *
 * Folder `worker`: what runs in the show worker, around match, mind and renderer. Knows the page by its messages only.
 */

import type { FromWorker, Recording, Thread, ToWorker } from "../contract/protocol";
import type { MatchPart, ShowFeature } from "../features/plug";
import { Policy } from "../match/policy";
import { stateHex } from "../match/recording";
import { replayShow } from "../match/replay";
import { loadRules } from "../match/rules";
import { Show } from "../match/show";
import { sightsOf } from "../match/sights";
import { holderOf } from "../mind/analysis";
import { EarlierVersion } from "../mind/earlier_version";
import { Inspector } from "../mind/inspector";
import type { Layer } from "../mind/layer";
import { Effects } from "../renderer/effects";
import { Gpu } from "../renderer/gpu";
import { Surface } from "../renderer/surface";
import { CellPicks } from "./cell_picks";
import { film } from "./film";
import { Frames } from "./frames";
import { beginParts } from "./parts";
import { PointerDrags } from "./pointer_drags";

const BEAT_MS = 250; // between two STATEs; whatever else the page receives as time goes by comes with them
const SLOW_BEAT_MS = 500; // where frames are few: a page that changes is composed anew, and whole where no GPU does it
const SPARING_BEAT_MS = 1000; // while training wants the processor, too
const FEW_FRAMES = 45; // a second
const SNAPSHOT_BEATS = 4; // between two SNAPSHOTs
const FPS_WINDOW_MS = 1000;
const GAPS = 200; // between frames, of which the 95th percentile is reported
const EARLY_MS = 4; // that a frame may come before it is due

/** What a widget has once its drill is there. */
interface Live {
  show: Show;
  effects: Effects;
  inspector: Inspector;
  drags: PointerDrags;
  picks: CellPicks; // drawn above the drags
}

/** Messages that speak to the replay while there is one; all others to the live match. */
const OF_WHAT_IS_SEEN = new Set<ToWorker["type"]>(["PLAY", "PAUSE", "STEP", "SKIP", "SET_SIM_SPEED", "RECORD", "CAPTURE"]);

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

/** One widget: its match, the effects on it, and the canvases that show it. */
class Widget {
  show: Show | null = null;
  code = ""; // of its rules
  effects: Effects | null = null;
  inspector: Inspector | null = null;
  drags: PointerDrags | null = null;
  picks: CellPicks | null = null;
  earlier: EarlierVersion | null = null;
  parts: readonly MatchPart[] = []; // of features, in the live match
  live: Live | null = null; // the match that stands still while a replay is played in its place
  readonly surfaces = new Map<number, Surface>();
  readonly waiting: ToWorker[] = []; // came before the drill
  reducedMotion = false;
  time = 0; // seconds of show time at the last frame
  drawn = -1; // `changes` of the show at the last frame
  reportedAt = -Infinity; // ms: when STATE was last posted
  beatsSinceSnapshot = Infinity; // beats since SNAPSHOT was last posted
  stateDirty = true; // something changed since STATE was posted
  snapshotDirty = true; // and since SNAPSHOT was
  scoresReported = 0; // finished games when SCORES was last posted
  sparing = 0; // frames a second that are enough while something trains on this machine; 0: nothing does
  private readonly frames: number[] = []; // ms: when the frames of the last second were drawn
  private readonly gaps: number[] = []; // ms between the last frames
  private drewAt = -Infinity; // ms

  constructor(readonly id: string) {}

  frameDrawn(now: number): void {
    this.frames.push(now);
    this.fps(now);
    if (now - this.drewAt < FPS_WINDOW_MS) this.gaps.push(now - this.drewAt); // else it stood still in between
    if (this.gaps.length > GAPS) this.gaps.shift();
    this.drewAt = now;
  }

  /** Within which 95 of 100 frames came after the one before; 0 before any. */
  get pace(): number {
    return [...this.gaps].sort((a, b) => a - b)[Math.floor(0.95 * this.gaps.length)] ?? 0;
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
    () => this.anyVisible(),
    () => this.everySurface((surface) => surface.replace()), // what ended the frames ended what the canvases show, too
  );
  private last = 0; // ms: the last frame
  private awake = false;
  private due = 0; // ms: the next frame where frames are spared

  constructor(
    private readonly post: (message: FromWorker) => void,
    private readonly features: readonly ShowFeature[],
    private readonly thread: Thread = typeof document === "undefined" ? "worker" : "page",
  ) {
    this.gpu = new Gpu(
      () => this.everySurface((surface) => void surface.deviceLost()),
      (text) => {
        console.warn("dshq-widget: WebGPU did not draw a frame:", text);
        this.everySurface((surface) => surface.failed());
      },
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
        this.addSurface(this.widget(id), message);
        return;
      case "RESIZE":
        this.eachView(message, (surface) => surface.resize(message.width, message.height, message.dpi));
        return;
      case "THEME":
        if (message.reducedMotion !== undefined) this.setMotion(this.widget(id), message.reducedMotion);
        this.eachView(message, (surface) => surface.setTheme(message.theme));
        return;
      case "SPARE": {
        const widget = this.widget(id);
        widget.sparing = message.frames;
        for (const surface of widget.surfaces.values()) surface.spare(message.frames > 0);
        return;
      }
      case "VISIBLE":
        this.eachView(message, (surface) => {
          surface.visible = message.visible;
          surface.stale = true;
        });
        return;
      case "DRILL":
        this.beginShow(this.widget(id), message);
        return;
      case "POINTER":
        this.receivePointer(this.widget(id), message);
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
        if (widget.show) this.direct(widget, OF_WHAT_IS_SEEN.has(message.type) ? widget.show : (widget.live?.show ?? widget.show), message);
        else widget.waiting.push(message);
      }
    }
  }

  /** Messages that speak to the match itself. */
  private direct(widget: Widget, show: Show, message: ToWorker): void {
    switch (message.type) {
      case "POLICY":
        this.setPolicy(widget, show, new Policy(message.version, message.layers, message.activation, message.data));
        break;
      case "RIVAL":
        show.deciders.setRival(message.name, new Policy(message.version, message.layers, message.activation, message.data));
        break;
      case "PAST":
        widget.earlier?.goBack(message.back);
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
      case "REPLAY":
        this.setReplay(widget, show, message.recording);
        break;
      case "CAPTURE":
        this.post({ type: "SCENE", id: widget.id, state: stateHex(show.state.buffer), over: show.over });
        return;
      case "SKIP":
        show.skipToGoal();
        break;
      case "PLAY":
        if (show.script && show.ended) this.setReplay(widget, widget.live!.show, show.script.recording);
        (show.script ? widget.show! : show).play();
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
        if (!this.askParts(widget, message)) return;
    }
    widget.reportedAt = -Infinity; // whoever asked sees the answer at the next frame
    widget.beatsSinceSnapshot = Infinity;
  }

  /** Gives a message to the feature that it speaks to; whether the page is to be told at once. */
  private askParts({ parts }: Widget, message: ToWorker): boolean {
    for (const part of parts) {
      const answer = part.receive?.(message) ?? null;
      if (answer !== null) return answer;
    }
    console.warn("dshq-widget: unknown message to the show:", message);
    return false;
  }

  private setPolicy({ earlier }: Widget, show: Show, policy: Policy): void {
    show.setPolicy(policy);
    earlier?.add(policy); // once the show has taken it
  }

  /** Pointers before the drill or on a canvas that is gone mean nothing. */
  private receivePointer({ show, drags, picks, surfaces }: Widget, message: Message<"POINTER">): void {
    const view = message.view ?? 0;
    const surface = surfaces.get(view);
    if (!show || !drags || !picks || !surface || show.script) return;
    const { world } = show.spec;
    const [place, unit] = [surface.worldAt(world, message.x, message.y), surface.unit(world)];
    drags.receive(view, message, ...place, unit, performance.now());
    picks.receive(view, message, ...place, unit);
  }

  /** Messages of the person who asks what the policy thinks. */
  private inspect(widget: Widget, show: Show, inspector: Inspector, message: Message<"INSPECT" | "PICK" | "IMAGINE" | "GHOST">): void {
    const { id } = message;
    switch (message.type) {
      case "INSPECT":
        inspector.configure(message);
        widget.live?.inspector.configure(message);
        return;
      case "PICK": {
        const place = widget.surfaces.get(message.view ?? 0)?.worldAt(show.spec.world, message.x, message.y);
        if (place) inspector.pick(...place);
        return;
      }
      case "IMAGINE":
        this.post({ type: "OUTCOMES", id, player: inspector.settings.player, outcomes: inspector.imagine(message.repeat) });
        return;
      case "GHOST":
        inspector.showOutcome(message.outcome);
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
    if (widget.show?.spec.rules_hash === spec.rules_hash && widget.code === javascript) return;
    widget.code = javascript;
    const tags = [...(spec.tags ?? []), ...sightsOf(spec).map(({ name }) => name)];
    const show = new Show(loadRules(javascript), { ...spec, tags });
    widget.parts = beginParts(this.features, { show, post: (body) => this.post({ ...body, id: widget.id } as FromWorker) });
    const layers = widget.parts.flatMap(({ layer }) => layer ?? []);
    Object.assign(widget, this.around(widget, show, layers), { live: null, earlier: new EarlierVersion(show), drawn: -1 });
    for (const message of widget.waiting.splice(0)) this.handle(message);
  }

  /** A show, and what is drawn on it. */
  private around(widget: Widget, show: Show, layers: readonly Layer[] = []): Live {
    const effects = new Effects(show);
    effects.reducedMotion = widget.reducedMotion;
    show.spectator = effects;
    const inspector = new Inspector(show, layers);
    const { player: _, ...asked } = widget.inspector?.settings ?? {};
    inspector.configure(asked);
    inspector.calm = widget.reducedMotion;
    const drags = new PointerDrags(show, inspector);
    return { show, effects, inspector, drags, picks: new CellPicks(show, drags) };
  }

  /** Plays a recording in the place of the live match `show`, which stands still; null: the live match goes on. */
  private setReplay(widget: Widget, show: Show, recording: Recording | null): void {
    const { id, live } = widget;
    if (!recording && !live) return;
    const { speed, playing } = widget.show!;
    let problem = "";
    try {
      const next = recording ? this.around(widget, replayShow(show.game, show.spec, recording)) : live!;
      const { effects, inspector, drags, picks } = widget as Live;
      const aside = live ?? { show, effects, inspector, drags, picks };
      Object.assign(widget, next, { live: recording ? aside : null, time: next.show.time, drawn: -1 });
      next.show.setSpeed(speed);
      if (playing) next.show.play();
      else next.show.pause();
    } catch (error) {
      problem = (error as Error).message;
    }
    this.post({ type: "REPLAYING", id, problem });
  }

  private addSurface(widget: Widget, message: Message<"INIT_CANVAS">): void {
    const { id, view = 0, offscreen: canvas, width, height, dpi, theme, renderer = "webgpu", reason = "" } = message;
    widget.surfaces.get(view)?.dispose();
    if (message.reducedMotion !== undefined) this.setMotion(widget, message.reducedMotion);
    const options = { id, view, canvas, width, height, dpi, theme, renderer, reason };
    const surface = new Surface(options, this.gpu, this.thread, this.post, () => this.wake());
    surface.spare(widget.sparing > 0);
    widget.surfaces.set(view, surface);
  }

  private setMotion(widget: Widget, reduced: boolean): void {
    widget.reducedMotion = reduced;
    if (widget.effects) widget.effects.reducedMotion = reduced;
    if (widget.inspector) widget.inspector.calm = reduced;
  }

  private dispose({ id, view }: Message<"DISPOSE">): void {
    const widget = this.widgets.get(id);
    if (!widget) return;
    for (const [name, surface] of widget.surfaces) {
      if (view !== undefined && view !== name) continue;
      surface.dispose();
      widget.surfaces.delete(name);
    }
    if (view === undefined) this.widgets.delete(id);
  }

  private eachView({ id, view = 0 }: { id: string; view?: number }, act: (surface: Surface) => void): void {
    const surface = this.widgets.get(id)?.surfaces.get(view);
    if (surface) act(surface);
  }

  private anyVisible(): boolean {
    return [...this.widgets.values()].some(({ surfaces }) => [...surfaces.values()].some(({ visible }) => visible));
  }

  private everySurface(act: (surface: Surface) => void): void {
    for (const widget of this.widgets.values()) widget.surfaces.forEach(act);
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
    if (this.leavesOut(now)) {
      this.frames.next(this.frame);
      return;
    }
    const seconds = (now - this.last) / 1000;
    this.last = now;
    this.awake = false;
    for (const widget of this.widgets.values()) {
      const { show, effects, inspector, drags, picks } = widget;
      if (!show || !effects || !inspector || !drags || !picks) continue;
      if (this.run(widget, { show, effects, inspector, drags, picks }, seconds, now)) this.awake = true;
    }
    if (this.awake) this.frames.next(this.frame);
  };

  /** Whether this frame is left to training: those that are drawn come evenly. */
  private leavesOut(now: number): boolean {
    const shown = [...this.widgets.values()].filter(({ surfaces }) => [...surfaces.values()].some(({ visible }) => visible));
    const seen = shown.flatMap(({ surfaces }) => [...surfaces.values()]).filter(({ visible }) => visible);
    if (seen.length === 0 || !seen.every(({ spares }) => spares)) return false;
    if (now < this.due - EARLY_MS) return true;
    const pause = 1000 / Math.max(...shown.map(({ sparing }) => sparing));
    this.due = Math.max(this.due + pause, now + pause / 2);
    return false;
  }

  /** One frame of one widget; whether there is to be another. */
  private run(widget: Widget, { show, effects, inspector, drags, picks }: Live, seconds: number, now: number): boolean {
    const held = drags.advance(now);
    show.advance(seconds);
    effects.advance(show.time - widget.time, seconds);
    widget.time = show.time;
    const changed = show.playing || show.skipping || show.changes !== widget.drawn;
    widget.drawn = show.changes;
    const seen = [...widget.surfaces.values()].some((surface) => surface.visible && surface.ready);
    const busy = inspector.advance(seconds, seen);
    const dirty = inspector.dirty || drags.dirty || picks.dirty;
    inspector.dirty = drags.dirty = picks.dirty = false;
    const blurred = show.skipping && widget.reducedMotion; // only the end of a quick way is shown
    let drew = false;
    for (const surface of widget.surfaces.values()) {
      if (!surface.visible || !surface.ready || blurred || !(changed || dirty || surface.stale)) continue;
      surface.draw(show, effects, picks);
      drew = true;
    }
    if (drew) widget.frameDrawn(now);
    for (const [view, cursor] of drags.changedCursors()) this.post({ type: "CURSOR", id: widget.id, view, cursor });
    if (changed) widget.stateDirty = widget.snapshotDirty = true;
    for (const part of widget.parts) part.frame?.();
    const beat = this.report(widget, show, now);
    const mind = inspector.report(beat, changed);
    if (mind) this.post({ type: "MIND", id: widget.id, ...mind });
    return show.playing || show.skipping || busy || held || widget.stateDirty || widget.snapshotDirty;
  }

  /** Tells the page how the match stands, on its beat or because somebody asked; whether it did. */
  private report(widget: Widget, show: Show, now: number): boolean {
    const { id } = widget;
    const fps = widget.fps(now);
    const asked = widget.reportedAt === -Infinity;
    const slow = widget.sparing ? SPARING_BEAT_MS : SLOW_BEAT_MS;
    const beat = show.playing && fps < FEW_FRAMES ? slow : BEAT_MS;
    if (!asked && !((widget.stateDirty || widget.snapshotDirty) && now - widget.reportedAt >= beat)) return false;
    widget.reportedAt = now;
    widget.stateDirty = false;
    const { tick, version, playing } = show;
    const events = show.takeEvents();
    const frame_ms = widget.pace;
    const holder = holderOf(show.spec, show.state);
    this.post({
      type: "STATE",
      id,
      tick,
      score: [...show.score],
      version,
      fps,
      frame_ms,
      playing,
      events,
      holder,
      lively: show.touches.report(),
      ...show.deciders.opinion(show.state),
    });
    for (const part of widget.parts) part.report?.();
    const past = widget.earlier?.advance();
    if (past) this.post({ type: "PAST", id, ...past });
    if (show.script) return true; // what is kept is the live match
    if (++widget.beatsSinceSnapshot < SNAPSHOT_BEATS || !(widget.snapshotDirty || widget.beatsSinceSnapshot === Infinity)) return true;
    widget.beatsSinceSnapshot = 0;
    widget.snapshotDirty = false;
    this.post({ type: "SNAPSHOT", id, ...show.snapshot() });
    if (show.scores.changes !== widget.scoresReported) {
      widget.scoresReported = show.scores.changes;
      this.post({ type: "SCORES", id, episodes: [...show.scores.episodes] });
    }
    return true;
  }
}
