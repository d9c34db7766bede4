/**
 * What a page has learned by itself, kept in the browser: the newest run of each drill, as a `.dshq` file. All servers of a hub are one
 * origin to the browser, so whose server it is belongs to a run's key: on a shared computer nobody is offered somebody else's.
 */

const NAME = "dshq-widget";
const STORE = "runs";

export interface Kept {
  drill: string;
  version: number;
  savedAt: number; // ms since 1970
  file: Uint8Array;
}

/** The key of a run: its rules, and whose server the page at `path` is from. On a hub that is `/user/NAME/...`. */
export function keyOf(rules: string, path = location.pathname): string {
  const owner = /\/user\/([^/]+)\//.exec(path)?.[1];
  return owner ? `${owner}/${rules}` : rules;
}

/** The run kept for these rules; null where there is none, or where the browser keeps nothing (a private window). */
export async function keptRun(rules: string): Promise<Kept | null> {
  return (await inStore<Kept | undefined>("readonly", (store) => store.get(keyOf(rules)))) ?? null;
}

export async function keepRun(rules: string, run: Kept): Promise<void> {
  await inStore("readwrite", (store) => store.put(run, keyOf(rules)));
}

export async function forgetRun(rules: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(keyOf(rules)));
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
