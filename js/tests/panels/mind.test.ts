// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DrillSpec, FromWorker } from "../../contract/protocol";
import widget from "../../page";
import { csvOf } from "../../panels/charts/chart_export";
import { nameOf } from "../../panels/move_name";
import { config, FakeModel, FakeWorker, installBrowser, openTab, settle, spec } from "../harness/fakes";

beforeAll(installBrowser);

const handle = { x: "x", y: "y", vx: "vx", vy: "vy", index: 0 };
const drill: DrillSpec = {
  ...spec,
  n_obs: 2,
  observations: [
    { name: "ball ahead", scale: 8, unit: "u", help: "along its heading" },
    { name: "<img src=x onerror=alert(1)>", scale: 1, unit: "", help: "" },
  ],
  drag: [
    { ...handle, name: "ball", kind: "ball" },
    { ...handle, name: "player 0", kind: "player" },
  ],
};
const thought = {
  value: 0.42,
  action: [1, 0],
  probabilities: [
    [0.1, 0.7, 0.2],
    [0.95, 0.05],
  ],
  observations: [-0.25, 3],
  saliency: [0.5, 2],
};
const outcome = { action: [1, 1], probability: 0.6, change: -0.125, winner: -1, ended: true, paths: [[0, 0, 1, 1]] };
const state = { tick: 9, score: [0, 0] as [number, number], version: 5, fps: 60, events: [], probabilities: [], value: 0 };

let root: HTMLElement;
let id: string;
let end: () => void;
let destroy: () => void;

function open(given: Partial<DrillSpec> = {}): FakeModel {
  const model = new FakeModel({
    drill: { spec: { ...drill, ...given }, javascript: "return {}" },
    config: { ...config, values: { ...config.values, reward_weights: "goal=1,approach=0.5" } },
  });
  const { initialize, render } = widget();
  const el = document.createElement("div");
  document.body.append(el);
  destroy = initialize({ model });
  end = render({ model, el });
  root = el.querySelector<HTMLElement>(".dshq-widget")!;
  return model;
}

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const panel = () => root.querySelector<HTMLElement>(".mind")!;

async function say(message: Record<string, unknown>): Promise<void> {
  worker().say({ id, ...message } as unknown as FromWorker);
  await settle();
}
const think = (more = {}) => say({ type: "MIND", player: 1, version: 5, range: 0.8, standing: false, thought, ...more });

async function unfold(): Promise<void> {
  openTab(root, "mind");
  await settle();
}

async function begin(given: Partial<DrillSpec> = {}): Promise<void> {
  open(given);
  await settle();
  id = worker().of("DRILL").at(-1)!.id;
}

beforeEach(() => begin());
afterEach(() => {
  end();
  destroy();
  document.body.replaceChildren();
  worker().received.length = 0;
});

