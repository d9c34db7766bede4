// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LeagueRow } from "../../contract/protocol";
import { FakeModel, FakeWorker, installBrowser, mount, openTab, settle, spec } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let id: string;
let close: () => void;

async function open(given = new FakeModel()): Promise<void> {
  model = given;
  ({ root, end: close } = await mount(model));
  id = worker().of("DRILL").at(-1)!.id;
}

const worker = () => FakeWorker.all[0]!;
const one = <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)!;
const all = (selector: string) => [...root.querySelectorAll(selector)].map((element) => element.textContent);
const state = { tick: 120, score: [2, 1] as [number, number], version: 412, fps: 60, playing: true, events: [], probabilities: [], value: 0 };
const unfold = (name: string) => {
  one<HTMLDetailsElement>(`details.${name}`).open = true;
  one(`details.${name}`).dispatchEvent(new Event("toggle"));
};

beforeEach(() => open());
afterEach(() => {
  close();
  document.body.replaceChildren();
});

describe("the ghost", () => {
  const chip = () => one<HTMLButtonElement>('button[aria-label="Ghost"]');
  const slider = () => one<HTMLInputElement>('[aria-label="Ghost: versions back"]');
  const drag = (stop: number) => {
    slider().value = String(stop);
    slider().dispatchEvent(new Event("input"));
  };
  const report = async (versions: number[], ghost = -1) => {
    worker().say({ type: "STATE", id, ...state });
    worker().say({ type: "PAST", id, versions, ghost });
    await settle();
  };

  it("waits for an earlier version", async () => {
    expect(chip().hidden).toBe(true);
    await report([412]);
    expect(chip().hidden).toBe(true);
    await report([37, 412]);
    expect(chip().hidden).toBe(false);
    expect(one<HTMLElement>(".ghost").hidden).toBe(true);
  });

  it("begins with the first version and goes back by the stop that was chosen; the last stop is the first version, whatever comes", async () => {
    await report([0, 37, 405, 412]);
    expect(slider()).toMatchObject({ max: "3", value: "0" });
    chip().click();
    expect([chip().getAttribute("aria-checked"), one<HTMLElement>(".ghost").hidden]).toEqual(["true", false]);
    for (const stop of [1, 2, 3, 0]) drag(stop);
    await settle();
    expect(
      worker()
        .of("PAST")
        .slice(-5)
        .map(({ back }) => back),
    ).toEqual([Infinity, 7, 375, Infinity, 0]);
    expect([chip().getAttribute("aria-checked"), one<HTMLElement>(".ghost").hidden]).toEqual(["false", true]);
    expect(
      worker()
        .of("RESET_SHOW")
        .filter((message) => message.id === id),
    ).toHaveLength(1); // that of the beginning
  });

  it("says who is who on the scoreboard and beside the slider", async () => {
    await report([0, 37, 405, 412]);
    expect(all(".name")).toEqual(["AI", "AI"]);
    drag(2);
    await report([0, 37, 405, 412], 37);
    expect(all(".name")).toEqual(["v412", "v37"]);
    expect(one(".ghost .who").textContent).toBe("Blue is v412. Orange is v37, 375 back.");
    expect(slider().getAttribute("aria-valuetext")).toBe("375 back, version 37");
    model.set("show", { ...model.get("show"), mode: "sandbox" });
    expect(all(".name")).toEqual(["AI", "chaser"]);
    expect([chip().hidden, one<HTMLElement>(".ghost").hidden]).toEqual([true, true]);
  });
});

