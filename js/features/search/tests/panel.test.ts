// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FromWorker } from "../../../contract/protocol";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, settle, spec } from "../../../tests/harness/fakes";
import type { Futures } from "../messages";

beforeAll(installBrowser);

const futures: Futures = {
  side: 0,
  moves: [
    { action: [1, 1], prior: 0.6, target: 0.25 },
    { action: [2, 0], prior: 0.3, target: 0.75 },
  ],
  sizes: [12, 8.5, 6.25, 5],
  ms: 1.94,
};

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
let id: string;

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const texts = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)].filter((e) => !e.hidden).map((e) => e.textContent);
const searches = () =>
  worker()
    .of("SEARCH")
    .filter((message) => message.id === id);

async function open(more: object = {}): Promise<void> {
  model = new FakeModel({ drill: { spec, javascript: "return {}" }, ...more });
  ({ root, end } = await mount(model));
  id = worker().received.findLast((message) => message.type === "DRILL")!.id;
}
async function told(now: Futures | null): Promise<void> {
  worker().say({ type: "FUTURES", id, futures: now } as FromWorker);
  await settle();
}
async function slide(name: string, value: number): Promise<void> {
  const slider = control<HTMLInputElement>(name);
  slider.value = String(value);
  slider.dispatchEvent(new Event("input"));
  await settle();
}

beforeEach(() => open({ config: { ...config, values: { ...config.values, gamma: 0.9, reward_weights: "goal=2" } } }));
afterEach(() => end());

describe("16 futures", () => {
  it("is a switch that search follows at once", async () => {
    const toggle = control("16 futures");
    expect([toggle.getAttribute("role"), toggle.textContent, toggle.getAttribute("aria-checked")]).toEqual(["switch", "16 futures", "false"]);
    expect(searches()).toEqual([]);
    toggle.click();
    await settle();
    expect(toggle.getAttribute("aria-checked")).toBe("true");
    expect(searches().at(-1)!.settings).toEqual({ num_particles: 16, search_depth: 4, gamma: 0.9, weights: { goal: 2 } });
    toggle.click();
    await settle();
    expect(searches().at(-1)!.settings).toBeNull();
  });

  it("keeps its name however many they are", async () => {
    control("16 futures").click();
    await slide("Number of futures", 3);
    await slide("Decisions ahead", 8);
    expect(searches().at(-1)!.settings).toMatchObject({ num_particles: 64, search_depth: 8 });
    expect(control("Number of futures").getAttribute("aria-valuetext")).toBe("64");
    expect(control("16 futures").textContent).toBe("16 futures");
  });

  it("ends the slow motion that was for them", async () => {
    const speed = () => (model.get("show") as { speed?: number } | undefined)?.speed;
    control("16 futures").click();
    control("Slow motion").click();
    await settle();
    expect(speed()).toBe(0.25);
    control("16 futures").click();
    await settle();
    expect(speed()).toBe(1);
  });

  it("follows the discount and the weights of training", async () => {
    control("16 futures").click();
    model.set("config", { ...config, values: { ...config.values, gamma: 0.95, reward_weights: "" } });
    await settle();
    expect(searches().at(-1)!.settings).toMatchObject({ gamma: 0.95, weights: {} });
  });

  it("shows the moves before and after search, what counts and how long it takes", async () => {
    await told(futures);
    expect(root.dataset.searchMs).toBe(""); // it is off
    control("16 futures").click();
    await told(futures);
    expect(root.dataset.searchMs).toBe("1.94");
    openAllTabs(root);
    expect(texts(".futures .move .label").slice(0, 2)).toEqual(["forward · dash", "back"]);
    expect(texts(".futures .before").slice(0, 2)).toEqual(["60%", "30%"]);
    expect(texts(".futures .after").slice(0, 2)).toEqual(["25%", "75%"]);
    expect(root.querySelector(".futures [data-chosen] .label")!.textContent).toBe("back");
    expect(root.querySelector(".futures svg")!.getAttribute("aria-label")).toContain("12.0, 8.5, 6.3, 5.0");
    expect(root.querySelector(".futures .help")!.textContent).toContain("blue plays 16 copies of the match 4 decisions ahead");
    await told(null);
    expect(root.dataset.searchMs).toBe("");
    expect(root.querySelector<HTMLElement>(".futures .seen")!.hidden).toBe(true);
    expect(root.querySelector(".futures .help")!.textContent).toContain("No network plays a side");
  });

  it("is closed where the policy has a memory, and says why", async () => {
    end();
    const policy = { version: 3, step: 1, shape_hash: "", layers: [4, 2, -1, 7], activation: "tanh", data: new DataView(new ArrayBuffer(4 * 52)) };
    await open({ policy });
    expect(control("16 futures").hidden).toBe(true);
    openAllTabs(root);
    expect(root.querySelector(".futures .help")!.textContent).toContain("A network with a memory decides alone");
  });

  it("is not there where the kernel plays the show", async () => {
    end();
    await open({ drill: { spec: { ...spec, rules_hash: "pictures", pictures: true }, javascript: "" } });
    expect(root.querySelector(".futures")).toBeNull();
  });
});
