/** The worker that trains, and short-lived ones with one task each. */
import type { FromTrainer, ToTrainer } from "../../contract/training";

const REFUSED = "This page may not start workers, and training needs one. Open it from a file or another server.";

/** A thread of the trainer's code; `receive` hears all that it says, a refusal included. */
export class TrainerThread {
  private readonly worker: Worker | null;

  constructor(code: string, receive: (message: FromTrainer) => void) {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    let worker: Worker | null = null;
    try {
      worker = new Worker(url, { name: "dshq-widget trainer" });
      worker.onmessage = ({ data }: MessageEvent<FromTrainer>) => receive(data);
      worker.onerror = (event) => {
        event.preventDefault();
        receive({ type: "FAILED", text: event.message || REFUSED });
      };
    } catch {
      queueMicrotask(() => receive({ type: "FAILED", text: REFUSED }));
    }
    this.worker = worker;
  }

  post(message: ToTrainer): void {
    this.worker?.postMessage(message);
  }

  end(): void {
    this.worker?.terminate();
  }
}

/** The answer of a worker with one task; rejects with an Error of one sentence. */
export function ask(code: string, task: ToTrainer): Promise<FromTrainer> {
  return new Promise((resolve, reject) => {
    const thread = new TrainerThread(code, (message) => {
      thread.end();
      if (message.type === "FAILED") reject(new Error(message.text));
      else resolve(message);
    });
    thread.post(task);
  });
}
