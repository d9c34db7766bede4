/** What a page has learned by itself, kept in the browser: the newest run of each drill, as a `.dshq` file. */

const NAME = "dshq-widget";
const STORE = "runs";

export interface Kept {
  drill: string;
  version: number;
  savedAt: number; // ms since 1970
  file: Uint8Array;
}

/** The run kept for these rules; null where there is none, or where the browser keeps nothing (a private window). */
export async function keptRun(rules: string): Promise<Kept | null> {
  return (await inStore<Kept | undefined>("readonly", (store) => store.get(rules))) ?? null;
}

export async function keepRun(rules: string, run: Kept): Promise<void> {
  await inStore("readwrite", (store) => store.put(run, rules));
}

export async function forgetRun(rules: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(rules));
}

/** Undefined where the browser refuses storage. */
function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest): Promise<T | undefined> {
  return new Promise((resolve) => {
    let opening: IDBOpenDBRequest;
    try {
      opening = indexedDB.open(NAME, 1);
    } catch {
      resolve(undefined); // a page without an origin may not
      return;
    }
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => resolve(undefined);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(STORE, mode);
      const request = work(transaction.objectStore(STORE));
      const end = (value: T | undefined) => {
        database.close();
        resolve(value);
      };
      transaction.oncomplete = () => end(request.result as T);
      transaction.onabort = () => end(undefined); // the quota is used up
    };
  });
}
