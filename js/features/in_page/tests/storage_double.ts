/** A browser whose storage a test looks into. */
import { vi } from "vitest";

/** Its storage, as far as it is used here. In force until `vi.unstubAllGlobals()`. */
export class StorageDouble {
  readonly runs = new Map<string, unknown>();
  full = false;
  broken = false;

  constructor() {
    vi.stubGlobal("location", { pathname: "/" });
    vi.stubGlobal("indexedDB", this);
    vi.stubGlobal("IDBKeyRange", { bound: (low: string, high: string) => [low, high] });
  }

  open() {
    const store = {
      put: (run: unknown, key: string) => {
        if (!this.full) this.runs.set(key, run);
        return { result: key };
      },
      delete: (key: string) => ({ result: void this.runs.delete(key) }),
      getAll: ([low, high]: [string, string]) => ({ result: [...this.runs].filter(([key]) => low <= key && key <= high).map(([, run]) => run) }),
    };
    const transaction = { objectStore: () => store, oncomplete: () => {}, onabort: () => {} };
    const begin = () => {
      if (this.broken) throw new Error("no such store");
      queueMicrotask(() => (this.full ? transaction.onabort() : transaction.oncomplete()));
      return transaction;
    };
    const opening = { result: { transaction: begin, close: () => {} }, onsuccess: () => {} };
    queueMicrotask(() => opening.onsuccess());
    return opening;
  }
}