describe("the league", () => {
  const hostile = '<img src=x onerror="alert(1)">';
  const rows: LeagueRow[] = [
    { name: "v40", rank: 1, pinned: false, elo: 1611.6, elo_low: 1570, elo_high: 1650, champion: true, version: 40, step: 2e6, against: { chaser: [96, 128] } },
    { name: hostile, rank: 9, pinned: false, elo: 1480, elo_low: 1430, elo_high: 1530, champion: false, version: 61, step: 3e6, against: {} },
    { name: "chaser", rank: 12, pinned: true, elo: 1400, elo_low: 1400, elo_high: 1400, against: {} },
  ];

  it("says what is to come while there is none", () => {
    openTab(root, "league");
    expect(one<HTMLElement>(".league table").hidden).toBe(true);
    expect(one(".league .sentence").textContent).toContain("first round");
  });

  it("lists players with their bands, and marks who is who", () => {
    openTab(root, "league");
    model.set("league", rows);
    expect(all(".league tbody td:first-child")).toEqual(["1", "9", "12"]);
    expect(all(".league .elo")).toEqual(["1612 ±40", "1480 ±50", "1400"]);
    expect(all(".league .mark")).toEqual(["champion", "newest", "script"]);
    expect(all(".league tbody td:nth-child(5)")).toEqual(["75%", "–", "–"]);
    expect(one(".league .caption").textContent).toBe("Champion v40 · rank 1 · Elo 1612 (1570 to 1650)");
    const bands = [...root.querySelectorAll<HTMLElement>(".league .range")].map(({ style }) => [style.left, style.width].map(parseFloat));
    expect(bands).toHaveLength(2); // a pinned rating has none
    for (const [left, width] of bands) expect(left! + width!).toBeLessThanOrEqual(100);
    expect(bands[0]![0]).toBeGreaterThan(bands[1]![0]!);
    expect(root.querySelector(".league img")).toBeNull();
    expect(one(".league tbody tr:nth-child(2) th").textContent).toContain(hostile);
  });

  it("has a cross table of the champion, the scripts and the newest versions, from the matches played", () => {
    openTab(root, "league");
    const version = (k: number): LeagueRow => ({
      ...{ name: `v${k}`, rank: 20 - k, pinned: false, elo: 1500 + k, elo_low: 1400, elo_high: 1600, champion: k === 2, version: k, step: k },
      against: { chaser: [32 * k, 320], [`v${k - 1}`]: [20, 32], [`v${k + 1}`]: [12, 32] },
    });
    const chaser: LeagueRow = { ...rows[2]!, against: { v2: [256, 320] } };
    model.set("league", [...[9, 8, 7, 6, 5, 4, 3, 2, 1].map(version), chaser]);
    expect(all(".cross thead th")).toEqual(["v9", "v8", "v7", "v6", "v5", "v2", "chaser"]);
    const line = (name: string) => [...one(".cross tbody").children].find((row) => row.firstChild!.textContent === name)!;
    expect([...line("v8").querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["38", "", "63", "–", "–", "–", "80"]);
    const [lost, , won, never] = line("v8").querySelectorAll("td");
    expect([lost, won, never].map((cell) => /--good|--bad/.exec(cell!.getAttribute("style") ?? "")?.[0])).toEqual(["--bad", "--good", undefined]);
    expect(won!.title).toBe("v8 against v7: 20 points in 32 matches");
    expect(never!.title).toBe("They have not played each other");
    model.set("league", []);
    expect(one<HTMLElement>(".crossing").hidden).toBe(true);
  });

  it("is not there for a drill of one side, nor is the ghost", async () => {
    close();
    await open(new FakeModel({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } }));
    expect(one<HTMLElement>('[role="tab"][id$="-league-tab"]').hidden).toBe(true);
    expect(one(".ghost")).toBeNull();
  });
});

describe("the league's score beside the ghost", () => {
  const row = (version: number, against: LeagueRow["against"] = {}): LeagueRow => ({
    ...{ name: `v${version}`, rank: 1, pinned: false, elo: 0, elo_low: 0, elo_high: 0, champion: false, version, against },
  });
  const score = () => one<HTMLElement>(".ghost .score");
  const haunt = async (ghost: number) => {
    worker().say({ type: "PAST", id, versions: [0, 37, 405, 412], ghost });
    await settle();
  };

  it("is of the newest version against the one it met that is nearest to the ghost", async () => {
    worker().say({ type: "STATE", id, ...state });
    await haunt(-1);
    model.set("league", [row(300), row(400, { v300: [16, 32], v0: [30, 32], chaser: [1, 128] }), row(200), row(0)]);
    expect(score().hidden).toBe(true);
    await haunt(405);
    expect([score().hidden, score().textContent]).toEqual([false, "v400 against v300: 50% (34% to 66%)"]);
    await haunt(37);
    expect(score().textContent).toBe("v400 against v0: 94% (79% to 99%)"); // v200 is nearer, but they have not met
    expect(score().title).toContain("in 32 matches against v0");
    model.set("league", [row(400)]);
    expect(score().hidden).toBe(true);
  });
});

describe("the event log", () => {
  it("lists what happened, newest first, and is silent to screen readers", async () => {
    unfold("log");
    const events = [{ kind: "goal" as const, tick: 7500, side: 1, version: 412 }];
    worker().say({ type: "STATE", id, ...state, events });
    await settle();
    model.set("config", { ...model.get("config"), values: { ...model.get("config").values, epochs: 3 } });
    model.fire("msg:custom", { type: "LOG", level: "warning", text: "training went back" });
    expect(all(".log .what")).toEqual(["Training went back.", "epochs: 1 → 3", "Orange scores (v412)."]);
    expect(all(".log .when").at(-1)).toBe("1:02");
    expect(one(".lines").getAttribute("role")).toBe("log");
    expect(one(".lines").getAttribute("aria-live")).toBe("off");
    expect(one<HTMLElement>(".notice").hidden).toBe(true); // the status line says it already
  });
});
