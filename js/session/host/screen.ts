/**
 * The show of a drill without rules, a Gymnasium environment: the kernel plays it, this draws the pictures that it sends. It asks
 * for the next one only when the last is drawn and somebody looks. The page's end of dshq_widget/widget/kernel_show.py.
 */
import type { FromWorker, KernelToPage, PageToKernel, ToWorker } from "../../contract/protocol";
import type { ShowHost } from "./registry";

const STATE_MS = 250;
const FPS_WINDOW_MS = 1000;

type Frame = Extract<KernelToPage, { type: "FRAME" }>;
type View = { canvas: HTMLCanvasElement; visible: boolean };

export interface Ends {
  id: string;
  toKernel: (message: PageToKernel) => void;
  toPage: (message: FromWorker) => void;
  resized: (width: number, height: number) => void; // another size of pictures
}

export class Screen implements ShowHost {
  readonly thread = "page";
  readonly renderer = "canvas2d";
  readonly reason = "";
  private readonly views = new Map<number, View>();
  private picture: ImageBitmap | null = null;
  private unanswered: number | null = null; // the tick of a picture that is yet to be acknowledged
  private reportedAt = -Infinity; // ms: when STATE was last posted
  private playing: boolean | null = null; // as last reported
  private readonly drawn: number[] = []; // ms: when the pictures of the last second were drawn

  constructor(private readonly ends: Ends) {}

  /** What a drill's show does with messages, as far as it concerns pictures; the `show` trait gives the kernel the rest. */
  readonly post = (message: ToWorker): void => {
    const view = "view" in message ? (message.view ?? 0) : 0;
    switch (message.type) {
      case "INIT_CANVAS":
        this.views.set(view, { canvas: message.offscreen as HTMLCanvasElement, visible: true });
        this.resize(view, message.width * message.dpi, message.height * message.dpi);
        this.ends.toPage({ type: "READY", id: this.ends.id, view, renderer: this.renderer, thread: this.thread, reason: this.reason });
        return;
      case "RESIZE":
        this.resize(view, message.width * message.dpi, message.height * message.dpi);
        return;
      case "VISIBLE": {
        const found = this.views.get(view);
        if (found) found.visible = message.visible;
        this.answer();
        return;
      }
      case "STEP":
        this.ends.toKernel({ type: "STEP", unit: message.unit, count: message.count });
        return;
      case "DISPOSE":
        if (message.view === undefined) this.views.clear();
        else this.views.delete(message.view);
    }
  };

  /** Draws the picture and reports how the show stands. A picture that cannot be read is acknowledged all the same. */
  async receive(frame: Frame, jpeg: ArrayBufferView<ArrayBuffer>): Promise<void> {
    try {
      const picture = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" }));
      if (picture.width !== this.picture?.width || picture.height !== this.picture.height) this.ends.resized(picture.width, picture.height);
      this.picture?.close();
      this.picture = picture;
      for (const { canvas } of this.views.values()) this.draw(canvas);
      this.drawn.push(performance.now());
    } catch (error) {
      this.ends.toPage({ type: "ERROR", id: this.ends.id, text: `A frame of the match could not be read: ${(error as Error).message}` });
    }
    this.report(frame);
    this.unanswered = frame.tick;
    this.answer();
  }

  private answer(): void {
    if (this.unanswered === null || ![...this.views.values()].some(({ visible }) => visible)) return;
    this.ends.toKernel({ type: "FRAME_SHOWN", tick: this.unanswered });
    this.unanswered = null;
  }

  /** Four times a second while it runs, and at once where something else than time has passed. */
  private report({ tick, score, version, playing, events }: Frame): void {
    const now = performance.now();
    while (this.drawn.length > 0 && this.drawn[0]! <= now - FPS_WINDOW_MS) this.drawn.shift();
    if (playing && playing === this.playing && events.length === 0 && now - this.reportedAt < STATE_MS) return;
    this.reportedAt = now;
    this.playing = playing;
    const state = { tick, score, version, playing, events, fps: this.drawn.length };
    this.ends.toPage({ type: "STATE", id: this.ends.id, ...state, probabilities: [], value: 0 });
  }

  private resize(view: number, width: number, height: number): void {
    const canvas = this.views.get(view)?.canvas;
    if (!canvas) return;
    canvas.width = Math.max(1, Math.round(width));
    canvas.height = Math.max(1, Math.round(height));
    this.draw(canvas);
  }

  private draw(canvas: HTMLCanvasElement): void {
    if (this.picture) canvas.getContext("2d")?.drawImage(this.picture, 0, 0, canvas.width, canvas.height);
  }
}
