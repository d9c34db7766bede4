/**
 * Makes a film (js/worker/film.ts) in a separate worker, which runs the show worker's code and ends with the film. Where the browser
 * starts no worker, the film is made on the page.
 */
import type { FilmOrder, FromWorker, ToWorker } from "../../contract/protocol";
import { importOnPage, workerUrl } from "./worker_code";

const START_MS = 5_000; // a worker that has not said anything by then was refused silently
const CLOSED = "The film was not made: its match has been closed.";
const ID = "film";

/** The film; `progress` receives how much of it is done, 0..1. Rejects with an Error of one sentence, also when `signal` ends before. */
export async function makeFilm(order: FilmOrder, progress: (share: number) => void, signal: AbortSignal): Promise<Blob> {
  const url = await workerUrl();
  const message: ToWorker = { type: "FILM", id: ID, ...order };
  const made = new AbortController();
  const closed = (end: () => void) => {
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: made.signal });
  };
  try {
    return (await inWorker(url, message, progress, closed)) ?? (await onPage(url, message, progress, closed));
  } finally {
    made.abort();
    URL.revokeObjectURL(url);
  }
}

/** Calls back once the match has been closed. */
type Closed = (end: () => void) => void;

/** Null where no worker starts. */
function inWorker(url: string, order: ToWorker, progress: (share: number) => void, closed: Closed): Promise<Blob | null> {
  return new Promise((resolve, reject) => {
    let worker: Worker;
    try {
      worker = new Worker(url, { name: "dshq-widget film" });
    } catch {
      resolve(null); // this page may not start workers: the page's own thread does it
      return;
    }
    const settle = (end: () => void) => {
      clearTimeout(silent);
      worker.terminate();
      end();
    };
    const silent = setTimeout(() => settle(() => resolve(null)), START_MS);
    worker.onerror = () => settle(() => resolve(null));
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      clearTimeout(silent);
      follow(
        data,
        progress,
        (blob) => settle(() => resolve(blob)),
        (error) => settle(() => reject(error)),
      );
    };
    closed(() => settle(() => reject(new Error(CLOSED))));
    worker.postMessage(order);
  });
}

async function onPage(url: string, order: ToWorker, progress: (share: number) => void, closed: Closed): Promise<Blob> {
  const { newHost } = await importOnPage(url);
  return new Promise((resolve, reject) => {
    const host = newHost((message) => follow(message, progress, resolve, reject));
    host.receive(order);
    closed(() => {
      host.receive({ type: "DISPOSE", id: ID });
      reject(new Error(CLOSED));
    });
  });
}

function follow(message: FromWorker, progress: (share: number) => void, done: (film: Blob) => void, failed: (error: Error) => void): void {
  if (message.type === "ERROR") failed(new Error(message.text));
  if (message.type !== "FILMED") return;
  if (message.content) done(new Blob([message.content]));
  else progress(message.share);
}
