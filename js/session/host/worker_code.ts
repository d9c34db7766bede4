/** The code of the show worker, which the bundler puts into this module (js/build.mjs). */
import packed from "worker-source";
import type { FromWorker, ToWorker } from "../../contract/protocol";
import { unpack } from "./unpack";

/** js/show_worker.ts as the page sees it where no worker runs it. */
interface ShowCode {
  newHost(post: (message: FromWorker) => void): { receive(message: ToWorker): void };
}

/** Runs it on the page itself, from a URL of it. */
export async function importOnPage(url: string): Promise<ShowCode> {
  await import(/* @vite-ignore */ url);
  return (globalThis as unknown as { dshqShow: ShowCode }).dshqShow;
}

/** A fresh URL of it, for a Worker or an import. */
export async function workerUrl(): Promise<string> {
  return URL.createObjectURL(new Blob([await unpack(packed)], { type: "text/javascript" }));
}
