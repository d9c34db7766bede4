/** A worker whose part the test plays: it keeps what it hears, and says what the test says. */
import type { FromTrainer, ToTrainer } from "../../../contract/training";

export class TrainerDouble {
  static all: TrainerDouble[] = [];
  readonly heard: ToTrainer[] = [];
  ended = false;
  onmessage: ((event: { data: FromTrainer }) => void) | null = null;
  onerror: ((event: { message: string; preventDefault(): void }) => void) | null = null;
  constructor() {
    TrainerDouble.all.push(this);
  }
  postMessage(message: ToTrainer): void {
    this.heard.push(message);
  }
  terminate(): void {
    this.ended = true;
  }
  says(message: FromTrainer): void {
    this.onmessage?.({ data: message });
  }
}
