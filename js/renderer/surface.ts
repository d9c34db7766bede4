/**
 * One canvas and its renderer. Recovers after a lost device; asks for a new canvas when there is no GPU any more.
 *
 * Folder `renderer`: shapes to pixels. Knows no rules, no policy and no page around its canvas.
 */
import { type DrillSpec, type FromWorker, type RendererKind, SHAPE_FLOATS, type Theme, type Thread } from "../contract/protocol";
import { Canvas2dRenderer } from "./canvas2d";
import { compose, EFFECT_SHAPES, type Effects, firstActor } from "./effects";
import { settle } from "./fallback";
import type { Gpu } from "./gpu";
import { Look } from "./palette";
import { type Canvas, farIn, interpolate, newCanvas, OVERLAY_SHAPES, type Overlay, type Picture, place, type Renderer, RING_SHAPES } from "./scene";
import { Thrift } from "./thrift";
import { WebGpuRenderer } from "./webgpu";

/** The two scenes to draw between; a Show is one. */
export interface Motion {
  readonly spec: DrillSpec;
  readonly previous: Float32Array;
  readonly current: Float32Array;
  readonly count: number;
  readonly alpha: number;
}

interface SurfaceOptions {
  id: string;
  view: number;
  canvas: Canvas;
  width: number; // CSS pixels
  height: number;
  dpi: number;
  theme: Theme;
  renderer: RendererKind; // wanted
  reason: string;
}

/** Frames that WebGPU did not draw, within this time in ms: the match is drawn without it. */
const FAILURES = { count: 3, ms: 10_000 };
const NO_TAGS: readonly string[] = [];

export class Surface {
  visible = true;
  stale = true; // something but the match changed: draw even when it stands still
  private renderer: Renderer | null = null;
  private theme: Theme;
  private look: Look | null = null;
  private between = new Float32Array(0); // the scene at this moment
  private shapes = new Float32Array(0); // the same with effects
  private disposed = false;
  private replaced = false; // by a canvas that was asked for and is on its way
  private readonly thrift = new Thrift();
  private drawn = 0; // frames
  private failed = { frame: -1, at: [] as number[] }; // the last frame that WebGPU did not draw, and when it did not draw one, in ms

  constructor(
    private readonly options: SurfaceOptions,
    private readonly gpu: Gpu,
    private readonly thread: Thread,
    private readonly post: (message: FromWorker) => void,
    private readonly wake: () => void,
  ) {
    this.theme = options.theme;
    void this.start();
  }

  get ready(): boolean {
    return this.renderer !== null;
  }

  /** Whether a frame takes a processor's time from training, and training asks for it. */
  get spares(): boolean {
    return this.thrift.costs;
  }

  setVisible(visible: boolean): void {
    this.visible = visible;
    this.stale = true;
  }

  /** Something trains on this machine, or no longer does. */
  spare(on: boolean): void {
    const before = this.thrift.share;
    this.thrift.spare(on);
    if (this.thrift.share !== before) this.fit(); // a canvas that is given a size is empty
  }

  resize(width: number, height: number, dpi: number): void {
    Object.assign(this.options, { width, height, dpi });
    this.fit();
  }

  /** Gives the canvas its pixels. */
  private fit(): void {
    const { width, height, dpi } = this.options;
    this.renderer?.resize(width, height, dpi * this.thrift.share);
    this.stale = true;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.look = null;
    this.stale = true;
  }

  /** The device of `renderer` is gone: get another, or ask for another canvas. */
  async deviceLost(): Promise<void> {
    if (this.renderer?.kind !== "webgpu") return;
    this.renderer.dispose();
    this.renderer = null;
    if ((await this.gpu.device()) === null) this.replace("The browser lost the graphics adapter.");
    else await this.start();
  }

