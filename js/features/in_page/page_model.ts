/**
 * The model of a widget whose training may move into the page. Until then it is the kernel's model unchanged; from then on the traits of the
 * training are the page's own, and what the page sends goes to its trainer first.
 */
import type { Model, Traits } from "../../contract/model";
import type { PageToKernel } from "../../contract/protocol";

type Handler = (...values: never[]) => void;

/** Traits that whoever trains says. */
export const TRAINERS = ["policy", "status", "status_text", "error", "paused", "metrics", "league", "scenes", "config", "seat", "seq"] as const;
export type OwnTraits = Pick<Traits, (typeof TRAINERS)[number]>;
/** True: the message was for the trainer in the page. */
export type Receive = (message: PageToKernel, buffers: readonly ArrayBuffer[]) => boolean;

const OWN_MESSAGES: readonly string[] = ["TRAINER", "LEARNER_WANTED", "TO_LEARNER"]; // for PageTraining, which hears them from the kernel's model
const OWN_EVENTS = new Set<string>([...TRAINERS.map((name) => `change:${name}`), "msg:custom", "comm:close"]);

export class PageModel implements Model {
  private own: OwnTraits | null = null;
  private receive: Receive = () => false;
  private readonly listeners = new Map<string, Set<Handler>>();
  private readonly heard = new Map<Handler, Handler>();

  constructor(private readonly base: Model) {}

  /** Who trains: what the page shows in `data-trainer`. */
  get trainedBy(): "page" | "kernel" {
    return this.own || this.base.get("config")?.engine === "page" ? "page" : "kernel";
  }

  get standalone(): boolean {
    return this.own === null && this.base.standalone === true;
  }

  get byItself(): boolean {
    return this.own !== null;
  }

  get restart(): string | undefined {
    return this.base.restart;
  }

  get widget_manager(): unknown {
    return this.own ? undefined : this.base.widget_manager;
  }

  /** From now on the training is the page's. */
  takeOver(own: OwnTraits, receive: Receive): void {
    this.own = own;
    this.receive = receive;
    for (const name of TRAINERS) this.emit(`change:${name}`);
  }

  get<K extends keyof Traits>(name: K): Traits[K] {
    return this.own && name in this.own ? (this.own as Traits)[name] : this.base.get(name);
  }

  set<K extends keyof Traits>(name: K, value: Traits[K]): void {
    if (!this.own || !(name in this.own)) {
      this.base.set(name, value);
      return;
    }
    this.own = { ...this.own, [name]: value };
    this.emit(`change:${name}`);
  }

  save_changes(): void {
    this.base.save_changes();
  }

  send(message: PageToKernel, callbacks?: unknown, buffers: ArrayBuffer[] = []): void {
    if (this.receive(message, buffers)) return;
    if (!this.own) this.base.send(message, callbacks, buffers);
  }

  /** As if the kernel had said it. */
  say(event: "msg:custom", message: unknown, buffers?: unknown): void {
    this.emit(event, message, buffers);
  }

  on(event: string, handler: Handler): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(handler));
    const heard = (...values: never[]) => {
      const [message] = values as { type?: string }[];
      if (event === "msg:custom" && OWN_MESSAGES.includes(message?.type ?? "")) return;
      if (!this.own || !OWN_EVENTS.has(event)) handler(...values);
    };
    this.heard.set(handler, heard);
    this.base.on(event, heard);
  }

  off(event: string, handler: Handler): void {
    this.listeners.get(event)?.delete(handler);
    const heard = this.heard.get(handler);
    if (heard) this.base.off(event, heard);
  }

  private emit(event: string, ...values: unknown[]): void {
    for (const handler of [...(this.listeners.get(event) ?? [])]) handler(...(values as never[]));
  }
}