describe("what it thinks", () => {
  it("is asked for only while the panel is open", async () => {
    expect(
      worker()
        .of("INSPECT")
        .some(({ watch }) => watch),
    ).toBe(false);
    await unfold();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ id, watch: true });
    openTab(root, "learn");
    await settle();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ watch: false });
    await unfold();
    end();
    await settle();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ watch: false });
  });

  it("shows only the likeliest of many options, and always the one that is being carried out", async () => {
    end();
    destroy();
    document.body.replaceChildren();
    const options = Array.from({ length: 400 }, (_, k) => `cell ${k}`);
    await begin({ rules_hash: "many", actions: [drill.actions[0]!, { name: "cell", options }] });
    await unfold();
    const chances = options.map((_, k) => (k === 123 ? 0.5 : k === 7 ? 0.3 : 0.2 / 398));
    await think({ thought: { ...thought, action: [1, 399], probabilities: [[0.1, 0.7, 0.2], chances] } });
    const [, cells] = [...panel().querySelectorAll(".choice-bars")];
    expect(cells!.querySelector("h4")!.textContent).toBe("cell: likeliest of 400");
    const rows = [...cells!.querySelectorAll(".option")];
    expect(rows.map((row) => row.querySelector(".label")!.textContent)).toEqual(["cell 123", "cell 7", "cell 0", "cell 1", "cell 399"]);
    expect(rows.map((row) => row.hasAttribute("data-chosen"))).toEqual([false, false, false, false, true]);
  });

  it("shows moves, inputs with unit and scale, and what weighs, all as text", async () => {
    await unfold();
    await think();
    const options = [...panel().querySelectorAll(".option")].map((row) => row.textContent);
    expect(options).toEqual(["stop10%", "forward70%", "back20%", "no95%", "yes5%"]);
    expect([...panel().querySelectorAll("[data-chosen]")].map((row) => row.textContent)).toEqual(["forward70%", "no95%"]);
    const [first, second] = [...panel().querySelectorAll<HTMLElement>(".rows .sense")];
    expect(first!.textContent).toBe("ball ahead−2.00 u±8 u");
    expect([first, second].map((row) => row!.querySelector<HTMLElement>(".label")!.title)).toEqual([
      "ball ahead: along its heading",
      "<img src=x onerror=alert(1)>",
    ]);
    const shown = (row: HTMLElement, bar: string) => row.querySelector<HTMLElement>(`${bar} .fill`)!.style.clipPath;
    expect(shown(first!, ".middle")).toBe("inset(0 50.0% 0 37.5% round 4px)");
    expect(shown(first!, ".weight")).toBe("inset(0 75.0% 0 0.0% round 4px)");
    expect(second!.textContent).toBe("<img src=x onerror=alert(1)>3.00±1");
    expect(shown(second!, ".weight")).toBe("inset(0 0.0% 0 0.0% round 4px)");
    expect(panel().querySelector(".worth")!.textContent).toBe("+0.42");
    expect(panel().dataset.side).toBe("1");
    expect(root.querySelector("img")).toBeNull();
  });

  it("says so before there is any network", async () => {
    await unfold();
    await think({ thought: null });
    expect(panel().querySelector<HTMLElement>(".thoughts")!.hidden).toBe(true);
    expect(panel().querySelector<HTMLElement>(":scope > .sentence")!.hidden).toBe(false);
  });

  it("chooses the player by select and by a click on the pitch, not by a drag", async () => {
    await unfold();
    const player = control<HTMLSelectElement>("Player");
    expect([...player.options].map((option) => option.text)).toEqual(["Blue", "Orange"]);
    player.value = "1";
    player.dispatchEvent(new Event("change"));
    await settle();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ player: 1 });
    const pitch = root.querySelector<HTMLElement>(".pitch")!;
    const press = (x: number, upX: number) => {
      pitch.dispatchEvent(new PointerEvent("pointerdown", { clientX: x, clientY: 20 }));
      pitch.dispatchEvent(new MouseEvent("click", { clientX: upX, clientY: 20 }));
    };
    press(30, 31);
    press(30, 90);
    await settle();
    expect(worker().of("PICK")).toMatchObject([{ id, view: 0, x: 31, y: 20 }]);
  });

  it("puts the value map on the pitch, with a legend", async () => {
    const legend = root.querySelector<HTMLElement>(".map-legend")!;
    expect(legend.hidden).toBe(true);
    control("Value map").click();
    await think();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ map: true });
    expect(legend.hidden).toBe(false);
    expect(control("Value map").getAttribute("aria-checked")).toBe("true");
    expect(legend.textContent).toContain("−0.8");
    expect(legend.textContent).toContain("if the ball were there");
    control("Value map").click();
    expect(legend.hidden).toBe(true);
  });

  it("draws what the player sees where observations are places of things", async () => {
    const trained = () => say({ type: "STATE", tick: 1, score: [0, 0], version: 5, fps: 60, playing: true, events: [], probabilities: [], value: 0 });
    await trained();
    expect(control("What it sees").hidden).toBe(true); // one half of a place is none
    end();
    const observations = ["ball ahead", "ball left"].map((name) => ({ name, scale: 8, unit: "u", help: "" }));
    await begin({ observations, rules_hash: "places" });
    await trained();
    expect(control("What it sees").hidden).toBe(false);
    control("What it sees").click();
    expect(control("What it sees").getAttribute("aria-checked")).toBe("true");
    await settle();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ sight: true });
  });

  it("tells the show the weights that training uses", () => {
    expect(
      worker()
        .of("INSPECT")
        .find(({ weights }) => weights),
    ).toMatchObject({ weights: { goal: 1, approach: 0.5 } });
  });

  it("tries other moves only while the match stands, and points at their ways", async () => {
    await unfold();
    openTab(root, "learn");
    await say({ type: "STATE", ...state, playing: true });
    expect(control("Why that move?").hidden).toBe(true);
    await say({ type: "STATE", ...state, playing: false });
    control("Why that move?").click();
    await settle();
    expect(root.querySelector('[aria-selected="true"]')!.textContent).toBe("Mind");
    expect(worker().of("IMAGINE").at(-1)).toMatchObject({ repeat: false });
    control<HTMLSelectElement>("Afterwards").value = "repeat";
    control("Afterwards").dispatchEvent(new Event("change"));
    await settle();
    expect(worker().of("IMAGINE").at(-1)).toMatchObject({ repeat: true });
    await say({ type: "OUTCOMES", player: 1, outcomes: [outcome, { ...outcome, action: [0, 0], ended: false, winner: 0, change: 0.5 }] });
    await think({ standing: true });
    const [first, second] = [...panel().querySelectorAll<HTMLElement>(".outcome")];
    expect(first!.textContent).toBe("forward · dash60%−0.13goal for orange");
    expect(second!.textContent).toBe("stop60%+0.50");
    first!.focus();
    await settle();
    expect(worker().of("GHOST").at(-1)).toMatchObject({ outcome: 0 });
    first!.blur();
    await settle();
    expect(worker().of("GHOST").at(-1), "back to the move that is made").toMatchObject({ outcome: 0 });
    const answer = root.querySelector<HTMLElement>(".why-answer")!;
    expect(answer.textContent).toContain("forward · dash (60%): −0.13 of expected return within a second.");
    control("Next move").click();
    await settle();
    expect(worker().of("GHOST").at(-1), "beside the pitch, without pointing").toMatchObject({ outcome: 1 });
    expect(answer.textContent).toContain("It could do stop (60%): +0.50 of expected return within a second.");
    await think({ standing: false });
    expect(panel().querySelectorAll(".outcome")).toHaveLength(0);
    expect(answer.hidden).toBe(true);
  });

  it("asks for the network's move where a person plays the other side, and calls the person you", async () => {
    control<HTMLSelectElement>("Mode").value = "human_vs_ai";
    control("Mode").dispatchEvent(new Event("change"));
    await unfold();
    await say({ type: "STATE", ...state, playing: false });
    control("Why that move?").click();
    await settle();
    expect(worker().of("INSPECT").at(-1)).toMatchObject({ player: 1 });
    await say({ type: "OUTCOMES", player: 1, outcomes: [{ ...outcome, made: true }] });
    const answer = root.querySelector<HTMLElement>(".why-answer")!;
    expect(answer.textContent).toContain("It does forward · dash");
    await say({ type: "OUTCOMES", player: 0, outcomes: [{ ...outcome, made: true }] });
    expect(answer.textContent).toContain("You do forward · dash");
    await think({ player: 1 });
    control<HTMLSelectElement>("Mode").value = "ai_vs_ai";
    control("Mode").dispatchEvent(new Event("change"));
    await settle();
    expect(worker().of("INSPECT").at(-1), "nobody plays any more").toMatchObject({ player: 0 });
  });
});

