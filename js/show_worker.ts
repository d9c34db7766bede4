/** The show worker's entry: a host with all features, wired to the thread's messages where this is a worker. */
import type { FromWorker, Thread, ToWorker } from "./contract/protocol";
import { SHOW_FEATURES } from "./features/worker";
import { Host } from "./worker/host";

/** For a thread, by default the one that this runs on. */
export function newHost(post: (message: FromWorker) => void, thread?: Thread): Host {
  return new Host(post, SHOW_FEATURES, thread);
}

declare const WorkerGlobalScope: (new () => EventTarget) | undefined;

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  const host = newHost((message) => self.postMessage(message));
  self.onmessage = ({ data }: MessageEvent<ToWorker>) => host.receive(data);
}
