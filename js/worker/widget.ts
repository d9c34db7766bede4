/** One widget in the show worker: its match, a replay in the place of that, and the canvases that show it. */
import type { Recording, ToPage, ToWorker } from "../contract/protocol";
import type { MatchPart, ShowFeature } from "../features/plug";
import { Policy } from "../match/network/policy";
import { stateHex } from "../match/recording";
import { checked, checkedShow, inSlices } from "../match/replay";
import { loadRules } from "../match/rules";
import { Show } from "../match/show";
import { sightsOf } from "../match/sights";
import { Inspector } from "../mind/inspector";
import type { Layer } from "../mind/layer";
import { Effects } from "../renderer/effects";
import type { Surface } from "../renderer/surface";
import { CellPicks } from "./cell_picks";
import { Pace } from "./pace";
import { beginParts } from "./parts";
import { PointerDrags } from "./pointer_drags";
import { Reporter } from "./reporter";

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

/** A show, and what is drawn on it. */
interface Staged {
  show: Show;
  effects: Effects;
  inspector: Inspector;
  drags: PointerDrags;
  picks: CellPicks; // drawn above the drags
}

/** Messages that speak to the replay while there is one; all others to the live match. */
const OF_WHAT_IS_SEEN = new Set<ToWorker["type"]>(["PLAY", "PAUSE", "STEP", "SKIP", "SET_SIM_SPEED", "RECORD", "CAPTURE"]);

export class Widget {
  readonly surfaces = new Map<number, Surface>();
  sparing = 0; // frames a second that are enough while something trains on this machine; 0: nothing does
  private match: Staged | null = null; // the live one
  private replay: Staged | null = null; // that is played in its place, while it stands still
  private loading: Recording | null = null; // that is checked before it is played
  private parts: readonly MatchPart[] = []; // of features, in the live match
  private code = ""; // of the drill's rules
  private readonly waiting: ToWorker[] = []; // came before the drill
  private reducedMotion = false;
  private time = 0; // seconds of show time at the last frame
  private drawn = -1; // `changes` of the show at the last frame
  private readonly pace = new Pace();
  private readonly reporter: Reporter;

  constructor(
    private readonly post: ToPage,
    private readonly features: readonly ShowFeature[],
  ) {
    this.reporter = new Reporter(post, this.pace);
  }

  private get seen(): Staged | null {
    return this.replay ?? this.match;
  }

  get visible(): Surface[] {
    return [...this.surfaces.values()].filter(({ visible }) => visible);
  }

  setMotion(reduced: boolean): void {
    this.reducedMotion = reduced;
    for (const staged of [this.match, this.replay]) if (staged) this.calm(staged);
  }

  spare(frames: number): void {
    this.sparing = frames;
    for (const surface of this.surfaces.values()) surface.spare(frames > 0);
  }

  addSurface(view: number, surface: Surface): void {
    surface.spare(this.sparing > 0);
    this.surfaces.set(view, surface);
  }

  /** Of all views where none is given. */
  removeSurface(view?: number): void {
    for (const [name, surface] of this.surfaces) {
      if (view !== undefined && view !== name) continue;
      surface.dispose();
      this.surfaces.delete(name);
    }
  }

  /** Does what a message says that speaks to the match. Throws an Error of a sentence, and changes nothing, where that cannot be done. */
  receive(message: ToWorker): void {
    if (message.type === "DRILL") this.begin(message);
    else if (message.type === "POINTER") this.point(message);
    else if (!this.match || !this.seen) this.waiting.push(message);
    else if (!this.inspect(this.match, this.seen, message)) {
      const { show } = OF_WHAT_IS_SEEN.has(message.type) ? this.seen : this.match;
      if (this.direct(show, message)) this.reporter.ask();
    }
  }

  /** One frame; whether there is to be another. */
  run(seconds: number, now: number): boolean {
    if (!this.seen) return false;
    const { show, effects, inspector, drags, picks } = this.seen;
    const held = drags.advance(now);
    show.advance(seconds);
    effects.advance(show.time - this.time, seconds);
    this.time = show.time;
    const changed = show.playing || show.skipping || show.changes !== this.drawn;
    this.drawn = show.changes;
    const busy = inspector.advance(
      seconds,
      this.visible.some(({ ready }) => ready),
    );
    const dirty = [inspector, drags, picks].map((drawn) => drawn.takeDirty()).includes(true); // all of them
    const blurred = show.skipping && this.reducedMotion; // only the end of a quick way is shown
    let drew = false;
    for (const surface of this.surfaces.values()) {
      if (!surface.visible || !surface.ready || blurred || !(changed || dirty || surface.stale)) continue;
      surface.draw(show, effects, picks);
      drew = true;
    }
    if (drew) this.pace.drawn(now);
    for (const [view, cursor] of drags.changedCursors()) this.post({ type: "CURSOR", view, cursor });
    if (changed) this.reporter.changed();
    for (const part of this.parts) part.frame?.();
    const beat = this.reporter.report(show, this.parts, this.sparing > 0, now);
    const mind = inspector.report(beat, changed);
    if (mind) this.post({ type: "MIND", ...mind });
    return show.playing || show.skipping || busy || held || this.reporter.due;
  }

  /** A drill that is already being shown continues; another one starts over. */
  private begin({ spec, javascript }: Message<"DRILL">): void {
    if (this.seen?.show.spec.rules_hash === spec.rules_hash && this.code === javascript) return;
    this.code = javascript;
    const tags = [...(spec.tags ?? []), ...sightsOf(spec).map(({ name }) => name)];
    const show = new Show(loadRules(javascript), { ...spec, tags });
    this.parts = beginParts(this.features, { show, post: this.post });
    const layers = this.parts.flatMap(({ layer }) => layer ?? []);
    this.match = this.around(show, layers);
    this.replay = this.loading = null;
    this.drawn = -1;
    for (const message of this.waiting.splice(0)) this.receive(message);
  }

