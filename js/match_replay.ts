/**
 * Replays a published match of the class league: the same rules, renderer and effects as in the widget, with actions from a recording.
 * The match is first replayed without drawing, and the hash of its final state is compared with the published one.
 * `dshq_widget/classroom/service/pages.py` writes the page, with the recording in it as JSON.
 */

import { type DrillSpec, type FromWorker, type Recording, type RendererKind, SHAPE_FLOATS } from "./contract/protocol";
import { SPEEDS } from "./contract/tables";
import { stateHash } from "./match/recording";
import { played, replay } from "./match/replay";
import { type Game, type GameState, loadRules } from "./match/rules";
import { Effects } from "./renderer/effects";
import { Gpu } from "./renderer/gpu";
import type { Overlay } from "./renderer/scene";
import { type Motion, Surface } from "./renderer/surface";
import { button, control, h, setText } from "./ui/dom";
import { multiple } from "./ui/format";
import { detectTheme, reducedMotion, watchDensity, watchTheme } from "./ui/theme";

interface Published {
  spec: DrillSpec;
  javascript: string;
  recording: Recording & { league: { winner: number } };
}

const NOTHING_OVER: Overlay = { field: () => null, shapes: (_out, count) => count };
const SLOWEST_FRAME = 0.1; // seconds: after a longer pause the match continues where it was
const FASTEST = 8; // times real time

/** The match at one of its ticks: what the renderer and the effects want to know of it. */
class Reel implements Motion {
  readonly previous: Float32Array;
  readonly current: Float32Array;
  readonly state: GameState;
  count = 0;
  alpha = 1;
  speed = 1;
  playing = true;
  tick = 0;
  effects!: Effects;
  private run!: Generator<number, number>;
  private credit = 0; // ticks that are due

  constructor(
    private readonly game: Game,
    readonly spec: DrillSpec,
    private readonly recording: Recording,
  ) {
    this.state = game.create();
    this.previous = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    this.current = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    this.rewind();
  }

  readonly held = (): boolean => false;

  get over(): boolean {
    return this.tick >= this.recording.ticks;
  }

  rewind(): void {
    new Uint8Array(this.state.buffer).fill(0);
    this.run = played(this.game, this.spec, this.recording, this.state);
    this.tick = this.credit = 0;
    this.step();
    this.previous.set(this.current);
    this.effects = new Effects(this);
    this.effects.setMotion(reducedMotion());
  }

  seek(tick: number): void {
    this.rewind();
    while (this.tick < tick && !this.over) this.step();
    this.previous.set(this.current);
  }

  advance(seconds: number): void {
    const began = this.tick;
    if (this.playing && !this.over) this.credit += Math.min(seconds, SLOWEST_FRAME) * this.speed * this.spec.tick_rate;
    for (; this.credit >= 1 && !this.over; this.credit--) {
      this.step();
      this.effects.ticked();
    }
    this.alpha = this.over ? 1 : this.credit;
    this.effects.advance((this.tick - began) / this.spec.tick_rate, seconds);
  }

  celebrate(side: number): void {
    this.effects.happened({ kind: "goal", tick: this.tick, side, version: 0 });
  }

  private step(): void {
    this.run.next();
    this.tick++;
    this.previous.set(this.current);
    this.count = this.game.scene(this.state, this.current);
  }
}

/** Plays the whole match, and says whether it ends in the state that was published. */
function buildVerdict(root: HTMLElement, game: Game, spec: DrillSpec, recording: Recording): HTMLElement {
  const found = stateHash(replay(game, spec, recording).buffer);
  const agrees = found === recording.sha256;
  const verdict = h("p", { class: "verdict", role: "status" });
  setText(
    verdict,
    agrees
      ? `Replayed in this page. The final state ${found.slice(0, 16)}… matches the published one.`
      : `Replayed in this page. The final state is ${found}, but ${recording.sha256} was published.`,
  );
  Object.assign(root.dataset, { verified: String(agrees), sha256: found, theme: detectTheme() });
  return verdict;
}

