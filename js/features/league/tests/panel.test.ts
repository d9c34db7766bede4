// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LeagueRow } from "../../../contract/protocol";
import { FakeModel, installBrowser, mount, openTab, spec } from "../../../tests/harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let close: () => void;

async function open(given = new FakeModel()): Promise<void> {
  model = given;
  ({ root, end: close } = await mount(model));
}

const one = <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)!;
const all = (selector: string) => [...root.querySelectorAll(selector)].map((element) => element.textContent);

beforeEach(() => open());
afterEach(() => {
  close();
  document.body.replaceChildren();
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
    expect(all(".league thead th")[4], "two lines at most").toBe("points vs\u00a0chaser");
    expect(one(".league .caption").textContent).toBe("Champion v40 · rank 1 · Elo 1612 (1570 to 1650)");
    const bands = [...root.querySelectorAll<HTMLElement>(".league .range")].map(({ style }) => [style.left, style.width].map(parseFloat));
    expect(bands).toHaveLength(2); // a pinned rating has none
    for (const [left, width] of bands) expect(left! + width!).toBeLessThanOrEqual(100);
    expect(bands[0]![0]).toBeGreaterThan(bands[1]![0]!);
    expect(root.querySelector(".league img")).toBeNull();
    expect(one(".league tbody tr:nth-child(2) th").textContent).toContain(hostile);
  });

  it("offers a match against those that can be had: versions from a kernel that is there, scripts always", async () => {
    openTab(root, "league");
    model.set("league", rows);
    expect(all(".league .meet"), "from no kernel").toEqual(["chaser"]);
    model.set("rivals", { "league:v40": null });
    expect(all(".league .meet")).toEqual(["v40", "chaser"]);
    one(".league .meet").click();
    expect(model.get("show")).toMatchObject({ mode: "sandbox", opponent: "league:v40" });
    model.fire("comm:close");
    expect(all(".league .meet")).toEqual(["chaser"]);
    model.set("seq", 1); // the kernel speaks again
    expect(all(".league .meet")).toEqual(["v40", "chaser"]);
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

  it("is not there for a drill of one side", async () => {
    close();
    await open(new FakeModel({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } }));
    expect(one<HTMLElement>('[role="tab"][id$="-league-tab"]').hidden).toBe(true);
  });
});