describe("a drill of one side", () => {
  it("offers no choice of player, and no map where nothing can be moved", async () => {
    end();
    destroy();
    await begin({ sides: 1, drag: [], rules_hash: "alone", actions: [{ name: "push", options: ["left", "right"] }] });
    await unfold();
    expect(control("Player").closest("label")!.hidden).toBe(true);
    expect(control("Value map").hidden).toBe(true);
  });

  it("names its only choice by its option", () => {
    const actions = [{ name: "push", options: ["none", "right"] }];
    expect([nameOf({ ...drill, actions }, [0]), nameOf({ ...drill, actions }, [1])]).toEqual(["none", "right"]);
  });
});

describe("curves to take away", () => {
  it("are rows of every metric", () => {
    const rows = [
      { agent_steps: 100, loss_value: 0.25 },
      { agent_steps: 200, 'a,"b"': 1 },
    ] as Record<string, number>[];
    expect(csvOf(rows)).toBe('agent_steps,loss_value,"a,""b"""\r\n100,0.25,\r\n200,,1\r\n');
    expect(csvOf([])).toBe("\r\n");
    const formula = [{ '=HYPERLINK("x")': -1, "a;@b": 2 }];
    expect(csvOf(formula), "of a file's metrics").toBe(`"'=HYPERLINK(""x"")",a;'@b\r\n-1,2\r\n`);
  });
});
