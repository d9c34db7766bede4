// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AlgorithmSettings, ConfigSchemaEntry, ConfigTrait } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import { pythonOf } from "../../panels/hyper/python_code";
import { config, FakeModel, installBrowser, mount, openAllTabs } from "../harness/fakes";

beforeAll(installBrowser);

const entry: ConfigSchemaEntry = {
  label: "Target's share",
  help: "Of the newest.",
  unit: "",
  kind: "float",
  min: 0,
  max: 1,
  effect: "next update",
  group: "optimiser",
};
const own = { tau: 0.02, num_particles: 16, adaptive_temperature: true };
const SPO: AlgorithmSettings = {
  name: "spo",
  values: own,
  defaults: own,
  schema: {
    tau: entry,
    num_particles: { ...entry, label: "Particles", kind: "int", min: 1, max: 4096, effect: "restart", group: "search" },
    adaptive_temperature: { ...entry, label: "Learned temperature", kind: "bool", min: null, max: null, group: "search" },
  },
};
const { learning_rate, opponents, pace } = config.schema as Record<string, ConfigSchemaEntry>;
const searching: ConfigTrait = {
  ...config,
  algorithm: SPO,
  schema: { learning_rate: { ...learning_rate!, group: "optimiser" }, opponents: opponents!, pace: pace! },
};

let model: FakeModel;
let root: HTMLElement;
let end: () => void;

const control = (key: string) => root.querySelector<HTMLInputElement>(`.hyper [aria-label="${key}"]`);
const type = (key: string, text: string) => {
  control(key)!.value = text;
  control(key)!.dispatchEvent(new Event("change"));
};
const keys = (group: string) => [...root.querySelectorAll(`.group[aria-label="${group}"] .key`)].map((key) => key.textContent);

async function open(given: ConfigTrait, more = {}): Promise<void> {
  model = new FakeModel({ config: given, ...more });
  ({ root, end } = await mount(model));
  openAllTabs(root);
}

beforeEach(() => open(searching));
afterEach(() => {
  end();
  document.body.replaceChildren();
});

describe("the settings of an algorithm", () => {
  it("are its own and those it shares, in their groups; others are not there", () => {
    expect(keys("optimiser")).toEqual(["tau", "learning_rate"]);
    expect(keys("search")).toEqual(["num_particles", "adaptive_temperature"]);
    expect(control("epochs")).toBeNull();
    expect(root.querySelector(".hyper .bar .caption")!.textContent).toBe("spo · 6 settings");
  });

  it("has the algorithm's own and the essentials in view, and the others in a fold", async () => {
    end();
    await open({ ...searching, schema: { ...searching.schema, opponents: { ...opponents!, group: "essentials" }, pace: { ...pace!, group: "machine" } } });
    const folded = (group: string) => root.querySelector(`.group[aria-label="${group}"]`)!.closest("details.fold") !== null;
    expect(["search", "essentials", "machine"].map(folded)).toEqual([false, false, true]);
    expect(root.querySelector(".hyper .fold")!.textContent).toContain("More settings");
  });

  it("say their title, range, help and when they take effect", () => {
    expect(control("spo.tau")!.title).toBe("Target's share\nOf the newest.\nEnter a number from 0 to 1.\nChanges take effect at the next update.");
    const effect = (key: string) => control(key)!.closest(".setting")!.querySelector(".effect")!.textContent;
    expect([effect("spo.tau"), effect("spo.num_particles")]).toEqual(["Target's share · next update", "Particles · next start"]);
    type("spo.tau", "2");
    expect(control("spo.tau")!.closest(".setting")!.querySelector(".problem")!.textContent).toBe("Enter a number from 0 to 1.");
    expect(model.sent.filter(({ type }) => type === "SET_HYPER")).toEqual([]);
  });

  it("keep what was typed wrong until a preset, or Python, sets another value", () => {
    const said = () => [control("spo.tau")!.value, control("spo.tau")!.closest(".setting")!.querySelector(".problem")!.textContent];
    type("spo.tau", "two");
    model.set("config", { ...searching });
    expect(said()).toEqual(["two", "Enter a number from 0 to 1."]);
    model.set("config", { ...searching, algorithm: { ...SPO, values: { ...own, tau: 0.25 } } });
    expect([...said(), control("spo.tau")!.getAttribute("aria-invalid")]).toEqual(["0.25", "", null]);
  });

  it("are sent while it trains if they are live; else they go along with Train", () => {
    model.set("status", "training");
    type("spo.tau", "0.5");
    type("spo.num_particles", "32");
    expect(model.sentOf("SET_HYPER")).toEqual([{ type: "SET_HYPER", key: "spo.tau", value: 0.5 }]);
    model.set("config", { ...searching, algorithm: { ...SPO, values: { ...own, tau: 0.5 } } });
    expect(control("spo.tau")!.closest(".setting")!.hasAttribute("data-drafted")).toBe(false);
    expect(control("spo.num_particles")!.closest(".setting")!.hasAttribute("data-drafted")).toBe(true);
    model.set("status", "stopped");
    root.querySelector<HTMLButtonElement>('[aria-label="Train"]')!.click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", "spo.num_particles": 32 }]);
  });
});

