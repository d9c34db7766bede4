// @vitest-environment happy-dom
/** What a page shows that comes back: from a duel, a replay, a hidden hour, a kernel that was gone. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ShowEvent } from "../../contract/protocol";
import { FakeModel, FakeWorker, installBrowser, mount, openTab, settle } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
let id: string;
const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const goals = () => [...root.querySelectorAll(".goals")].map((each) => each.textContent);
const hide = (hidden: boolean) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};
const reset: ShowEvent[] = [{ kind: "reset", tick: 0, side: -1, version: 5 }];

async function report(score: [number, number], events: ShowEvent[] = []): Promise<void> {
  worker().say({ type: "STATE", id, tick: 120, score, version: 5, fps: 60, playing: true, events, probabilities: [], value: 0 });
  await settle();
}

beforeEach(async () => {
  model = new FakeModel();
  ({ root, end } = await mount(model));
  id = worker().of("DRILL").at(-1)!.id;
  worker().received.length = 0;
});
afterEach(() => {
  end();
  hide(false);
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

describe("a duel", () => {
  const choose = (mode: string) => {
    const select = control<HTMLSelectElement>("Mode");
    select.value = mode;
    select.dispatchEvent(new Event("change"));
  };

  it("is left by choosing who plays, though everybody's match has that mode already", async () => {
    root.querySelector<HTMLButtonElement>('[data-control="challenge"]')!.click();
    await settle();
    expect([root.dataset.mode, worker().of("SET_MODE").at(-1)!.mode]).toEqual(["human_vs_ai", "human_vs_ai"]);
    choose("ai_vs_ai");
    await settle();
    expect([root.dataset.mode, worker().of("SET_MODE").at(-1)!.mode]).toEqual(["ai_vs_ai", "ai_vs_ai"]);
    const saves = model.saves;
    control("Pause").click();
    expect([model.get("show").playing, model.saves], "what is chosen is everybody's again").toEqual([false, saves + 1]);
  });

  it("gives way to a match that others began meanwhile", async () => {
    root.querySelector<HTMLButtonElement>('[data-control="challenge"]')!.click();
    model.set("show", { ...model.get("show"), match: model.get("show").match + 1 });
    await settle();
    const before = worker().of("RESET_SHOW").length;
    choose("ai_vs_ai");
    await settle();
    expect(worker().of("RESET_SHOW"), "the duel's pitch is not everybody's match").toHaveLength(before + 1);
  });

  it("leaves the score of the match that it interrupted", async () => {
    await report([1, 1]);
    model.set("show", { ...model.get("show"), mode: "sandbox" });
    await report([1, 1]);
    await report([4, 3]);
    root.querySelector<HTMLButtonElement>('[data-control="challenge"]')!.click();
    await report([0, 0], reset);
    await report([0, 4]);
    expect(goals()).toEqual(["0", "4"]);
    choose("sandbox");
    await report([0, 4]); // was under way
    await report([4, 3]);
    expect(goals()).toEqual(["3", "2"]);
  });
});

/** A saved match takes the live one's place. */
async function beginReplay(): Promise<void> {
  const recording = { drill: "ball", rules_hash: "rules", seed: 1, ticks: 240, inputs: [], actions: [0, 0], start: null };
  const file = root.querySelector<HTMLInputElement>('[data-control="replay-file"]')!;
  Object.defineProperty(file, "files", { value: [new File([JSON.stringify(recording)], "ball.json")] });
  file.dispatchEvent(new Event("change"));
  await settle();
  worker().say({ type: "REPLAYING", id, problem: "" });
  await settle();
}

it("a replay begins at 0:0 and leaves the score of the live match", async () => {
  await report([1, 1]);
  model.set("show", { ...model.get("show"), mode: "sandbox" }); // somebody else: begins at 0:0
  await report([1, 1]);
  await report([4, 3]);
  expect(goals()).toEqual(["3", "2"]);
  await beginReplay();
  await report([0, 1]);
  expect(goals()).toEqual(["0", "1"]);
  root.querySelector<HTMLButtonElement>('[data-control="replay-leave"]')!.click();
  await report([4, 3]);
  expect(goals()).toEqual(["3", "2"]);
});

it("a replay has no network to ask, and says so instead of asking for training", async () => {
  openTab(root, "mind");
  const said = () => root.querySelector(".mind > .sentence")!.textContent;
  expect(said()).toBe("No network is playing yet. Press Train to see what it thinks.");
  await beginReplay();
  expect(said()).toBe("A replay shows what was recorded. It contains no network.");
  root.querySelector<HTMLButtonElement>('[data-control="replay-leave"]')!.click();
  expect(said()).toBe("No network is playing yet. Press Train to see what it thinks.");
});

describe("a page that was hidden", () => {
  it("asks for the curves that it missed, where it was long", () => {
    let now = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const greetings = model.sentOf("HELLO").length;
    hide(true);
    now += 1000;
    hide(false);
    expect(model.sentOf("HELLO")).toHaveLength(greetings);
    hide(true);
    now += 3600_000;
    hide(false);
    expect(model.sentOf("HELLO")).toHaveLength(greetings + 1);
  });

  it("hides a canvas that was put there meanwhile", async () => {
    hide(true);
    await settle();
    model.set("show", { ...model.get("show"), renderer: "canvas2d" });
    await settle();
    const last = worker().received.findLastIndex(({ type }) => type === "INIT_CANVAS");
    expect(
      worker()
        .received.slice(last)
        .filter(({ type }) => type === "VISIBLE"),
    ).toMatchObject([{ visible: false }]);
  });
});

it("a kernel that is back is asked for the curves", async () => {
  const greetings = model.sentOf("HELLO").length;
  model.fire("comm:close");
  expect(root.dataset.status).toBe("disconnected");
  model.set("seq", 7);
  expect(root.dataset.status).toBe("idle");
  expect(model.sentOf("HELLO")).toHaveLength(greetings + 1);
});
