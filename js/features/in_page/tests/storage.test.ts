import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RunKeeper } from "../run_keeper";
import { forgetRun, keptRuns, keyOf, Place } from "../storage";
import { StorageDouble } from "./storage_double";

test("a run is kept for whose server it is, and so offered to nobody else", () => {
  expect(keyOf("0123", "/user/ada/lab/tree/work")).toBe("ada/0123");
  expect(keyOf("0123", "/hub/user/ben/notebooks/a.ipynb")).toBe("ben/0123");
  expect(keyOf("0123", "/user/ada/lab")).not.toBe(keyOf("0123", "/user/ben/lab"));
});

test("without a hub the rules alone are its name, as in releases before", () => {
  expect(keyOf("0123", "/lab/tree/work")).toBe("0123");
  expect(keyOf("0123", "/")).toBe("0123");
});

let storage: StorageDouble;
let time = 0;
const run = (version: number) => ({ drill: "ball", version, savedAt: ++time, file: Uint8Array.of(version) });
const versions = async () => (await keptRuns("rules")).map(({ version }) => version);

beforeEach(() => {
  storage = new StorageDouble();
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

test("a run that continues takes the place of what it began from, also of a release before", async () => {
  storage.runs.set("rules", run(40));
  const [before] = await keptRuns("rules");
  const place = new Place();
  place.goOnFrom(before!);
  expect(await versions(), "until there is something newer").toEqual([40]);
  await place.keep("rules", run(41));
  expect(await versions()).toEqual([41]);
});

test("the newest two of a drill are kept, and of those before them the one that learned longest", async () => {
  for (let k = 1; k <= 5; k++) await new Place().keep("rules", run(k));
  expect(await versions()).toEqual([5, 4, 3]);
  await new Place().keep("rules", run(3000));
  for (let k = 6; k <= 9; k++) await new Place().keep("rules", run(k));
  expect(await versions()).toEqual([9, 8, 3000]);
});

test("another run in the same page leaves the one that was kept", async () => {
  const place = new Place();
  place.begin(0);
  await place.keep("rules", run(3000));
  place.begin(3000); // continues
  await place.keep("rules", run(3010));
  expect(await versions()).toEqual([3010]);
  await place.keep("rules", run(5)); // began anew, unsaid
  expect(await versions()).toEqual([5, 3010]);
  place.begin(40); // a file of somebody
  await place.keep("rules", run(41));
  expect(await versions()).toEqual([41, 5, 3010]);
});

test("a run that continues from a kept one leaves what its page has kept before", async () => {
  await new Place().keep("rules", run(40));
  const [before] = await keptRuns("rules");
  const place = new Place();
  await place.keep("rules", run(6));
  place.goOnFrom(before!);
  place.begin(40);
  await place.keep("rules", run(41));
  expect(await versions()).toEqual([41, 6]);
});

test("a kept run stays where another one began instead of continuing from it", async () => {
  await new Place().keep("rules", run(40));
  const place = new Place();
  place.goOnFrom((await keptRuns("rules"))[0]!);
  place.begin(0);
  await place.keep("rules", run(50));
  expect(await versions()).toEqual([50, 40]);
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
