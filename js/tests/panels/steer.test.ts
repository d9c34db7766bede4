// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PanelName } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import { PANEL_NAMES } from "../../panels";
import { pythonOf, type Settings } from "../../panels/hyper/python_code";
import { FULL, nearestStop, PACES, updatesAt } from "../../panels/pace";
import { config, FakeModel, installBrowser, mount, openAllTabs, row, settle, spec } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let end: () => void;

async function open(given: FakeModel): Promise<void> {
  model = given;
  ({ root, end } = await mount(model));
  openAllTabs(root);
}

const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const pill = () => root.querySelector<HTMLElement>(".pill")!;

beforeEach(() => open(new FakeModel()));
afterEach(() => {
  end();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

describe("the match by hand", () => {
  const write = (name: string, value: string) => {
    const input = control<HTMLInputElement>(name);
    input.value = value;
    input.dispatchEvent(new Event("change"));
  };

  it("says how long a decision holds, the drill's own time at first, and how often policies are swapped", () => {
    expect([control<HTMLInputElement>("Action repeat").value, control<HTMLInputElement>("Swap interval (ms)").value]).toEqual([
      String(spec.action_repeat),
      String(SHOW_DEFAULTS.swap_interval_ms),
    ]);
    write("Action repeat", "8");
    write("Swap interval (ms)", "5000");
    expect(model.get("show")).toMatchObject({ action_repeat: 8, swap_interval_ms: 5000 });
  });

  it("keeps what it had where a number is none", () => {
    write("Action repeat", "");
    expect(model.get("show").action_repeat).toBe(SHOW_DEFAULTS.action_repeat);
    expect(control<HTMLInputElement>("Action repeat").value).toBe(String(spec.action_repeat));
  });

  it("shows the seed that a match begins from, whatever was typed", () => {
    const seed = control<HTMLInputElement>("Match seed");
    seed.focus();
    for (const [typed, taken] of [
      ["7", 7],
      ["99999999999", 7],
    ] as const) {
      seed.value = typed;
      seed.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
      expect([seed.value, model.get("show").seed]).toEqual([String(taken), taken]);
    }
  });

  it.each([
    ["Action repeat", "action_repeat", "500", 120],
    ["Action repeat", "action_repeat", "-3", 1],
    ["Action repeat", "action_repeat", "7.6", 8],
    ["Swap interval (ms)", "swap_interval_ms", "100", 250],
  ] as const)("shows what it took of %s where it was asked for more than there is", (name, key, typed, taken) => {
    control<HTMLInputElement>(name).focus();
    write(name, typed);
    expect(model.get("show")[key]).toBe(taken);
    expect(control<HTMLInputElement>(name).value).toBe(String(taken));
  });
});

describe("the learning pace", () => {
  const dial = () => root.querySelector<HTMLInputElement>('[data-control="learning-pace"]')!;
  const turn = (stop: number) => {
    dial().value = String(PACES.indexOf(stop));
    dial().dispatchEvent(new Event("input"));
  };

  it("stands at full speed, and says in words where it stands", () => {
    expect(PACES[Number(dial().value)]).toBe(FULL);
    expect(dial().getAttribute("aria-valuetext")).toMatch(/^Full speed\. /);
    turn(1e4);
    expect(root.querySelector(".pace .number")!.textContent).toBe("10k steps / s");
    expect(model.sentOf("SET_HYPER")).toEqual([]);
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", pace: 1e4 }]);
  });

  it("is felt at once while training, at every stop that is passed", () => {
    model.set("status", "training");
    turn(1e5);
    turn(1e3);
    expect(model.sentOf("SET_HYPER").map((message) => "value" in message && message.value)).toEqual([1e5, 1e3]);
  });

  it("tells how often an update comes, as this run makes them", () => {
    model.set("metrics", row(100_000, { updates: 10 }));
    turn(1e3);
    expect(root.querySelector(".pace .help")!.textContent).toBe("At most about one update every 10 seconds.");
  });

  it.each([
    [3e3, 1],
    [20_000, 3],
    [1, 0],
    [1e8, 6],
    [0, 7],
  ])("shows %d at the nearest stop", (pace, stop) => expect(nearestStop(pace)).toBe(stop));

  it.each([
    [1e6, "At most about 20 updates per second."],
    [5e4, "At most about one update per second."],
    [1e4, "At most about one update every 5 seconds."],
    [100, "At most about one update every 8 minutes."],
  ])("counts a rollout's decisions before anything is measured: %d", (pace, sentence) => {
    const values = { num_envs: 1000, rollout_length: 40, opponents: "self=0.25,chaser=0.75" };
    expect(updatesAt(pace, undefined, values, spec)).toBe(sentence);
  });
});

describe("learning by hand", () => {
  it("pauses, continues, and learns once", () => {
    expect(control("Pause learning").disabled).toBe(true);
    model.set("status", "training");
    control("Pause learning").click();
    expect(model.sent.at(-1)).toEqual({ type: "PAUSE_TRAINING" });
    model.set("paused", true);
    expect(pill().textContent).toBe("Learning paused");
    expect(root.dataset.status).toBe("training");
    control("Next update").click();
    control("Resume learning").click();
    expect(model.sent.slice(-2)).toEqual([{ type: "NEXT_UPDATE" }, { type: "RESUME_TRAINING" }]);
    model.set("paused", false);
    expect(pill().textContent).toBe("Training");
    expect(control("Pause learning").disabled).toBe(false);
  });

  it("takes what was changed along to the first update of all", () => {
    const input = control<HTMLInputElement>("epochs");
    input.value = "3";
    input.dispatchEvent(new Event("change"));
    control("Next update").click();
    expect(model.sentOf("NEXT_UPDATE")).toEqual([{ type: "NEXT_UPDATE", epochs: 3 }]);
  });
});

describe("presets", () => {
  const preset = () => control<HTMLSelectElement>("Preset");

  it("sets what the preset is about, and knows when nothing is a preset's any more", () => {
    expect([...preset().options].map((option) => option.textContent)).toEqual(["Custom", "Fast laptop", "Classroom"]);
    expect(preset().value).toBe("laptop");
    preset().value = "classroom";
    preset().dispatchEvent(new Event("change"));
    expect(root.querySelector(".presets .help")!.textContent).toBe("For many.");
    expect(control<HTMLInputElement>("epochs").value).toBe("2");
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", epochs: 2 }]);
    for (const epochs of [2, 7]) model.set("config", { ...config, values: { ...config.values, epochs } });
    expect(preset().value).toBe("");
  });
});

describe("Copy as Python", () => {
  const settings = (more: Partial<Settings> = {}): Settings => ({
    drill: '"ball"',
    config,
    drafts: {},
    show: { ...SHOW_DEFAULTS, ...{} },
    controls: null,
    ...more,
  });
  const code = (more?: Partial<Settings>) => pythonOf(settings(more)).replace("from dshq_widget import DrillWidget\n\n", "").trimEnd();

  it("says nothing of defaults", () => expect(code()).toBe('DrillWidget("ball")'));

  it("names what differs, typed or known, as Python writes it", () => {
    const drafts = { learning_rate: 3e-4, hidden_sizes: "32, 32", opponents: "self=.5, chaser=.5", clip_value: true };
    expect(code({ drafts: { hidden_sizes: "64, 64", opponents: "self=.75,chaser=.25" } })).toBe('DrillWidget("ball")');
    expect(code({ drafts })).toBe(
      'DrillWidget(\n    "ball",\n    learning_rate=0.0003,\n    hidden_sizes=(32, 32),\n    clip_value=True,\n    opponents={"self": 0.5, "chaser": 0.5},\n)',
    );
    expect(code({ drafts: { hidden_sizes: "32" } })).toBe('DrillWidget("ball", hidden_sizes=(32,))');
  });

  it("takes a preset where that is shorter", () => {
    const wide = { ...config, presets: { classroom: { label: "", help: "", values: { epochs: 2, learning_rate: 0.01 } } } };
    expect(code({ config: wide, drafts: { epochs: 2, learning_rate: 0.01, clip_value: true } })).toBe(
      'DrillWidget("ball", preset="classroom", clip_value=True)',
    );
    expect(code({ config: wide, drafts: { epochs: 2 } })).toBe('DrillWidget("ball", epochs=2)');
  });

  it("gives the show, the panels and a seed of its own", () => {
    const show = { ...SHOW_DEFAULTS, mode: "sandbox", speed: 0.5, playing: false, seed: 9, match: 4 } as const;
    expect(code({ drill: "Walk", show, controls: ["training"] })).toBe(
      'w = DrillWidget(Walk, mode="sandbox", speed=0.5, playing=False, controls=["training"])\nw.reset(seed=9)\nw',
    );
    expect(code({ show: { ...SHOW_DEFAULTS, speed: 8 }, speed: 8 })).toBe('DrillWidget("ball")');
    expect(code({ show: { ...SHOW_DEFAULTS }, speed: 8 })).toBe('DrillWidget("ball", speed=1)');
    const seeded = { ...config, values: { ...config.values, seed: 9 }, defaults: { ...config.values, seed: 0 } };
    expect(code({ config: seeded, show: { ...SHOW_DEFAULTS, seed: 9 } })).toBe('DrillWidget("ball", seed=9)');
  });

  it("lets no name from outside become code", () => expect(code({ drill: 'x"); import os; (' })).toBe("DrillWidget(drill)"));

  it("lets no setting of a file or a page become code", () => {
    const evil = '64); import os; ("';
    const sizes = { ...config, values: { ...config.values, hidden_sizes: [evil] as never, opponents: `${evil}=${evil}`, learning_rate: evil as never } };
    const texts = code({ config: sizes, show: { ...SHOW_DEFAULTS, seed: evil as never } }).replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    expect(texts).toContain("hidden_sizes=(NaN,)");
    expect(texts).not.toContain("import");
    expect(code({ drafts: { hidden_sizes: "32x16" } })).toBe('DrillWidget("ball", hidden_sizes=(32, 16))');
  });

  it("writes to the clipboard, or shows the code selected where there is none", async () => {
    const kept: string[] = [];
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: async (text: string) => kept.push(text) } });
    model.set("drill", { ...model.get("drill")!, python: '"ball"' });
    control("Copy as Python").click();
    await settle();
    expect(kept).toEqual(['from dshq_widget import DrillWidget\n\nDrillWidget("ball")\n']);
    expect(control("Copy as Python").textContent).toBe("Copied");
    vi.stubGlobal("navigator", { ...navigator, clipboard: undefined });
    control("Copy as Python").click();
    await settle();
    const shown = control<HTMLTextAreaElement>("Settings as Python");
    expect(shown.closest<HTMLElement>(".code")!.hidden).toBe(false);
    expect(shown.value).toBe(kept[0]);
    expect(shown.selectionEnd - shown.selectionStart).toBe(shown.value.length);
  });
});