describe("what training starts from", () => {
  const start = (now: string | null) => ({ ...searching, start: { offered: ["bronze", "gold"], now } });
  const choice = () => root.querySelector<HTMLSelectElement>('[aria-label="Start from"]')!;
  const hidden = () => choice().closest<HTMLElement>(".start-from")!.hidden;
  const choose = (name: string) => {
    choice().value = name;
    choice().dispatchEvent(new Event("change"));
  };

  it("is an untrained network or a policy of the ladder", () => {
    expect(hidden()).toBe(true); // no ladder
    model.set("config", start(""));
    expect([hidden(), choice().textContent, choice().value]).toEqual([false, "NothingBronzeGold", ""]);
    choose("gold");
    expect(model.sent.at(-1)).toEqual({ type: "START_FROM", policy: "gold" });
    model.set("config", start("gold"));
    expect(choice().closest(".start-from")!.textContent).toContain("Gold plays. Train continues from it.");
    choose("");
    expect(model.sent.at(-1)).toEqual({ type: "RESET_TRAINER" });
  });

  it("cannot be chosen while it trains, nor once something is learned", () => {
    model.set("config", start("gold"));
    for (const [status, now] of [
      ["training", false],
      ["stopped", true],
    ] as const) {
      model.set("status", status);
      expect(!hidden()).toBe(now);
    }
    expect(choice().disabled).toBe(false);
    model.set("config", start(null));
    expect(hidden()).toBe(false);
    expect(choice().disabled).toBe(true);
    expect(choice().closest(".start-from")!.textContent).toContain("press Forget everything in the Lab first");
  });
});

describe("who learns", () => {
  const choice = () => root.querySelector<HTMLSelectElement>('[aria-label="Who learns"]')!;
  const said = () => choice().closest(".who-learns")!.querySelector(".help")!.textContent;
  const choose = (shares: string) => {
    choice().value = shares;
    choice().dispatchEvent(new Event("change"));
  };
  const row = (name: string, version: number, champion = false) =>
    ({ name, version, champion, rank: 1, pinned: false, elo: 0, elo_low: 0, elo_high: 0, against: {} }) as const;

  it("is both sides, or blue against one that stays as it is", () => {
    model.set("config", { ...searching, start: { offered: ["gold"], now: "" } });
    model.set("rivals", { gold: null });
    model.set("league", [row("v7", 7, true), row("v9", 9), { ...row("chaser", 0), pinned: true }]);
    expect([...choice().options].map(({ value }) => value)).toEqual(["self=0.75,chaser=0.25", "chaser=1", "random=1", "gold=1", "v7=1", "v9=1"]);
    expect(said()).toBe("Against itself 75%, chaser 25%. Both sides learn only against itself.");
    choose("gold=1");
    expect(said()).toBe("Only blue learns. It plays every practice game against gold, which stays as it is.");
    expect([model.get("show").mode, model.get("show").opponent]).toEqual(["sandbox", "gold"]);
    root.querySelector<HTMLButtonElement>('[aria-label="Train"]')!.click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", opponents: "gold=1" }]);
    choose("self=0.75,chaser=0.25");
    expect(model.get("show").mode).toBe("ai_vs_ai");
    choose("v9=1");
    expect(model.get("show").mode).toBe("ai_vs_ai"); // this page has no weights of it
  });

  it("says when a change waits, and what is nobody's choice here", () => {
    model.set("status", "training");
    choose("chaser=1");
    expect(said()).toContain("press Stop, then Train");
    model.set("config", { ...searching, values: { ...searching.values, opponents: "self=0.5,pool=0.5" } });
    choose("chaser=1");
    model.set("config", { ...searching, values: { ...searching.values, opponents: "chaser=1" } });
    expect([choice().value, said()!.includes("Stop")]).toEqual(["chaser=1", false]);
    model.set("config", { ...searching, values: { ...searching.values, opponents: "self=0.5,pool=0.5" } });
    expect([choice().selectedOptions[0]!.textContent, said()]).toEqual([
      "Custom",
      "Against itself 50%, earlier versions 50%. Both sides learn only against itself.",
    ]);
  });

  it("offers policies in the table of shares, too, where the kernel trains", () => {
    type("opponents", "self=0.5,gold=0.5");
    expect(control("opponents")!.getAttribute("aria-invalid")).toBe("true");
    model.set("config", { ...searching, start: { offered: ["gold"], now: "" } });
    type("opponents", "self=0.5,gold=0.5");
    expect(control("opponents")!.getAttribute("aria-invalid")).toBeNull();
  });
});

describe("Copy as Python", () => {
  const code = (drafts: Record<string, string | number | boolean>, algorithm?: string) =>
    pythonOf({ drill: '"maze"', config: searching, drafts, show: { ...SHOW_DEFAULTS }, controls: null, algorithm })
      .split("\n\n")[1]!
      .trimEnd();

  it("names the algorithm where the drill declares another", () => {
    expect(code({})).toBe('DrillWidget("maze", algorithm="spo")');
    expect(code({}, "spo")).toBe('DrillWidget("maze")');
  });

  it("names the policy that training starts from", () => {
    const config = { ...searching, start: { offered: ["gold"], now: "gold" } };
    const code = pythonOf({ drill: '"ball"', config, drafts: {}, show: { ...SHOW_DEFAULTS }, controls: null, algorithm: "spo" });
    expect(code).toContain('DrillWidget("ball", policy="gold")');
  });

  it("writes its own settings as one dict", () => {
    const drafts = { "spo.tau": 0.1, "spo.adaptive_temperature": false, learning_rate: 0.01 };
    expect(code(drafts, "spo")).toBe('DrillWidget("maze", spo={"tau": 0.1, "adaptive_temperature": False}, learning_rate=0.01)');
  });
});
