/** The worker that trains, and short-lived ones with one task each. */
import type { FromTrainer, ToTrainer } from "../../contract/training";

const MOST_LANES = 3;
const GAMES_OF_A_TILE = 16;
const LOST_S = 180; // an update of the largest settings takes less
const ASKED_S = 60; // so does a task, also where modules have to be compiled for it
export const FOLLOW_MS = 250; // how often a page looks after its trainer
const LOST = `The thread that trains has said nothing for ${LOST_S} s; the browser may have ended it. Press Train to continue from the last version.`;
const UNANSWERED = `A thread of this page has not answered for ${ASKED_S} s; the browser may have ended it. Try again.`;
const REFUSED = "This page may not start workers, and training needs one. Open it from a file or another server.";

/** Threads of the trainer's code: one that trains, and those that play its games. `receive` hears all that the first says, a refusal included. */
export class TrainerThread {
  private readonly workers: Worker[] = [];
  private readonly ports: MessagePort[] = [];
  private readonly url: string; // of their code, until they end
  private unheard = 0; // times that the page looked after it, since it said anything

  constructor(
    code: string,
    private receive: (message: FromTrainer) => void,
    lanes = 0,
  ) {
    this.url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const failed = (event: ErrorEvent) => {
      event.preventDefault();
      this.receive({ type: "FAILED", text: event.message || REFUSED });
    };
    try {
      for (let k = 0; k <= lanes; k++) {
        const worker = new Worker(this.url, { name: k === 0 ? "dshq-widget trainer" : "dshq-widget games" });
        this.workers.push(worker);
        if (k > 0)
          this.connect(worker); // one that fails is missed by the thread that trains
        else worker.onerror = failed;
      }
      this.workers[0]!.onmessage = ({ data }: MessageEvent<FromTrainer>) => {
        this.unheard = 0;
        this.receive(data);
      };
    } catch {
      queueMicrotask(() => this.receive({ type: "FAILED", text: REFUSED }));
    }
  }

  /** From now on this hears what the first thread says. */
  reportTo(receive: (message: FromTrainer) => void): void {
    this.receive = receive;
  }

  /** A message to the thread that trains; START gets the ways to the others. */
  post(message: ToTrainer): void {
    if (message.type === "START") this.workers[0]?.postMessage({ ...message, lanes: this.ports }, this.ports);
    else this.workers[0]?.postMessage(message);
  }

  /** Says FAILED where the first thread is silent for `most` seconds. To be called every `FOLLOW_MS`: a page that sleeps does not count. */
  follow(most = LOST_S, text = LOST): void {
    this.unheard += 1;
    if (this.unheard * FOLLOW_MS >= 1000 * most) this.receive({ type: "FAILED", text });
  }

  end(): void {
    for (const worker of this.workers) worker.terminate();
    URL.revokeObjectURL(this.url);
  }

  private connect(worker: Worker): void {
    const { port1, port2 } = new MessageChannel();
    const message: ToTrainer = { type: "LANE_PORT", port: port2 };
    worker.postMessage(message, [port2]);
    this.ports.push(port1);
  }
}

/** How many threads play games besides the one that learns: as the setting `workers` says, by itself none on small machines. */
export function laneCount(workers: number, games: number): number {
  const free = Math.floor(((navigator.hardwareConcurrency || 1) - 2) / 2); // the match, the learner, and room for others
  const few = free < 2 ? 0 : free; // one thread plays no faster than the learner's own, which waits for it
  return Math.min(workers < 0 ? few : workers, MOST_LANES, games / GAMES_OF_A_TILE);
}

/** At this interval updates are compared with the GPU's (docs/explain/webgpu.md): `dshqCompare`, which a developer sets in the browser's console. */
export function comparedEvery(): number {
  const { dshqCompare } = globalThis as { dshqCompare?: unknown };
  return Math.max(0, Math.floor(Number(dshqCompare) || 0));
}

/** The answer of a worker with one task; rejects with an Error of one sentence. */
export function ask(code: string, task: ToTrainer): Promise<FromTrainer> {
  return new Promise((resolve, reject) => {
    const thread = new TrainerThread(code, (message) => {
      clearInterval(timer);
      thread.end();
      if (message.type === "FAILED") reject(new Error(message.text));
      else resolve(message);
    });
    const timer = setInterval(() => thread.follow(ASKED_S, UNANSWERED), FOLLOW_MS);
    thread.post(task);
  });
}
