/**
 * The focusable canvas that shows the match. Gives it to the show host, keeps its size, theme and visibility up to date, and puts a
 * fresh canvas there when the old one can draw no more.
 */
import type { RendererChoice, RendererKind, Theme, ToWorker } from "../contract/protocol";
import { listenToGamepads } from "../input/gamepad";
import type { HeldKeys } from "../input/held_keys";
import { type Keyboard, listenToKeys } from "../input/keyboard";
import { listenToPointers } from "../input/pointers";
import type { SessionEvents } from "../session/events";
import { control, h } from "../ui/dom";
import { reducedMotion, watchDensity } from "../ui/theme";
import type { View } from "./view";

interface CanvasOptions {
  view: View;
  number: number; // of the view among this widget's
  theme: () => Theme;
  pitch: HTMLElement; // where the canvas stands
  held: HeldKeys;
}

export class MatchCanvas {
  private canvas = freshCanvas();
  private attached = false; // a host has it
  private canvasEnd = new AbortController();
  private onScreen = true;
  private sentVisible = true;
  private readonly address: { id: string; view: number };

  /** Everything ends with the view's signal. */
  constructor(private readonly options: CanvasOptions) {
    this.address = { id: options.view.session.id, view: options.number };
    this.watchVisibility();
    this.watchSize();
    this.followSession();
    options.view.signal.addEventListener("abort", () => this.dispose(), { once: true });
    this.place();
    void this.start();
  }

  // ---- a canvas and its host

  /** Puts the canvas on the pitch and listens to the person over it. */
  private place(): void {
    const { view, pitch, held } = this.options;
    const { session } = view;
    this.canvasEnd.abort();
    this.canvasEnd = new AbortController();
    pitch.replaceChildren(this.canvas);
    if (session.pictures) return; // nothing in it obeys a hand
    const keyboard: Keyboard = {
      get spec() {
        return session.model.get("drill")?.spec ?? null;
      },
    };
    const { signal } = this.canvasEnd;
    listenToKeys(this.canvas, keyboard, held, signal);
    listenToGamepads(this.canvas, keyboard, held, signal);
    listenToPointers(this.canvas, (input) => session.post({ type: "POINTER", ...this.address, ...input }), signal);
  }

  /** Attaches the canvas as soon as there is a host, unless another one has taken its place by then. */
  private async start(renderer?: RendererKind, reason?: string): Promise<void> {
    const { session, signal } = this.options.view;
    const { canvas } = this;
    const host = await session.ready();
    if (!host || signal.aborted || canvas !== this.canvas) return;
    const offscreen = host.thread === "worker" ? canvas.transferControlToOffscreen() : canvas;
    const message: ToWorker = {
      type: "INIT_CANVAS",
      ...this.address,
      offscreen,
      ...this.size(),
      theme: this.options.theme(),
      reducedMotion: reducedMotion(),
      renderer: renderer ?? (this.wanted === "canvas2d" ? "canvas2d" : host.renderer),
      reason: reason ?? host.reason,
    };
    host.post(message, offscreen instanceof HTMLCanvasElement ? [] : [offscreen]);
    this.attached = true;
    this.sentVisible = true; // what the host takes for granted of a canvas
    this.sendVisible();
  }

  /** What a person has chosen to draw with. */
  private get wanted(): RendererChoice {
    return this.options.view.session.show.renderer;
  }

  /** A fresh canvas, with the focus and the keys of the one that is lost: whoever plays notices nothing. */
  private replace(renderer?: RendererKind, reason?: string): void {
    const { held } = this.options;
    const [focused, keys] = [this.canvas.matches(":focus"), [...held.holds("keys")]];
    this.canvas = freshCanvas();
    this.place();
    if (focused) {
      this.canvas.focus({ preventScroll: true });
      held.hold("keys", keys);
    }
    void this.start(renderer, reason);
  }

  private dispose(): void {
    this.canvasEnd.abort();
    if (this.attached) this.send({ type: "DISPOSE", ...this.address });
  }

  // ---- what the host is kept up to date with

  private watchVisibility(): void {
    const { view, pitch } = this.options;
    const intersection = new IntersectionObserver((entries) => {
      this.onScreen = entries.at(-1)!.isIntersecting;
      this.sendVisible();
    });
    intersection.observe(pitch);
    document.addEventListener("visibilitychange", () => this.sendVisible(), { signal: view.signal });
    view.signal.addEventListener("abort", () => intersection.disconnect(), { once: true });
  }

  private watchSize(): void {
    const { view, pitch } = this.options;
    const changed = () => {
      if (this.attached && pitch.clientWidth) this.send({ type: "RESIZE", ...this.address, ...this.size() });
    };
    const resize = new ResizeObserver(changed);
    resize.observe(pitch);
    watchDensity(changed, view.signal); // on another screen the size stays, its pixels do not
    view.signal.addEventListener("abort", () => resize.disconnect(), { once: true });
  }

  private followSession(): void {
    const { view, number, theme } = this.options;
    const { session, signal } = view;
    view.themed(() => {
      if (this.attached) this.send({ type: "THEME", ...this.address, theme: theme(), reducedMotion: reducedMotion() });
    });
    const cursor = (now: SessionEvents["cursor"]) => {
      if (now.view === number) this.canvas.dataset.cursor = now.cursor;
    };
    const lost = (canvas: SessionEvents["lost"]) => {
      if (canvas.view === number) this.replace(canvas.renderer, canvas.reason || undefined);
    };
    let drawn = this.wanted;
    const chosen = () => {
      if (this.wanted === drawn) return;
      drawn = this.wanted;
      this.replace();
    };
    session.events.on("cursor", cursor, signal);
    session.events.on("lost", lost, signal);
    session.events.on("show", chosen, signal);
  }

  private sendVisible(): void {
    const visible = this.onScreen && !document.hidden;
    if (!this.attached || visible === this.sentVisible) return;
    this.sentVisible = visible;
    this.send({ type: "VISIBLE", ...this.address, visible });
  }

  private send(message: ToWorker): void {
    this.options.view.session.post(message);
  }

  private size(): { width: number; height: number; dpi: number } {
    const { clientWidth, clientHeight } = this.options.pitch;
    return { width: Math.max(1, clientWidth), height: Math.max(1, clientHeight), dpi: devicePixelRatio || 1 };
  }
}

function freshCanvas(): HTMLCanvasElement {
  return h("canvas", {
    class: "match",
    tabindex: 0,
    role: "application",
    ...control("match"),
  });
}
