// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AlgorithmSettings, FromWorker } from "../../../contract/protocol";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, row, settle } from "../../../tests/harness/fakes";
import type { Proposal } from "../messages";
import { SETTINGS, TERRITORY } from "./territory";

beforeAll(installBrowser);

const weight = { label: "Weight", help: "Of it.", unit: "", kind: "float", min: 0, max: 1, effect: "now" as const };
const { epsilon: exploration, ...judging } = SETTINGS;
const algorithm: AlgorithmSettings = {
  name: "gate",
  values: { ...judging, exploration },
  schema: {
    survival_weight: { ...weight, label: "Survival weight" },
    disruption_weight: { ...weight, label: "Disruption weight" },
    location_weight: { ...weight, label: "Location weight" },
    threshold: { ...weight, label: "Threshold", min: -1 },
  },
};
const sent: Proposal = {
  tick: 15,
  chunk: 152,
  kind: "energy",
  confidence: 0.034,
  components: [1, 0.75, -0.1, 1, 0.05],
  expected: 0.815,
  signal: 0.215,
  sent: true,
  outcome: null,
  survived: null,
};
const blocked: Proposal = { ...sent, tick: 30, kind: "combat", expected: 0.5, signal: -0.1, sent: false };

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
let id: string;

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const panel = () => root.querySelector<HTMLElement>(".gate");
const text = (selector: string) => panel()!.querySelector(selector)!.textContent;
const gates = () =>
  worker()
    .of("GATE")
    .filter((message) => message.id === id);

async function open(given: AlgorithmSettings | null): Promise<void> {
  model = new FakeModel({ drill: TERRITORY, config: { ...config, algorithm: given } });
  ({ root, end } = await mount(model));
  openAllTabs(root);
  id = worker().received.findLast((message) => message.type === "DRILL")!.id;
}
async function propose(...proposals: Proposal[]): Promise<void> {
  worker().say({ type: "PROPOSALS", id, proposals } as FromWorker);
  await settle();
}

beforeEach(() => open(algorithm));
afterEach(() => {
  end();
  document.body.replaceChildren();
});

describe("the gate's settings", () => {
  it("reach the worker with the drill", () => {
    expect(gates()).toMatchObject([{ settings: SETTINGS }]);
  });

  it("follow the kernel, and the exploration bonus follows the metrics", async () => {
    model.set("config", { ...config, algorithm: { ...algorithm, values: { ...algorithm.values, threshold: 0.3 } } });
    model.set("metrics", row(30, { exploration: 0.125 }));
    await settle();
    expect(gates().at(-1)!.settings).toEqual({ ...SETTINGS, threshold: 0.3, epsilon: 0.125 });
    model.set("config", config);
    await settle();
    expect(gates().at(-1)!.settings).toBeNull();
    expect(panel()).toBeNull();
  });

  it("act at once while a slider moves, on training once it is let go", async () => {
    const slider = control<HTMLInputElement>("Threshold, slider");
    slider.value = "0.4";
    slider.dispatchEvent(new Event("input"));
    await settle();
    expect(gates().at(-1)!.settings!.threshold).toBe(0.4);
    expect(control<HTMLInputElement>("Threshold").value).toBe("0.4");
    expect(model.sentOf("SET_HYPER")).toEqual([]);
    slider.dispatchEvent(new Event("change"));
    expect(model.sentOf("SET_HYPER")).toEqual([{ type: "SET_HYPER", key: "gate.threshold", value: 0.4 }]);
  });

  it("are refused in one sentence where they make no sense", () => {
    const number = control<HTMLInputElement>("Survival weight");
    number.value = "7";
    number.dispatchEvent(new Event("change"));
    expect(text(".problem")).toBe("Enter a number from 0 to 1.");
    expect(number.getAttribute("aria-invalid")).toBe("true");
    expect(model.sentOf("SET_HYPER")).toEqual([]);
  });
});

