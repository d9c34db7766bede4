// @vitest-environment happy-dom
/** Forget everything, and Undo. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { LeagueRow } from "../../contract/protocol";
import { answerFile, FakeModel, installBrowser, mount, row, settle } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
const control = (name: string) => root.querySelector<HTMLButtonElement>(`[aria-label="${name}"]`)!;
const undo = () => root.querySelector<HTMLElement>(".undo")!;
const policy = (version: number) => model.set("policy", { ...model.get("policy")!, version });
/** What a learner here reports. */
const learned = (step: number, updates: number) => model.set("metrics", row(step, { updates, agent_steps_per_second: 9 }));
const packed = async (version = 40) => {
  answerFile(model, `ball-v${version}.dshq`);
  await settle();
};

const LEAGUE = [{ name: "v40", elo: 1200, low: 1100, high: 1300, matches: 64, pinned: false }] as unknown as LeagueRow[];

beforeEach(async () => {
  model = new FakeModel();
  ({ root, end } = await mount(model));
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

describe("forget everything", () => {
  it("asks for no file where nothing was learned", () => {
    control("Forget everything").click();
    expect(model.sent.map(({ type }) => type)).toContain("RESET_TRAINER");
    expect(model.sentOf("SAVE_POLICY")).toEqual([]);
    expect(undo().hidden).toBe(true);
  });

  it("keeps a file first; Undo loads it and puts the curves back", async () => {
    policy(40);
    model.set("metrics", row(10, { updates: 3267 }));
    model.set("metrics", row(20, { updates: 3268 }));
    control("Forget everything").click();
    await settle();
    expect(model.sentOf("RESET_TRAINER")).toEqual([]);
    await packed();
    expect(model.sentOf("RESET_TRAINER")).toHaveLength(1);
    expect(undo().hidden).toBe(false);
    expect(undo().textContent).toContain("Forgot 3,268 updates.");
    policy(0);
    model.set("metrics", {});

    control("Undo").click();
    await settle();
    expect(undo().hidden).toBe(true);
    expect(model.sentOf("LOAD_POLICY")).toEqual([{ type: "LOAD_POLICY", name: "what was learned before", part: 0, parts: 1 }]);
    policy(40);
    model.set("metrics", row(20, { updates: 3268 }));
    expect(model.sentOf("RESTORE_HISTORY"), "pages to come see the whole curve").toMatchObject([{ rows: [{ updates: 3267 }, { updates: 3268 }] }]);
    expect([...root.querySelectorAll(".tile .value")].map((value) => value.textContent)).toContain("3.27k");
  });

  it("offers Undo until something is learned anew, and for ten seconds at least", async () => {
    policy(40);
    model.set("league", LEAGUE);
    control("Forget everything").click();
    await settle();
    expect(model.sentOf("SAVE_POLICY")).toMatchObject([{ type: "SAVE_POLICY", whole: true }]);
    vi.useFakeTimers();
    answerFile(model, "ball-v40.dshq");
    policy(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(undo().hidden).toBe(false);
    policy(3);
    model.set("metrics", row(1));
    expect(undo().hidden).toBe(true);
  });

  it("says why a run cannot be kept, and forgets nothing", async () => {
    policy(40);
    control("Forget everything").click();
    await settle();
    answerFile(model, "ball-v40.dshq", "ball-v40.dshq is larger than 64 MB.");
    await settle();
    expect(model.sentOf("RESET_TRAINER")).toEqual([]);
    expect(root.querySelector(".status .notice")!.textContent).toBe(
      "What was learned could not be saved for Undo, so nothing was forgotten. ball-v40.dshq is larger than 64 MB.",
    );
    control("Forget everything").click();
    await settle();
    await packed();
    expect(model.sentOf("RESET_TRAINER")).toHaveLength(1);
  });

  it("while training keeps what the file holds, and Undo brings its curves and league back", async () => {
    policy(40);
    model.set("status", "training");
    model.set("metrics", row(10, { updates: 40, version: 40 }));
    control("Forget everything").click();
    await settle();
    policy(42); // the learner finishes its update before it packs
    model.set("metrics", row(20, { updates: 42, version: 42 }));
    model.set("league", LEAGUE);
    model.set("metrics", row(30, { updates: 43, version: 43 }));
    await packed(42);
    policy(0);
    model.set("metrics", {});
    model.set("league", []);
    control("Undo").click();
    await settle();
    model.set("metrics", row(20, { updates: 42, version: 42 }));
    policy(42); // which the kernel sends last
    await settle();
    expect(model.sentOf("RESTORE_HISTORY")).toMatchObject([{ rows: [{ updates: 40 }, { updates: 42 }] }]);
    expect(model.get("league")).toEqual(LEAGUE);
  });

  it.each([
    ["a newer training", 1],
    ["what is just being forgotten", 0],
  ])("takes %s of the same version for no answer to Undo", async (_, forgotten) => {
    const shown = (version: number, run: number) => model.set("policy", { ...model.get("policy")!, version, run });
    shown(40, 0);
    model.set("metrics", row(20, { updates: 3268 }));
    control("Forget everything").click();
    await settle();
    await packed();
    if (forgotten) {
      shown(0, 1);
      shown(40, 1); // of small networks there are many versions a second
    }
    control("Undo").click();
    await settle();
    model.set("metrics", row(30, { updates: 2 }));
    expect(model.sentOf("RESTORE_HISTORY")).toEqual([]);
    shown(40, 2);
    await settle();
    expect(model.sentOf("RESTORE_HISTORY")).toMatchObject([{ rows: [{ updates: 3268 }] }]);
  });

  it("just after Train can be undone, whenever the file comes that was packed for Train", async () => {
    policy(40);
    model.set("metrics", row(20, { updates: 40 }));
    control("Train").click();
    await settle();
    const [training] = model.sentOf("SAVE_POLICY");
    control("Forget everything").click();
    await settle();
    await packed();
    expect(undo().textContent).toContain("Forgot 40 updates.");
    answerFile(model, "ball-v40.dshq", "", training!.request);
    await settle();
    expect([undo().hidden, undo().textContent]).toEqual([false, expect.stringContaining("Forgot 40 updates.")]);
  });

  it("brings the league back, too", async () => {
    policy(40);
    model.set("league", LEAGUE);
    control("Forget everything").click();
    await settle();
    await packed();
    policy(0);
    model.set("league", []);
    control("Undo").click();
    await settle();
    policy(40);
    model.set("metrics", row(20));
    expect(model.get("league")).toEqual(LEAGUE);
  });
});

describe("training", () => {
  it("can be undone once it has stopped", async () => {
    policy(40);
    learned(10, 40);
    control("Train").click();
    await settle();
    expect(model.sent.map(({ type }) => type)).toEqual(expect.arrayContaining(["SAVE_POLICY", "START_TRAINING"]));
    await packed();
    model.set("status", "training");
    policy(50);
    learned(20, 50);
    expect(undo().hidden).toBe(true);
    model.set("status", "stopped");
    expect(undo().textContent).toContain("Learned 10 updates since Train.");
    control("Undo").click();
    await settle();
    expect(model.sentOf("LOAD_POLICY")).toHaveLength(1);
    policy(40);
    model.set("metrics", row(10, { updates: 40 }));
    expect(model.sentOf("RESTORE_HISTORY")).toHaveLength(1);
    expect(undo().hidden).toBe(true);
  });

  it("counts the updates since Train, and none of a policy that is loaded or was there before", async () => {
    const said = () => undo().textContent;
    policy(40);
    learned(10, 40);
    control("Train").click();
    await settle();
    await packed();
    model.set("status", "training");
    model.set("metrics", {}); // its network is another
    learned(5, 6);
    learned(8, 10);
    model.set("status", "stopped");
    expect(said()).toContain("Learned 10 updates since Train.");
    model.set("metrics", {});
    model.set("metrics", row(900, { updates: 5000 })); // a file has no rates of this machine
    model.fire("msg:custom", { type: "HISTORY", start: 0, rows: [] });
    expect(said()).toContain("Learned 10 updates since Train.");
    model.set("status", "training"); // by Python
    learned(910, 5002);
    model.set("status", "stopped");
    expect(said()).toContain("Learned 12 updates since Train.");
  });

  it("from nothing goes back to nothing, which can be undone, too", async () => {
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toHaveLength(1);
    policy(40);
    learned(20, 40);
    model.set("status", "stopped");
    control("Undo").click();
    await settle();
    await packed();
    expect(model.sentOf("RESET_TRAINER")).toHaveLength(1);
    expect(undo().textContent).toContain("Forgot 40 updates.");
  });
});
