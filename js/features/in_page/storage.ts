/**
 * What pages have learned by themselves, kept in the browser: of each drill the newest two runs, and of those before them the one of the
 * highest version, as `.dshq` files. All servers of a hub are one origin to the browser, so whose server it is belongs to a run's key: on a
 * shared computer nobody is offered somebody else's.
 */

const NAME = "dshq-widget";
const STORE = "runs";
const MOST_RUNS = 3; // of a drill

export interface Kept {
  key: string;
  drill: string;
  version: number;
  savedAt: number; // ms since 1970
  file: Uint8Array;
}

/** What the keys of runs begin with: their rules, and whose server the page at `path` is from. On a hub that is `/user/NAME/...`. */
export function keyOf(rules: string, path = location.pathname): string {
  const owner = /\/user\/([^/]+)\//.exec(path)?.[1];
  return owner ? `${owner}/${rules}` : rules;
}

/** The runs kept for these rules, the newest first; none where the browser keeps nothing (a private window). */
export async function keptRuns(rules: string): Promise<Kept[]> {
  const found = (await inStore<Kept[]>("readonly", (store) => store.getAll(allOf(rules)))) ?? [];
  return found.map((run) => ({ ...run, key: run.key ?? keyOf(rules) })).sort((a, b) => b.savedAt - a.savedAt);
}

export async function forgetRun(key: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(key));
}

/** Where a page keeps its run: a place of its own, so that two pages, or two widgets of one, and two runs of one page leave each other's alone. */
export class Place {
  private name = anyName();
  private version = 0; // of the run that is kept here; 0: none
  private before: Kept | null = null; // the kept run that continues here
  private trimmed = ""; // the key for which others have made room

  /** A run begins at this version: any other than the one that is kept here leaves that where it is. */
  begin(version: number): void {
    const kept = this.version || (this.before?.version ?? 0);
    if (kept > 0 && version !== kept) this.leave();
  }

  /** False where the browser keeps nothing, or has no room. */
  async keep(rules: string, run: Omit<Kept, "key">): Promise<boolean> {
    if (run.version < this.version) this.leave(); // no run goes back
    this.version = run.version;
    const { before } = this;
    const key = this.keyFor(rules);
    if ((await inStore("readwrite", (store) => store.put({ ...run, key }, key))) !== key) return false;
    if (before && before.version <= run.version) await forgetRun(before.key);
    if (this.before === before) this.before = null;
    if (this.trimmed !== key) for (const old of tooMany(await keptRuns(rules))) await forgetRun(old.key);
    this.trimmed = key;
    return true;
  }

  /** What is kept from now on takes the place of this one. */
  goOnFrom(kept: Kept): void {
    this.leave();
    this.before = kept;
  }

  async forget(rules: string): Promise<void> {
    const keys = [this.keyFor(rules), ...(this.before ? [this.before.key] : [])];
    this.leave();
    for (const key of keys) await forgetRun(key);
  }

  private leave(): void {
    [this.name, this.version, this.before] = [anyName(), 0, null];
  }

  private keyFor(rules: string): string {
    return `${keyOf(rules)}/${this.name}`;
  }
}

/** Those that make room, of runs that come newest first: the newest stay, and of the others the one that learned longest. */
function tooMany(kept: readonly Kept[]): Kept[] {
  const older = kept.slice(MOST_RUNS - 1);
  const longest = Math.max(...older.map(({ version }) => version));
  const stays = older.find(({ version }) => version === longest);
  return older.filter((run) => run !== stays);
}

function anyName(): string {
  return Math.random().toString(36).slice(2);
}

/** The keys of all runs for these rules: those of `Place`, and the one of releases before. */
function allOf(rules: string): IDBKeyRange {
  return IDBKeyRange.bound(keyOf(rules), `${keyOf(rules)}/\uffff`);
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
      const end = (value: T | undefined) => {
        database.close();
        resolve(value);
      };
      try {
        const transaction = database.transaction(STORE, mode);
        const request = work(transaction.objectStore(STORE));
        transaction.oncomplete = () => end(request.result as T);
        transaction.onabort = () => end(undefined); // the quota is used up
      } catch {
        end(undefined); // the store is another's, or is being deleted
      }
    };
  });
}