  /** `layers`: what features draw on it. */
  private around(show: Show, layers: readonly Layer[] = []): Staged {
    const effects = new Effects(show);
    show.watchedBy(effects);
    const inspector = new Inspector(show, layers);
    const { player: _, ...asked } = this.seen?.inspector.settings ?? {};
    inspector.configure(asked);
    const drags = new PointerDrags(show, inspector);
    const staged = { show, effects, inspector, drags, picks: new CellPicks(show, drags) };
    this.calm(staged);
    return staged;
  }

  private calm({ effects, inspector }: Staged): void {
    effects.setMotion(this.reducedMotion);
    inspector.setMotion(this.reducedMotion);
  }

  /** Plays a recording in the place of the live match once it is checked, in slices: the other matches of the page play on meanwhile. */
  private async load(recording: Recording): Promise<void> {
    this.loading = recording;
    let problem = "";
    try {
      const { game, spec } = this.match!.show;
      await inSlices(checked(game, spec, recording), () => this.loading === recording);
      this.setReplay(recording);
      this.reporter.ask();
    } catch (error) {
      problem = (error as Error).message;
    }
    this.post({ type: "REPLAYING", problem });
  }

  /** Plays a recording that was checked in the place of the live match; null: that continues. */
  private setReplay(recording: Recording | null): void {
    this.loading = null;
    if (!recording && !this.replay) return;
    const { speed, playing } = this.seen!.show;
    const { game, spec } = this.match!.show;
    this.replay = recording && this.around(checkedShow(game, spec, recording));
    const { show } = this.seen!;
    this.time = show.time;
    this.drawn = -1;
    show.setSpeed(speed);
    if (playing) show.play();
    else show.pause();
  }

  /** Pointers before the drill or on a canvas that is gone mean nothing. */
  private point(message: Message<"POINTER">): void {
    const view = message.view ?? 0;
    const surface = this.surfaces.get(view);
    if (!this.match || !surface || this.replay) return;
    const { show, drags, picks } = this.match;
    const { world } = show.spec;
    const [place, unit] = [surface.worldAt(world, message.x, message.y), surface.unit(world)];
    drags.receive(view, message, ...place, unit, performance.now());
    picks.receive(view, message, ...place, unit);
  }

  /** Messages of the person who asks what the policy thinks: whether it is one. */
  private inspect(live: Staged, { show, inspector }: Staged, message: ToWorker): boolean {
    switch (message.type) {
      case "INSPECT":
        inspector.configure(message);
        if (inspector !== live.inspector) live.inspector.configure(message);
        return true;
      case "PICK": {
        const place = this.surfaces.get(message.view ?? 0)?.worldAt(show.spec.world, message.x, message.y);
        if (place) inspector.pick(...place);
        return true;
      }
      case "IMAGINE":
        this.post({ type: "OUTCOMES", player: inspector.settings.player, outcomes: inspector.imagine(message.repeat) });
        return true;
      case "GHOST":
        inspector.showOutcome(message.outcome);
        return true;
      default:
        return false;
    }
  }

  /** Messages that speak to the match itself: whether the page gets the result at once. */
  private direct(show: Show, message: ToWorker): boolean {
    switch (message.type) {
      case "POLICY": {
        const policy = new Policy(message.version, message.layers, message.activation, message.data);
        show.setPolicy(policy, message.replaces);
        for (const part of this.parts) part.policyCame?.(policy, message.replaces ?? false);
        return true;
      }
      case "RIVAL":
        show.deciders.setRival(message.name, new Policy(message.version, message.layers, message.activation, message.data));
        return true;
      case "SET_MODE":
        show.setMode(message.mode, message.opponent);
        return true;
      case "INPUT_BATCH":
        for (const event of message.events) show.input(event);
        return false;
      case "SHOW_CONFIG":
        if (message.action_repeat !== undefined) show.setActionRepeat(message.action_repeat);
        show.deciders.next.set(message);
        return false;
      case "TAKE_OVER":
        show.takeOver(message.on);
        return false;
      case "RECORD":
        this.post({ type: "RECORDING", recording: show.recording() });
        return false;
      case "REPLAY":
        if (message.recording) void this.load(message.recording);
        else this.setReplay(null);
        return true;
      case "CAPTURE":
        this.post({ type: "SCENE", state: stateHex(show.state.buffer), over: show.over });
        return false;
      case "SKIP":
        show.skipToGoal();
        return true;
      case "PLAY":
        if (show.script && show.ended) this.setReplay(show.script.recording);
        this.seen!.show.play();
        return true;
      case "PAUSE":
        show.pause();
        return true;
      case "STEP":
        show.stepBy(message.unit, message.count);
        return true;
      case "RESET_SHOW":
        show.reset(message.seed);
        return true;
      case "SET_SIM_SPEED":
        show.setSpeed(message.multiplier);
        return true;
      case "RESTORE":
        show.restore(message.snapshot);
        return true;
      default:
        return this.askParts(message);
    }
  }

  /** Gives a message to the feature that it speaks to. */
  private askParts(message: ToWorker): boolean {
    for (const part of this.parts) {
      const answer = part.receive?.(message) ?? null;
      if (answer !== null) return answer;
    }
    console.warn("dshq-widget: unknown message to the show:", message);
    return false;
  }
}
