/**
 * The page's end of the comm: acknowledges what it receives while somebody looks, sends the kernel the state of the show about once
 * a second, and detects a lost kernel. Messages are few and leave together: at each of them Jupyter's toolbar shows
 * a busy kernel and then an idle one, and where no GPU composes the page that costs the match frames (docs/LOG.md).
 */
import { listen, type Model } from "../../contract/model";
import type { PageToKernel } from "../../contract/protocol";

const SILENCE_MS = 6_000; // while it trains the kernel says something every second; this long without means that it is gone
const CHECK_MS = 1_000;
const PAGE_STATE_MS = 900; // about a second
const ACK_MS = 250;
const FROM_KERNEL = ["seq", "status", "status_text", "error", "paused", "metrics", "policy", "config"] as const;

/** The parts of JupyterLab's kernel connection that announce its death. Other front ends have none, which is fine. */
interface JupyterKernel {
  statusChanged?: Signal<string>;
  connectionStatusChanged?: Signal<string>;
}
interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): void;
  disconnect(slot: (sender: unknown, value: T) => void): void;
}

export type PageState = Omit<Extract<PageToKernel, { type: "PAGE_STATE" }>, "type">;

export class KernelLink {
  connected: boolean;
  private receivedAt = performance.now(); // ms, when something last came from the kernel
  private acknowledged = Number.NaN;
  private ackSentAt = Number.NEGATIVE_INFINITY; // ms, when ACK was last sent
  private ackTimer: ReturnType<typeof setTimeout> | null = null;
  private pageStateSentAt = Number.NEGATIVE_INFINITY; // ms, when PAGE_STATE was last sent

  constructor(
    private readonly model: Model,
    private readonly changed: (connected: boolean) => void,
    private readonly signal: AbortSignal,
  ) {
    this.connected = !model.standalone;
    for (const trait of FROM_KERNEL) listen(model, `change:${trait}`, () => this.received(), signal);
    listen(model, "msg:custom", () => this.received(), signal);
    listen(model, "change:seq", () => this.acknowledge(), signal);
    listen(model, "comm:close", () => this.setConnected(false), signal);
    document.addEventListener("visibilitychange", () => this.visibilityChanged(), { signal });
    const timer = setInterval(() => this.check(), CHECK_MS);
    const still = () => {
      clearInterval(timer);
      if (this.ackTimer !== null) clearTimeout(this.ackTimer);
    };
    signal.addEventListener("abort", still, { once: true });
    this.watchJupyter();
  }

  /** Asks for what only a page gets that opens, or that missed something: the whole curves, the frame of a show that the kernel plays. */
  greet(): void {
    this.send({ type: "HELLO", seq: this.model.get("seq") });
  }

  send(message: PageToKernel, buffers?: ArrayBuffer[]): void {
    if (!this.connected && this.model.standalone) return;
    try {
      if (buffers) this.model.send(message, undefined, buffers);
      else this.model.send(message);
    } catch (error) {
      if (this.connected) console.warn("dshq-widget: the kernel takes no messages:", error); // once, not at every try
      this.setConnected(false);
    }
  }

  /** PAGE_STATE, at most once a second and only while somebody looks; `now` sends it all the same. */
  sendPageState(state: PageState, now = false): void {
    const time = performance.now();
    if (!now && (document.hidden || time - this.pageStateSentAt < PAGE_STATE_MS)) return;
    this.pageStateSentAt = time;
    this.send({ type: "PAGE_STATE", ...state });
  }

  /** A view whose element ipywidgets marks when its comm is dead; until `signal` ends. */
  watchView(element: Element, signal: AbortSignal): void {
    const look = () => {
      const dead = element.closest(".jupyter-widgets-disconnected") !== null;
      if (dead) this.setConnected(false);
    };
    const observer = new MutationObserver(look);
    observer.observe(element, { attributes: true, attributeFilter: ["class"] });
    signal.addEventListener("abort", () => observer.disconnect(), { once: true });
    look();
  }

  private received(): void {
    this.receivedAt = performance.now();
    this.setConnected(true);
  }

  /** ACK of the newest message, ACK_MS after the one before at the earliest. */
  private acknowledge(): void {
    const seq = this.model.get("seq");
    if (document.hidden || seq === this.acknowledged || !this.connected || this.ackTimer !== null) return;
    const wait = this.ackSentAt + ACK_MS - performance.now();
    if (wait > 0) {
      this.ackTimer = setTimeout(() => {
        this.ackTimer = null;
        this.acknowledge();
      }, wait);
      return;
    }
    this.ackSentAt = performance.now();
    this.acknowledged = seq;
    this.send({ type: "ACK", seq });
  }

  private visibilityChanged(): void {
    this.receivedAt = performance.now(); // the kernel was right to be silent while nobody looked
    this.acknowledge();
  }

  private check(): void {
    if (document.hidden || !["starting", "training", "stopping"].includes(this.model.get("status"))) return;
    if (performance.now() - this.receivedAt > SILENCE_MS) this.setConnected(false);
  }

  private setConnected(connected: boolean): void {
    if (this.connected === connected) return;
    this.connected = connected;
    this.changed(connected);
  }

  private watchJupyter(): void {
    const kernel = (this.model.widget_manager as { kernel?: JupyterKernel | null } | undefined)?.kernel;
    if (!kernel) return;
    const status = (_: unknown, value: string) => {
      if (["restarting", "autorestarting", "dead", "terminating"].includes(value)) this.setConnected(false);
    };
    const connection = (_: unknown, value: string) => {
      if (value === "disconnected") this.setConnected(false);
      else if (value === "connected" && !this.connected) this.greet(); // the kernel answers if it is still the same
    };
    kernel.statusChanged?.connect(status);
    kernel.connectionStatusChanged?.connect(connection);
    this.signal.addEventListener(
      "abort",
      () => {
        kernel.statusChanged?.disconnect(status);
        kernel.connectionStatusChanged?.disconnect(connection);
      },
      { once: true },
    );
  }
}
