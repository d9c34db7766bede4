import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RunKeeper } from "../run_keeper";
import { forgetRun, keptRuns, keyOf, Place } from "../storage";

test("a run is kept for whose server it is, and so offered to nobody else", () => {
  expect(keyOf("0123", "/user/ada/lab/tree/work")).toBe("ada/0123");
  expect(keyOf("0123", "/hub/user/ben/notebooks/a.ipynb")).toBe("ben/0123");
  expect(keyOf("0123", "/user/ada/lab")).not.toBe(keyOf("0123", "/user/ben/lab"));
});

test("without a hub the rules alone are its name, as in releases before", () => {
  expect(keyOf("0123", "/lab/tree/work")).toBe("0123");
  expect(keyOf("0123", "/")).toBe("0123");
});

/** A browser's storage, as far as it is used here. */
class Storage {
  readonly runs = new Map<string, unknown>();
  full = false;
  broken = false;

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

let storage: Storage;
let time = 0;
const run = (version: number) => ({ drill: "ball", version, savedAt: ++time, file: Uint8Array.of(version) });
const versions = async () => (await keptRuns("rules")).map(({ version }) => version);

beforeEach(() => {
  storage = new Storage();
  vi.stubGlobal("location", { pathname: "/" });
  vi.stubGlobal("indexedDB", storage);
  vi.stubGlobal("IDBKeyRange", { bound: (low: string, high: string) => [low, high] });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("two runs of a drill side by side are both kept, and forgotten one by one", async () => {
  const [one, other] = [new Place(), new Place()];
  await one.keep("rules", run(500));
  await other.keep("rules", run(3));
  await one.keep("rules", run(510));
  await new Place().keep("other rules", run(7));
  expect(await versions()).toEqual([510, 3]);
  await other.forget("rules");
  expect(await versions()).toEqual([510]);
  await forgetRun((await keptRuns("rules"))[0]!.key);
  expect(await versions()).toEqual([]);
});

test("a run that goes on takes the place of what it began from, also of a release before", async () => {
  storage.runs.set("rules", run(40));
  const [before] = await keptRuns("rules");
  const place = new Place();
  place.goOnFrom(before!);
  expect(await versions(), "until there is something newer").toEqual([40]);
  await place.keep("rules", run(41));
  expect(await versions()).toEqual([41]);
});

test("the newest three of a drill are kept", async () => {
  for (let k = 1; k <= 5; k++) await new Place().keep("rules", run(k));
  expect(await versions()).toEqual([5, 4, 3]);
});

test("a browser that keeps nothing is spoken of once, and nothing waits for it", async () => {
  let said = 0;
  const keeper = new RunKeeper({ name: "ball", rules_hash: "rules" }, new Place(), () => {
    said += 1;
  });
  keeper.begin();
  for (const fault of ["full", "broken"] as const) {
    storage[fault] = true;
    keeper.keep({ file: Uint8Array.of(1), version: 1 });
    await vi.waitFor(() => expect(said).toBe(1));
    expect(await keptRuns("rules")).toEqual([]);
  }
});
