/**
 * One show host per page, shared by every widget on it: a worker (started from a Blob, since anywidget loads this module from
 * a Blob itself) or, where the browser refuses one, the same code on the page. Found through `globalThis`, because each
 * widget instance evaluates its own copy of this module.
 */
import type { Capabilities, FromWorker, RendererKind, Thread, ToWorker } from "../../contract/protocol";
import { PROTOCOL_VERSION } from "../../contract/tables";
import { choose } from "../../renderer/fallback";
import { importOnPage, workerUrl } from "./worker_code";

const KEY = Symbol.for(`dshq-widget.registry.${PROTOCOL_VERSION}`);
const START_MS = 10_000; // a worker that has not answered by then was refused silently
const REGISTRY_ID = "registry"; // the `id` of messages that speak of no widget

/** What draws and plays, and why it is not the first choice. */
export interface ShowHost {
  readonly thread: Thread;
  readonly renderer: RendererKind;
  readonly reason: string; // "" where it is the first choice
  readonly post: (message: ToWorker, transfer?: Transferable[]) => void;
}

/** The two ends of a thread that runs js/show_worker.ts. */
interface Port {
  readonly post: ShowHost["post"];
  readonly close: () => void;
}
type Receive = (message: FromWorker) => void;
type Probe = (port: Port) => Promise<Capabilities>;

export interface Registry {
  /** Resolves once, always: the last fallback is a 2-D canvas on the page. */
  readonly host: Promise<ShowHost>;
  /** Messages for widget `id`, until the returned function is called. */
  subscribe(id: string, receive: Receive): () => void;
  /** A fresh widget id. */
  nextId(): string;
}

/** This page's registry, made at the first call. */
export function registry(): Registry {
  const page = globalThis as { [KEY]?: Registry };
  page[KEY] ??= createRegistry();
  return page[KEY];
}

function createRegistry(): Registry {
  const receivers = new Map<string, Receive>();
  let count = 0;
  const receive: Receive = (message) => receivers.get(message.id)?.(message);
  const subscribe = (id: string, receiver: Receive) => {
    receivers.set(id, receiver);
    return () => void receivers.delete(id);
  };
  const host = findHost(receive, (port) => askCapabilities(port, subscribe));
  return { host, subscribe, nextId: () => `widget-${++count}` };
}

/** Asks the worker and, where that gives no device, the page; `choose` says who draws with what. */
async function findHost(receive: Receive, probe: Probe): Promise<ShowHost> {
  const url = await workerUrl();
  try {
    const worker = await startWorker(url, receive, probe);
    if (worker?.can.device) return { ...worker.port, ...choose(worker.can, null) };
    const page = await startOnPage(url, receive);
    const choice = choose(worker?.can ?? null, await probe(page));
    if (choice.thread === "worker" && worker) return { ...worker.port, ...choice };
    worker?.port.close();
    return { ...page, ...choice };
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** The worker and what it can draw with; null where the browser starts none or hands it no canvas. */
async function startWorker(url: string, receive: Receive, probe: Probe): Promise<{ port: Port; can: Capabilities } | null> {
  if (typeof OffscreenCanvas === "undefined" || !("transferControlToOffscreen" in HTMLCanvasElement.prototype)) return null;
  let worker: Worker;
  try {
    worker = new Worker(url, { name: "dshq-widget" });
  } catch (error) {
    console.warn("dshq-widget: no worker here:", error);
    return null;
  }
  const port: Port = {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    close: () => worker.terminate(),
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => receive(data);
  // a page's security policy refuses a worker by an event, or by silence
  const refused = new Promise<null>((resolve) => {
    worker.onerror = (event) => {
      // from disk it is always so, and the page says it below the match
      if (location.protocol !== "file:") console.warn("dshq-widget worker:", event.message || "refused");
      resolve(null);
    };
    setTimeout(resolve, START_MS, null);
  });
  const can = await Promise.race([probe(port), refused]);
  if (can) return { port, can };
  port.close();
  return null;
}

async function startOnPage(url: string, receive: Receive): Promise<Port> {
  const { newHost } = await importOnPage(url);
  // asynchronously, as from a worker: nobody is answered in the middle of asking
  const host = newHost((message) => queueMicrotask(() => receive(message)));
  return { post: (message) => host.receive(message), close: () => undefined };
}

function askCapabilities(port: Port, subscribe: Registry["subscribe"]): Promise<Capabilities> {
  return new Promise((resolve) => {
    const id = `${REGISTRY_ID}-${probes++}`;
    const done = subscribe(id, (message) => {
      if (message.type !== "CAPABILITIES") return;
      done();
      resolve(message.capabilities);
    });
    port.post({ type: "PROBE", id });
  });
}
let probes = 0;
