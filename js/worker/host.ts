/**
 * The show worker: every match and every canvas of a page, one GPU device. `Host` is the whole of it and also runs on the page
 * itself, where there is no worker or none that draws. js/show_worker.ts makes it.
 *
 * Folder `worker`: what runs in the show worker, around match, mind and renderer. Knows the page by its messages only.
 */

import type { FromWorker, Thread, ToWorker } from "../contract/protocol";
import type { ShowFeature } from "../features/plug";
import { Gpu } from "../renderer/gpu";
import { Surface } from "../renderer/surface";
import { film } from "./film";
import { Frames } from "./frames";
import { Widget } from "./widget";

const EARLY_MS = 4; // that a frame may come before it is due

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

export class Host {
  private readonly widgets = new Map<string, Widget>();
  private readonly gpu: Gpu;
  private readonly frames = new Frames(
    () => this.anyVisible(),
    () => this.everySurface((surface) => surface.replace()), // what ended the frames ended what the canvases show, too
  );
  private readonly films = new Set<string>(); // that are being made
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
        this.everySurface((surface) => surface.complained());
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
        this.makeFilm(message);
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
        if (message.reducedMotion !== undefined) this.widget(id).setMotion(message.reducedMotion);
        this.eachView(message, (surface) => surface.setTheme(message.theme));
        return;
      case "SPARE":
        this.widget(id).spare(message.frames);
        return;
      case "VISIBLE":
        this.eachView(message, (surface) => surface.setVisible(message.visible));
        return;
      default:
        this.widget(id).receive(message);
    }
  }

  // ---- widgets and canvases

  private widget(id: string): Widget {
    const known = this.widgets.get(id);
    if (known) return known;
    const widget = new Widget((body) => this.post({ ...body, id } as FromWorker), this.features);
    this.widgets.set(id, widget);
    return widget;
  }

  private addSurface(widget: Widget, message: Message<"INIT_CANVAS">): void {
    const { id, view = 0, offscreen: canvas, width, height, dpi, theme, renderer = "webgpu", reason = "" } = message;
    widget.removeSurface(view);
    if (message.reducedMotion !== undefined) widget.setMotion(message.reducedMotion);
    const options = { id, view, canvas, width, height, dpi, theme, renderer, reason };
    widget.addSurface(view, new Surface(options, this.gpu, this.thread, this.post, () => this.wake()));
  }

  private makeFilm(message: Message<"FILM">): void {
    const { id } = message;
    this.films.add(id);
    const progress = (share: number) => {
      if (!this.films.has(id)) throw new Error("Nobody waits for this film any more.");
      this.post({ type: "FILMED", id, share, content: null });
    };
    progress(0); // it works, however long the first picture takes
    void film(message, progress)
      .then(
        ({ buffer }) => this.post({ type: "FILMED", id, share: 1, content: buffer }),
        (error: Error) => this.post({ type: "ERROR", id, text: error.message }),
      )
      .finally(() => this.films.delete(id));
  }

  private dispose({ id, view }: Message<"DISPOSE">): void {
    if (view === undefined) this.films.delete(id);
    this.widgets.get(id)?.removeSurface(view);
    if (view === undefined) this.widgets.delete(id);
  }

  private eachView({ id, view = 0 }: { id: string; view?: number }, act: (surface: Surface) => void): void {
    const surface = this.widgets.get(id)?.surfaces.get(view);
    if (surface) act(surface);
  }

  private anyVisible(): boolean {
    return [...this.widgets.values()].some(({ visible }) => visible.length > 0);
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
    for (const widget of this.widgets.values()) if (widget.run(seconds, now)) this.awake = true;
    if (this.awake) this.frames.next(this.frame);
  };

  /** Whether this frame is left to training: those that are drawn come evenly. */
  private leavesOut(now: number): boolean {
    const shown = [...this.widgets.values()].filter(({ visible }) => visible.length > 0);
    const seen = shown.flatMap(({ visible }) => visible);
    if (seen.length === 0 || !seen.every(({ spares }) => spares)) return false;
    if (now < this.due - EARLY_MS) return true;
    const pause = 1000 / Math.max(...shown.map(({ sparing }) => sparing));
    this.due = Math.max(this.due + pause, now + pause / 2);
    return false;
  }
}
