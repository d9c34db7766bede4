/** The host of all matches as a page has it. */
import type { FromWorker, ToWorker } from "../../contract/protocol";
import { newHost } from "../../show_worker";

type Posted<T extends FromWorker["type"]> = Extract<FromWorker, { type: T }>;

/** A host as a page has it, with everything it posted. */
export class HostPage {
  readonly posted: FromWorker[] = [];
  readonly host = newHost((message) => this.posted.push(message), "page");

  send(...messages: ToWorker[]): void {
    for (const message of messages) this.host.receive(message);
  }
  all<T extends FromWorker["type"]>(type: T, id = "a"): Posted<T>[] {
    return this.posted.filter((message): message is Posted<T> => message.type === type && message.id === id);
  }
  async until<T extends FromWorker["type"]>(type: T, holds: (message: Posted<T>) => boolean, id = "a"): Promise<Posted<T>> {
    const end = Date.now() + 20_000;
    for (;;) {
      const found = this.all(type, id).find(holds);
      if (found) return found;
      if (Date.now() > end) throw new Error(`no such ${type} came; got ${JSON.stringify(this.posted.slice(-3))}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