describe("the same settings among all of the run", () => {
  it("are the gate's, which judges by them at once", async () => {
    end();
    const values = { threshold: 0.6, gate_weight: 0.3, actual_weight: 0.7 };
    const entry = { ...weight, effect: "next update" as const };
    await open({ name: "gate", values, defaults: values, schema: { threshold: entry, gate_weight: entry, actual_weight: entry } });
    for (const [key, typed] of [
      ["threshold", "0.25"],
      ["gate_weight", "0.4"],
    ]) {
      const input = root.querySelector<HTMLInputElement>(`.hyper [aria-label="gate.${key}"]`)!;
      input.value = typed!;
      input.dispatchEvent(new Event("change"));
    }
    await settle();
    expect(gates().at(-1)!.settings!.threshold).toBe(0.25);
    expect(model.sentOf("SET_HYPER")).toEqual([
      { type: "SET_HYPER", key: "gate.threshold", value: 0.25 },
      { type: "SET_HYPER", key: "gate", value: { gate_weight: 0.4, actual_weight: 0.6 } },
    ]);
  });
});

describe("a proposal", () => {
  it("is shown with what it is made of, and its verdict", async () => {
    await propose(sent);
    expect(text(".judgement .proposed")).toBe("Energy at 12, 7");
    expect(text(".what .caption")).toBe("Confidence 3.4%");
    expect(text(".ruling")).toBe("SEND0.21 above the threshold");
    const parts = [...panel()!.querySelectorAll(".component")].map((part) => part.textContent);
    expect(parts).toEqual([
      "Survival1.00× 0.40+0.40",
      "Disruption0.75× 0.50+0.38",
      "Location−0.10× 0.10−0.01",
      "Exploration bonus0.05+0.05",
      "Capacitycan pay",
    ]);
    expect(text(".expected > .number")).toBe("+0.81");
    expect(text(".expected .mark")).toBe("threshold 0.60");
    expect(text(":scope > .caption")).toBe("energy at 12, 7 · SEND");
  });

  it("says where the queen cannot pay", async () => {
    await propose({ ...blocked, components: [1, 1, 0, 0, 0], expected: -1, signal: -1 });
    expect(text(".ruling")).toBe("WAITthe queen cannot pay");
    expect(text(".pays")).toBe("cannot pay");
    expect(text(".expected > .number")).toBe("–");
  });

  it("is followed by what came of it", async () => {
    await propose(sent);
    await propose({ ...sent, outcome: 0.3125, survived: true }, blocked);
    expect(text(".came .sentence")).toBe("Energy at 12, 7 brought +0.31 in 15 seconds, the parasite lives.");
    const listed = [...panel()!.querySelectorAll<HTMLElement>(".proposals li:not([hidden])")].map((item) => item.textContent);
    expect(listed).toEqual(["0:30combat at 12, 7+0.50WAITblocked", "0:15energy at 12, 7+0.81SENDbrought +0.31, lives"]);
  });

  it("is one of eight in the list, and gone with the match", async () => {
    await propose(...Array.from({ length: 12 }, (_, k) => ({ ...sent, tick: 15 * k })));
    const listed = () => panel()!.querySelectorAll(".proposals li:not([hidden])").length;
    expect(listed()).toBe(8);
    const event = { kind: "reset" as const, tick: 0, side: -1, version: 1 };
    worker().say({ type: "STATE", id, tick: 0, score: [0, 0], version: 1, fps: 60, playing: true, events: [event], probabilities: [], value: 0 });
    await settle();
    expect(listed()).toBe(0);
    expect(panel()!.querySelector<HTMLElement>(".judgement")!.hidden).toBe(true);
  });
});

describe("the map of expected rewards", () => {
  it("is put on the pitch with its legend, for either kind", async () => {
    const legend = root.querySelector<HTMLElement>(".map-legend")!;
    expect(legend.hidden).toBe(true);
    control("Expected reward map").click();
    const kind = control<HTMLSelectElement>("Parasite");
    kind.value = "combat";
    kind.dispatchEvent(new Event("change"));
    await settle();
    expect(worker().of("EXPECTED").slice(-2)).toMatchObject([{ kind: "energy" }, { kind: "combat" }]);
    expect(legend.textContent).toBe("Expected reward of a combat parasite in each chunk; the line is the threshold0.300.600.90");
    expect(control("Expected reward map").getAttribute("aria-pressed")).toBe("true");
    control("Expected reward map").click();
    expect(legend.hidden).toBe(true);
  });
});

describe("another algorithm", () => {
  it("has no gate: no panel, no message", async () => {
    end();
    await open(null);
    expect(panel()).toBeNull();
    expect(gates()).toEqual([]);
  });
});
