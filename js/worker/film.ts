/**
 * Makes a film of the end of a match. The match is replayed from its recording, drawn with Canvas2D on a separate canvas and encoded
 * as fast as possible. The running match is not changed.
 */
import { applyPalette, GIFEncoder } from "gifenc";
import { type FilmFormat, type FilmOrder, SHAPE_FLOATS } from "../contract/protocol";
import { played } from "../match/replay";
import { loadRules } from "../match/rules";
import { Canvas2dRenderer } from "../renderer/canvas2d";
import { compose, EFFECT_SHAPES, Effects, firstActor } from "../renderer/effects";
import { ENTRY_FLOATS, Look } from "../renderer/palette";
import { captionHeight, drawCaption, type Score, scoresUntil } from "./caption";
import { dithered, paletteOf } from "./gif_palette";
import { type EncodedPicture, webm } from "./webm";

const FILM_SECONDS = 10;
/** Pixels, and pictures a second; a GIF knows delays in hundredths of a second only. A PNG is the last picture alone. */
const FORMATS: Record<FilmFormat, { width: number; rate: number }> = {
  gif: { width: 480, rate: 20 },
  webm: { width: 720, rate: 30 },
  png: { width: 1600, rate: 0 },
};
const BITS_PER_SECOND = 3_000_000;
const KEY_EVERY = 60; // pictures
const KEEP = 1; // GIF89a's disposal method: the next picture is drawn over this one
const SURVEY_SECONDS = 0.25; // between two looks at the film, for the colours of a GIF
const QUEUE = 4; // pictures that an encoder may be behind

/** The bytes of the film; `progress` receives how much of it is done, 0..1. Throws an Error where this browser cannot make it. */
export async function film(order: FilmOrder, progress: (share: number) => void): Promise<Uint8Array<ArrayBuffer>> {
  const { width, rate } = FORMATS[order.format];
  const [x0, y0, x1, y1] = order.spec.world;
  const even = (length: number) => 2 * Math.round(length / 2); // VP8 halves the colours' resolution
  const canvas = new OffscreenCanvas(even(width), even((width * (y1 - y0)) / (x1 - x0)) + captionHeight(width));
  canvas.getContext("2d", { willReadFrequently: true }); // every picture is read back: in ordinary memory that is soon done
  const camera = new Camera(order, canvas);
  const count = Math.max(1, Math.floor(camera.seconds * rate));
  const reel =
    order.format === "gif" ? new Gif(canvas, rate, survey(order, canvas)) : order.format === "webm" ? await Video.begin(canvas, rate) : new Still(canvas);
  for (let picture = 0; picture < count; picture++) {
    camera.shoot(rate ? (picture + 1) / rate : camera.seconds);
    await reel.add(picture);
    progress((picture + 1) / count);
  }
  return reel.finish(count);
}

/** What takes the pictures that stand on the canvas one after the other. */
interface Reel {
  add(picture: number): Promise<void>;
  finish(count: number): Promise<Uint8Array<ArrayBuffer>>;
}

class Still implements Reel {
  constructor(private readonly canvas: OffscreenCanvas) {}

  async add(): Promise<void> {}

  async finish(): Promise<Uint8Array<ArrayBuffer>> {
    const blob = await this.canvas.convertToBlob({ type: "image/png" });
    return new Uint8Array(await blob.arrayBuffer());
  }
}

/** Plays the recording's last seconds and draws them, with the caption below. */
class Camera {
  readonly look: Look;
  readonly seconds: number; // of film
  private readonly renderer: Canvas2dRenderer;
  private readonly effects: Effects;
  private readonly run: Generator<number>;
  private readonly draw: (shapes: Float32Array) => number;
  private readonly scene: Float32Array;
  private readonly shapes: Float32Array;
  private readonly ticks: number; // of film
  private done = 0; // of these
  private readonly match: OffscreenCanvas;
  private readonly pen: OffscreenCanvasRenderingContext2D;
  private readonly scores: Score[] | null; // after this number of ticks of the film; null: nobody counts

  constructor(
    private readonly order: FilmOrder,
    canvas: OffscreenCanvas,
  ) {
    const { spec, recording, theme } = order;
    const game = loadRules(order.javascript);
    const state = game.create();
    this.run = played(game, spec, recording, state);
    this.draw = (shapes) => game.scene(state, shapes);
    this.pen = canvas.getContext("2d")!;
    this.match = new OffscreenCanvas(canvas.width, canvas.height - captionHeight(canvas.width));
    this.renderer = new Canvas2dRenderer(this.match);
    this.renderer.resize(this.match.width, this.match.height, 1);
    this.look = new Look(spec.palette, theme);
    this.effects = new Effects({ spec, state, speed: 1, playing: true, held: () => false });
    this.scene = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    this.shapes = new Float32Array((spec.scene_max + EFFECT_SHAPES) * SHAPE_FLOATS);
    const begin = recording.start?.tick ?? 0;
    const ticks = Math.min(recording.ticks - begin, FILM_SECONDS * spec.tick_rate);
    this.ticks = ticks;
    this.seconds = ticks / spec.tick_rate;
    if (ticks === 0) this.run.next(); // only what was done before the first one
    for (let tick = begin; tick < recording.ticks - ticks; tick++) this.run.next();
    this.scores = order.caption.score && scoresUntil(order.caption.score, winnersOf(played(game, spec, recording, game.create())).slice(-ticks));
  }