describe("controls", () => {
  const LANDMARKS: Partial<Record<PanelName, string>> = {
    transport: ".transport",
    training: ".actions",
    pace: ".pace",
    status: ".status",
    headline: ".tiles",
    hyper: ".hyper",
  };
  const there = () => {
    openAllTabs(root);
    return Object.entries(LANDMARKS).flatMap(([name, selector]) => (root.querySelector(selector) ? [name] : []));
  };

  it("shows all panels, then those that are named, in their order, and all again", () => {
    expect(there()).toEqual(Object.keys(LANDMARKS));
    const before = [...root.querySelectorAll(".hero > *")];
    model.set("controls", ["hyper", "training"]);
    expect(there()).toEqual(["training", "hyper"]);
    model.set("controls", []);
    expect(there()).toEqual([]);
    expect(control("Match")).toBeTruthy();
    expect(root.querySelector<HTMLElement>(".side-column")!.hidden).toBe(true);
    model.set("controls", null);
    expect([...root.querySelectorAll(".hero > *")]).toEqual(before);
    expect(root.querySelector<HTMLElement>(".side-column")!.hidden).toBe(false);
  });

  it("builds nothing that nobody wants", async () => {
    end();
    await open(new FakeModel({ controls: [] }));
    expect(there()).toEqual([]);
    model.set("controls", ["pace"]);
    expect(there()).toEqual(["pace"]);
    expect(PANEL_NAMES).toContain("pace");
  });
});