/** A canvas on the pitch, a fresh one where the graphics fail, which draws the reel as it stands. */
function drawOn(pitch: HTMLElement, root: HTMLElement, reel: Reel, say: (text: string) => void): () => void {
  const gpu = new Gpu(
    () => void surface.deviceLost(),
    (text) => say(`WebGPU: ${text}`),
  );
  let surface = begin("webgpu", "");
  function begin(renderer: RendererKind, reason: string): Surface {
    const canvas = h("canvas", { class: "match", role: "img", "aria-label": `Match of ${reel.spec.title}` });
    pitch.replaceChildren(canvas);
    const { clientWidth: width, clientHeight: height } = pitch;
    const options = { id: "replay", view: 0, canvas, width, height, dpi: devicePixelRatio, theme: detectTheme(), renderer, reason };
    return new Surface(options, gpu, "page", receive, () => undefined);
  }
  function receive(message: FromWorker): void {
    if (message.type === "READY") root.dataset.renderer = message.renderer;
    if (message.type === "CANVAS_LOST") surface = begin(message.reason ? "canvas2d" : "webgpu", message.reason);
    if (message.type === "ERROR") say(message.text);
  }
  const resize = () => surface.resize(pitch.clientWidth, pitch.clientHeight, devicePixelRatio);
  new ResizeObserver(resize).observe(pitch);
  watchDensity(resize, new AbortController().signal);
  watchTheme(() => {
    root.dataset.theme = detectTheme();
    surface.setTheme(detectTheme());
    reel.effects.setMotion(reducedMotion());
  }, new AbortController().signal);
  return () => surface.draw(reel, reel.effects, NOTHING_OVER);
}

function open(root: HTMLElement, { spec, javascript, recording }: Published): void {
  const game = loadRules(javascript);
  const verdict = buildVerdict(root, game, spec, recording);
  const reel = new Reel(game, spec, recording);
  const pitch = h("div", { class: "pitch" });
  const clock = h("output", { class: "clock" });
  const place = h("input", { type: "range", min: 0, max: recording.ticks, step: spec.action_repeat, ...control("time") });
  const speed = h("output", { class: "clock speed" });
  const play = button("play", { icon: "play", text: "" }, () => turn(true));
  const pause = button("pause", { icon: "pause", text: "" }, () => turn(false));
  const slow = button("slower", { title: "Slower: half the speed", class: "button quiet" }, () => (reel.speed /= 2));
  const fast = button("faster", { title: "Faster: twice the speed", class: "button quiet" }, () => (reel.speed *= 2));
  const turn = (on: boolean) => {
    if (on && reel.over) reel.rewind();
    reel.playing = on;
  };
  place.addEventListener("input", () => {
    reel.playing = false;
    reel.seek(Number(place.value));
  });
  root.replaceChildren(h("div", { class: "stage" }, pitch), h("div", { class: "film" }, play, pause, place, clock, slow, speed, fast), verdict);

  const draw = drawOn(pitch, root, reel, (text) => setText(verdict, text));
  let last = performance.now();
  let cheered = false;
  const frame = (now: number) => {
    reel.advance(Math.max(0, now - last) / 1000);
    last = now;
    if (reel.over && !cheered && recording.league.winner >= 0) reel.celebrate(recording.league.winner);
    cheered = reel.over;
    draw();
    place.value = String(reel.tick);
    setText(clock, `${(reel.tick / spec.tick_rate).toFixed(1)} s`);
    setText(speed, multiple(reel.speed));
    [slow.disabled, fast.disabled] = [reel.speed <= SPEEDS[0], reel.speed >= FASTEST];
    Object.assign(root.dataset, { tick: String(reel.tick), playing: String(reel.playing && !reel.over) });
    play.hidden = reel.playing && !reel.over;
    pause.hidden = !play.hidden;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

open(document.getElementById("dshq")!, JSON.parse(document.getElementById("dshq-replay")!.textContent!) as Published);