  /** The picture `seconds` into the film. */
  shoot(seconds: number): void {
    const { spec } = this.order;
    for (; this.done < Math.min(Math.round(seconds * spec.tick_rate), this.ticks); this.done++) {
      const winner = this.run.next().value;
      this.effects.ticked();
      if (winner !== 0) this.effects.happened({ kind: "goal", tick: 0, side: winner > 0 ? 0 : 1, version: 0 });
      this.effects.advance(1 / spec.tick_rate, 1 / spec.tick_rate);
    }
    const drawn = this.draw(this.scene);
    const fixed = firstActor(this.scene, drawn, this.look);
    const count = compose(this.scene, drawn, fixed, this.effects, this.look, this.shapes);
    const { wash } = this.effects;
    this.renderer.draw({ world: spec.world, shapes: this.shapes, count, fixed, look: this.look, tags: spec.tags ?? [], wash, field: null });
    this.pen.drawImage(this.match, 0, 0);
    drawCaption(this.pen, this.order.caption, this.scores && this.scores[this.done]!, this.look);
  }
}

/** Of every tick, the last one, which the generator returns, too. */
function winnersOf(run: Generator<number, number>): number[] {
  const winners: number[] = [];
  for (let step = run.next(); ; step = run.next()) {
    winners.push(step.value);
    if (step.done) return winners;
  }
}

/** The palette of a film: what it shows at times, and all that the drill may paint with. */
function survey(order: FilmOrder, canvas: OffscreenCanvas): number[][] {
  const camera = new Camera(order, canvas);
  const times = Array.from({ length: Math.max(1, Math.floor(camera.seconds / SURVEY_SECONDS)) }, (_, k) => (k + 1) * SURVEY_SECONDS);
  const pictures = times.map((seconds) => {
    camera.shoot(Math.min(seconds, camera.seconds));
    return canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
  });
  const { names, entries } = camera.look;
  const paints = names.map((_, k) => [0, 1, 2].map((channel) => Math.round(255 * entries[k * ENTRY_FLOATS + channel]!)));
  return paletteOf(pictures, paints);
}

/** Each picture holds what changed since the one before. */
class Gif implements Reel {
  private readonly encoder = GIFEncoder();
  private before: Uint8Array = new Uint8Array();

  constructor(
    private readonly canvas: OffscreenCanvas,
    private readonly rate: number,
    private readonly palette: number[][], // for all pictures
  ) {}

  async add(picture: number): Promise<void> {
    const { width, height } = this.canvas;
    const pixels = this.canvas.getContext("2d")!.getImageData(0, 0, width, height).data;
    const clear = this.palette.length; // one more colour, which leaves the picture before as it is
    const now = applyPalette(dithered(pixels, width), this.palette);
    const changed = picture === 0 ? now : now.map((colour, k) => (colour === this.before[k] ? clear : colour));
    this.before = now;
    const palette = picture === 0 ? [...this.palette, [0, 0, 0]] : undefined;
    const delay = 1000 / this.rate;
    this.encoder.writeFrame(changed, width, height, { palette, delay, transparent: picture > 0, transparentIndex: clear, dispose: KEEP });
    await pause(); // where this is the page's own thread, it gets its turn
  }

  async finish(): Promise<Uint8Array<ArrayBuffer>> {
    this.encoder.finish();
    return this.encoder.bytes();
  }
}

class Video implements Reel {
  private readonly pictures: EncodedPicture[] = [];
  private readonly encoder: VideoEncoder;
  private failure: Error | null = null;

  private constructor(
    private readonly canvas: OffscreenCanvas,
    private readonly rate: number,
    config: VideoEncoderConfig,
  ) {
    this.encoder = new VideoEncoder({
      output: (chunk) => {
        const data = new Uint8Array(chunk.byteLength);
        chunk.copyTo(data);
        this.pictures.push({ data, time: chunk.timestamp / 1000, key: chunk.type === "key" });
      },
      error: (error) => (this.failure = error),
    });
    this.encoder.configure(config);
  }

  static async begin(canvas: OffscreenCanvas, rate: number): Promise<Video> {
    const { width, height } = canvas;
    const config: VideoEncoderConfig = { codec: "vp8", width, height, bitrate: BITS_PER_SECOND, framerate: rate, latencyMode: "realtime" };
    const able = typeof VideoEncoder !== "undefined" && (await VideoEncoder.isConfigSupported(config)).supported;
    if (!able) throw new Error("This browser cannot encode video here. Save a GIF instead.");
    return new Video(canvas, rate, config);
  }

  async add(picture: number): Promise<void> {
    const frame = new VideoFrame(this.canvas, { timestamp: Math.round((1e6 * picture) / this.rate), duration: Math.round(1e6 / this.rate) });
    this.encoder.encode(frame, { keyFrame: picture % KEY_EVERY === 0 });
    frame.close();
    do {
      await pause();
      if (this.failure) throw new Error(`The browser could not encode the video (${this.failure.message}). Save a GIF instead.`);
    } while (this.encoder.encodeQueueSize > QUEUE);
  }

  async finish(count: number): Promise<Uint8Array<ArrayBuffer>> {
    await this.encoder.flush();
    this.encoder.close();
    return webm(this.pictures, "V_VP8", this.canvas.width, this.canvas.height, (1000 * count) / this.rate);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
