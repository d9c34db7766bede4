// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LeagueRow } from "../../../contract/protocol";
import { FakeModel, FakeWorker, installBrowser, mount, settle, spec } from "../../../tests/harness/fakes";

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

  it("is not there for a drill of one side", async () => {
    close();
    await open(new FakeModel({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } }));
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