  /** WebGPU complains, up to three times of one frame. One frame is not missed; of several the next ones would not come either. */
  complained(): void {
    if (this.renderer?.kind !== "webgpu" || this.replaced || this.failed.frame === this.drawn) return;
    const now = performance.now();
    this.failed = { frame: this.drawn, at: [...this.failed.at.filter((at) => now - at < FAILURES.ms), now] };
    this.stale = true;
    if (this.failed.at.length >= FAILURES.count) this.replace("The browser's WebGPU failed to draw.");
  }

  /** Asks for a fresh canvas; with a `reason` one that is drawn without a GPU. */
  replace(reason = "", renderer: RendererKind | undefined = reason ? "canvas2d" : undefined): void {
    const { id, view } = this.options;
    this.replaced = true;
    this.post({ type: "CANVAS_LOST", id, view, renderer, reason });
  }

  /** The point of the world that is drawn at CSS pixel x, y of the canvas. */
  worldAt(world: Picture["world"], x: number, y: number): [x: number, y: number] {
    const { scale, left, top } = place(world, this.options.width, this.options.height);
    return [(x - left) / scale, (top - y) / scale];
  }

  /** How long a CSS pixel of the canvas is in the world. */
  unit(world: Picture["world"]): number {
    return 1 / place(world, this.options.width, this.options.height).scale;
  }

  draw(motion: Motion, effects: Effects, overlay: Overlay): void {
    if (!this.renderer) return;
    const { spec, previous, current, count, alpha } = motion;
    if (this.look?.drill !== spec.palette) this.look = new Look(spec.palette, this.theme);
    if (this.between.length < current.length) {
      this.between = new Float32Array(current.length);
      this.shapes = new Float32Array(current.length + (EFFECT_SHAPES + OVERLAY_SHAPES + RING_SHAPES) * SHAPE_FLOATS);
    }
    interpolate(previous, current, count, alpha, this.between, farIn(spec.world));
    const fixed = firstActor(this.between, count, this.look);
    const composed = compose(this.between, count, fixed, effects, this.look, this.shapes);
    const picture: Picture = {
      world: spec.world,
      shapes: this.shapes,
      count: overlay.shapes(this.shapes, composed, this.look),
      fixed,
      look: this.look,
      tags: spec.tags ?? NO_TAGS,
      wash: effects.wash,
      field: overlay.field(this.theme),
    };
    this.renderer.draw(picture);
    this.drawn += 1;
    this.stale = false;
    if (this.thrift.asks) void this.weigh(this.renderer, picture);
  }

  /** What a frame costs here, and what follows from it. */
  private async weigh(renderer: Renderer, picture: Picture): Promise<void> {
    const { width, height, dpi } = this.options;
    const scratch = new Canvas2dRenderer(newCanvas());
    scratch.resize(width, height, dpi);
    const alive = () => !this.disposed && !this.replaced && renderer === this.renderer;
    const better = await this.thrift.weigh(renderer, scratch, picture, alive);
    scratch.dispose();
    if (!alive()) return;
    if (better !== renderer.kind) this.replace("", better);
    else if (this.thrift.share !== 1) this.fit();
  }

  dispose(): void {
    this.disposed = true;
    this.renderer?.dispose();
    this.renderer = null;
  }

  private async start(): Promise<void> {
    const { id, view, canvas } = this.options;
    const wantsGpu = this.options.renderer === "webgpu";
    const { renderer, reason } = wantsGpu
      ? settle("webgpu", this.options.reason, await this.gpu.capabilities())
      : { renderer: "canvas2d" as const, reason: this.options.reason };
    const device = renderer === "webgpu" ? await this.gpu.device() : null;
    if (this.disposed || this.replaced) return;
    try {
      this.renderer = device ? new WebGpuRenderer(device, canvas) : new Canvas2dRenderer(canvas);
    } catch (error) {
      this.post({ type: "ERROR", id, text: `The match cannot be drawn here: ${(error as Error).message}` });
      return;
    }
    this.thrift.begin(this.renderer.kind, this.gpu.software);
    this.fit();
    this.post({ type: "READY", id, view, renderer: this.renderer.kind, thread: this.thread, reason });
    this.wake();
  }
}
