// @vitest-environment happy-dom
/** What stands on the screen when: tabs, chips on the pitch, the score of those who play now, a match against the policy. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Traits } from "../../contract/model";
import type { ShowState } from "../../session/events";
import { FakeModel, FakeWorker, installBrowser, mount, settle, spec } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let id: string;
let end = () => {};

const drag = [
  { name: "ball", x: "bx", y: "by", vx: "bvx", vy: "bvy", kind: "ball" as const, index: 0 },
  { name: "player 0", x: "px", y: "py", vx: "vx", vy: "vy", index: 0, kind: "player" as const },
];
const terms = [{ name: "goal", weight: 1, kind: "reward" as const, help: "" }];
const trained = { version: 5, step: 0, shape_hash: "", layers: [4, 7], activation: "tanh" as const, data: new DataView(new ArrayBuffer(140)) };
const standing: ShowState = { tick: 0, score: [0, 0], version: 5, fps: 60, playing: true, events: [], probabilities: [], value: 0 };

async function open(traits: Partial<Traits> = {}): Promise<void> {
  model = new FakeModel({ drill: { spec: { ...spec, drag, terms }, javascript: "return {}" }, policy: trained, ...traits });
  ({ root, end } = await mount(model));
  id = FakeWorker.all[0]!.of("DRILL").at(-1)!.id;
}
async function state(change: Partial<ShowState>): Promise<void> {
  FakeWorker.all[0]!.say({ type: "STATE", id, ...standing, ...change });
  await settle();
}

const control = <T extends HTMLElement = HTMLButtonElement>(key: string) => root.querySelector<T>(`[data-control="${key}"]`)!;
const visible = (element: Element) => !element.closest("[hidden]");
const select = (key: string, value: string) => {
  const element = control<HTMLSelectElement>(key);
  element.value = value;
  element.dispatchEvent(new Event("change"));
};

afterEach(() => {
  end();
  vi.useRealTimers();
  document.body.replaceChildren();
});

describe("tabs", () => {
  const offered = () => [...root.querySelectorAll<HTMLElement>("[role=tab]:not([hidden])")];
  const selected = () => offered().filter((tab) => tab.getAttribute("aria-selected") === "true");

  it("are moved through by keyboard, and what stands under them is built when it is opened", async () => {
    await open();
    const names = offered().map((tab) => tab.textContent!);
    const everywhere = [...names.slice(0, 3), names.at(-1)];
    expect(everywhere, "features' tabs stand before the settings").toEqual(["Learn", "Mind", "Rewards", "Settings"]);
    expect(offered().map((tab) => tab.tabIndex)).toEqual(names.map((_, k) => (k ? -1 : 0)));
    const filled = [...root.querySelectorAll("[role=tabpanel]")].map((panel) => panel.childElementCount > 0);
    expect(filled.filter(Boolean)).toEqual([true]);
    offered()[0]!.focus();
    for (const [key, name] of [
      ["ArrowRight", "Mind"],
      ["End", "Settings"],
      ["ArrowRight", "Learn"],
      ["ArrowLeft", "Settings"],
      ["Home", "Learn"],
    ] as const) {
      document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      expect(selected().map((tab) => tab.textContent)).toEqual([name]);
      expect(document.activeElement).toBe(selected()[0]);
      const panels = [...root.querySelectorAll<HTMLElement>("[role=tabpanel]:not([hidden])")];
      expect(panels.map((panel) => panel.getAttribute("aria-labelledby"))).toEqual([selected()[0]!.id]);
    }
  });
});

describe("chips on the pitch", () => {
  const chips = () => [...root.querySelectorAll(".chips .chip")].filter(visible).map((chip) => chip.textContent);

  it("are there once they have something to show", async () => {
    await open();
    await state({ version: 0 });
    expect(chips(), "an untrained network has nothing to show").toEqual([]);
    await state({ version: 0, playing: false });
    expect(chips(), "nor why it moved").not.toContain("Why that move?");
    await state({});
    expect(chips()).toContain("Value map");
    expect(chips()).not.toContain("Why that move?");
    await state({ playing: false });
    expect(chips().slice(0, 2)).toEqual(["Value map", "Why that move?"]);
  });
});

describe("the board", () => {
  const goals = () => [...root.querySelectorAll(".goals")].map((shown) => shown.textContent);

  it("counts the goals of those who play now, and says nothing of frames while the match stands", async () => {
    await open();
    await state({ score: [2, 1] });
    expect(goals()).toEqual(["2", "1"]);
    await state({ score: [2, 1], playing: false });
    expect(root.querySelector(".fps")!.textContent).toBe("");
    select("mode", "sandbox");
    await state({ score: [2, 1], playing: false, tick: 1 });
    expect(goals()).toEqual(["0", "0"]);
    expect(root.dataset.score, "of the whole match").toBe("2-1");
    await state({ score: [3, 1], tick: 2 });
    expect(goals()).toEqual(["1", "0"]);
  });

  it("names the version that waits while the match is paused", async () => {
    await open();
    const versions = () => [...root.querySelectorAll(".corner :is(.version, .waiting)")].filter(visible).map((shown) => shown.textContent);
    const play = (playing: boolean) => model.set("show", { ...model.get("show"), playing });
    await state({});
    model.set("policy", { ...trained, version: 12 });
    expect(versions(), "it plays soon").toEqual(["v5"]);
    play(false);
    await state({ playing: false });
    expect(versions()).toEqual(["v5", "v12 next"]);
    model.set("policy", { ...trained, version: 13 });
    expect(versions()).toEqual(["v5", "v13 next"]);
    const said = (name: string) => root.querySelector<HTMLElement>(`.corner .${name}`)!.title;
    expect(said("waiting")).toBe("The match is paused: version 13 plays from the next decision on");
    model.set("show", { ...model.get("show"), swap: "at_reset" });
    expect(said("waiting")).toBe("The match is paused: version 13 plays when the next game starts");
    await state({ playing: false, version: 0 });
    expect(said("version"), "for some are").toBe("No trained policy is playing now");
    play(true);
    await state({ version: 13 });
    expect(versions()).toEqual(["v13"]);
  });

  it("of a drill of one side has one name and no goals, and nobody can be met", async () => {
    await open({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } });
    expect(root.querySelectorAll(".board[data-alone]")).toHaveLength(1);
    for (const key of ["next-goal", "challenge", "opponent"]) expect(visible(control(key)), key).toBe(false);
    expect(control("ghost-back")).toBeNull();
    expect(root.querySelector("details.log")).not.toBeNull();
  });
});

describe("a match against the policy", () => {
  const part = (selector: string) => root.querySelector<HTMLElement>(selector);

  it("counts down, gives the keys to the match, ends with a card, begins again and is left", async () => {
    await open();
    select("speed", "2");
    await state({ tick: 900, score: [3, 4] });
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "performance"] });
    const report = async (change: Partial<ShowState>) => {
      FakeWorker.all[0]!.say({ type: "STATE", id, ...standing, ...change });
      await vi.advanceTimersByTimeAsync(0);
    };
    control("challenge").click();
    expect(part(".countdown .count")!.textContent).toBe("3");
    expect(part(".countdown")!.textContent).toContain("Space");
    expect(document.activeElement).toBe(control("match"));
    await report({ tick: 0 });
    await vi.advanceTimersByTimeAsync(5000);
    expect(part(".countdown")).toBeNull();
    expect(part(".invitation")!.hidden, "who plays already is not invited").toBe(true);
    expect(root.dataset.mode).toBe("human_vs_ai");
    expect(model.get("show"), "what other pages and Python see continues").toMatchObject({ mode: "ai_vs_ai", playing: true, speed: 2 });
    await report({ tick: 120 * 60, score: [0, 2] });
    expect(part(".end-card .result")!.textContent).toBe("You lost 0 : 2");
    expect(part(".end-card")!.textContent).toContain("against version 5");
    expect(visible(control("play")), "this page's match stands").toBe(true);

    control("challenge-share").click();
    expect(visible(part(".share-menu")!)).toBe(true);
    control("challenge-again").click();
    expect(part(".countdown .count")!.textContent).toBe("3");
    await report({ tick: 0 });
    await vi.advanceTimersByTimeAsync(5000);
    await report({ tick: 120 * 60, score: [0, 0] });
    expect(part(".end-card .result")!.textContent).toBe("A draw: 0 : 0");
    control("challenge-leave").click();
    expect(part(".end-card")).toBeNull();
    expect(root.dataset.mode).toBe("ai_vs_ai");
    expect(model.get("show")).toMatchObject({ mode: "ai_vs_ai", playing: true, speed: 2, match: 0 });
  });
});
