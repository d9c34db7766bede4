// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Status } from "../../contract/protocol";
import widget from "../../page";
import { SENTENCES } from "../../panels/status/sentence";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, row, settle, spec } from "../harness/fakes";
import { soon } from "../harness/soon";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let id: string; // of the widget, in messages to the worker
let end: () => void;
let destroy: () => void;

function open(given = new FakeModel()): void {
  model = given;
  const { initialize, render } = widget();
  const el = document.createElement("div");
  document.body.append(el);
  destroy = initialize({ model });
  end = render({ model, el });
  root = el.querySelector<HTMLElement>(".dshq-widget")!;
  openAllTabs(root);
}

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const pill = () => root.querySelector<HTMLElement>(".pill")!;
const state = { tick: 120, score: [2, 1] as [number, number], version: 5, fps: 59.6, playing: true, events: [], probabilities: [], value: 0 };
const snapshot = {
  tick: 500,
  score: [3, 2] as [number, number],
  version: 4,
  state: new ArrayBuffer(8),
  rules_hash: "rules",
  seed: 0,
  rng: 1,
  phase: 0,
  rest: 0,
};

function change<T extends HTMLInputElement | HTMLSelectElement>(name: string, value: string): T {
  const element = control<T>(name);
  element.value = value;
  element.dispatchEvent(new Event("change"));
  return element;
}

beforeEach(async () => {
  open();
  await settle();
  id = worker().of("DRILL").at(-1)!.id;
  worker().received.length = 0;
});
afterEach(() => {
  end();
  destroy();
  document.body.replaceChildren();
  document.body.removeAttribute("data-jp-theme-light");
});

describe("page contract", () => {
  it("names every control", () => {
    const names = {
      BUTTON: ["Train", "Stop", "Forget everything", "Play", "Pause", "Step", "Step decision", "Next goal", "Reset match", "Share", "Full screen"],
      SELECT: ["Speed", "Mode", "Opponent", "Swap", "lr_schedule"],
      INPUT: ["Match seed", "learning_rate", "epochs", "hidden_sizes", "clip_value", "opponents"],
      CANVAS: ["Match"],
    };
    for (const [tag, list] of Object.entries(names)) for (const name of list) expect(control(name)?.tagName, name).toBe(tag);
    const speeds = [...control<HTMLSelectElement>("Speed").options].map((option) => option.value);
    expect(speeds).toEqual(["0.25", "0.5", "1", "2", "4", "8", "16", "32"]);
    expect(control("Match").tabIndex).toBe(0);
    expect(control("Match").closest("[data-lm-suppress-shortcuts=true]")).not.toBeNull();
  });

  it("keeps the root's data attributes true", async () => {
    expect(root.dataset).toMatchObject({ status: "idle", version: "0", mode: "ai_vs_ai", drill: "ball", tick: "0", score: "0-0" });
    expect(root.dataset).toMatchObject({ renderer: "webgpu", rendererThread: "worker" });
    expect(root.getAttribute("data-renderer-reason")).toBe("");
    worker().say({ type: "STATE", id, ...state });
    await settle();
    expect(root.dataset).toMatchObject({ tick: "120", score: "2-1", version: "5", fps: "60", playing: "true" });
    expect(root.querySelector(".version")!.textContent).toBe("v5");
    expect([...root.querySelectorAll(".goals")].map((goals) => goals.textContent)).toEqual(["2", "1"]);
  });

  it("shows strings from outside as text", () => {
    const hostile = `<img src=x onerror="alert(1)"> \u202e ${"x".repeat(10_000)}`;
    model.set("status", "training");
    model.set("status_text", `${hostile}.`);
    model.set("error", hostile);
    model.fire("msg:custom", { type: "LOG", level: "error", text: hostile });
    expect(root.querySelector("img")).toBeNull();
    for (const name of ["sentence", "problem", "notice"]) expect(root.querySelector(`.status .${name}`)!.textContent).toContain(hostile);
  });
});

describe("a drill of one side", () => {
  it("offers the AI or oneself, and shows return and steps where goals stood", async () => {
    end();
    destroy();
    open(new FakeModel({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } }));
    await settle();
    const modes = [...control<HTMLSelectElement>("Mode").options].map((option) => option.value);
    expect(modes).toEqual(["ai_vs_ai", "human_vs_ai"]);
    expect(control("Opponent").closest<HTMLElement>(".field")!.hidden).toBe(true);
    id = FakeWorker.all.at(-1)!.of("DRILL").at(-1)!.id;
    FakeWorker.all.at(-1)!.say({ type: "STATE", id, ...state, score: [0.30000000000000004, 12] });
    await settle();
    expect([...root.querySelectorAll(".goals")].map((shown) => shown.textContent)).toEqual(["0.3", "12"]);
    expect([...root.querySelectorAll(".name")].map((name) => name.textContent)).toEqual(["AI", "steps"]);
    expect(root.querySelector(".tile .caption")!.textContent).toBe("evaluated return");
    expect([...root.querySelectorAll("figcaption .title")].map((title) => title.textContent)).not.toContain("Matches won");
  });
});

describe("training", () => {
  it.each(["idle", "starting", "training", "stopping", "stopped"] as const)("says what %s means", (status) => {
    model.set("status", status);
    expect(root.dataset.status).toBe(status);
    expect(pill().dataset.status).toBe(status);
    expect(root.querySelector(".sentence")!.textContent).toBe(SENTENCES[status]);
    const busy = (["starting", "training", "stopping"] as Status[]).includes(status);
    expect([control("Train").hidden, control("Stop").hidden]).toEqual([busy, !busy]);
    expect(control("Stop").disabled).toBe(status === "stopping");
  });

  it("prefers the kernel's own sentence, and shows errors", () => {
    model.set("status", "starting");
    model.set("status_text", "compiling the rules, 3 of 8");
    expect(root.querySelector(".sentence")!.textContent).toBe("Compiling the rules, 3 of 8.");
    model.set("status", "error");
    model.set("error", "The learner ended unexpectedly; Train starts it again.");
    expect(root.querySelector<HTMLElement>(".problem")!.hidden).toBe(false);
    expect(root.querySelector(".problem")!.textContent).toBe(model.get("error"));
  });

  it("sends Train with what was changed, then Stop and Reset", () => {
    change("learning_rate", "1e-3");
    change("hidden_sizes", "32x32");
    change("opponents", "self=.5, chaser=.5,");
    expect(model.sentOf("SET_HYPER")).toEqual([]);
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([
      { type: "START_TRAINING", learning_rate: 0.001, hidden_sizes: [32, 32], opponents: "self=0.5,chaser=0.5" },
    ]);
    model.set("config", { ...config, values: { ...config.values, learning_rate: 0.001, hidden_sizes: [32, 32], opponents: "self=0.5,chaser=0.5" } });
    expect(root.querySelectorAll("[data-drafted]"), "the kernel has them").toHaveLength(0);
    model.set("status", "training");
    control("Stop").click();
    control("Forget everything").click();
    model.set("status", "stopped");
    control("Train").click();
    expect(model.sent.slice(-3)).toEqual([{ type: "STOP_TRAINING" }, { type: "RESET_TRAINER" }, { type: "START_TRAINING" }]);
  });

  it("forgets a change that is taken back before Train", () => {
    change("hidden_sizes", "32");
    change("epochs", "2");
    expect(root.querySelectorAll("[data-drafted]")).toHaveLength(2);
    change("hidden_sizes", "64 x 64");
    expect(root.querySelectorAll("[data-drafted]")).toHaveLength(1);
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", epochs: 2 }]);
  });

  it("sends a change at once while training, unless it needs a restart", () => {
    model.set("status", "training");
    change("epochs", "2");
    change("opponents", "self=1");
    expect(model.sentOf("SET_HYPER")).toEqual([{ type: "SET_HYPER", key: "epochs", value: 2 }]);
    expect(control("opponents").closest(".setting")!.hasAttribute("data-drafted")).toBe(true);
  });

  it.each([
    ["learning_rate", "fast", "Enter a number from 0 to 1."],
    ["learning_rate", "2", "Enter a number from 0 to 1."],
    ["epochs", "1.5", "Enter a whole number from 1 to 100."],
    ["epochs", "", "Enter a whole number from 1 to 100."],
  ])("refuses %s = %s with one sentence", (key, text, problem) => {
    const input = change(key, text);
    expect(input.closest(".setting")!.querySelector(".problem")!.textContent).toBe(problem);
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(input.value).toBe(text);
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING" }]);
    change(key, "1");
    expect(input.hasAttribute("aria-invalid")).toBe(false);
  });

  it("explains every hyper-parameter", () => {
    expect(control("learning_rate").title).toBe(
      "Learning rate\nAdam's step size.\nUnit: 1/step.\nEnter a number from 0 to 1.\nChanges take effect at the next update.",
    );
    expect(control<HTMLInputElement>("opponents").value).toBe("self=0.75, chaser=0.25");
    expect(control("opponents").closest(".setting")!.querySelector(".effect")!.textContent).toBe("next start");
  });

  it("shows the headline numbers of the newest row", () => {
    model.fire("msg:custom", { type: "HISTORY", start: 0, rows: [row(10), row(20)] });
    model.set("metrics", row(30, { win_rate_ema: 0.99, win_share: 0.82, agent_steps_per_second: 1_050_000, updates: 9, seconds: 61 }));
    expect([...root.querySelectorAll(".tile .value")].map((value) => value.textContent)).toEqual(["82%", "1.05M", "9", "1:01"]);
  });

  it("draws what a reward of one's own brings as soon as it is paid", () => {
    const titles = () => [...root.querySelectorAll("figcaption .title")].map((title) => title.textContent);
    const terms = ["goal", "own_reward"].map((name) => ({ name, weight: 1, kind: "reward" as const, help: "" }));
    const first = titles();
    model.set("drill", { spec: { ...spec, terms: terms.slice(0, 1), rules_hash: "other" }, javascript: "return {}" });
    expect(titles(), "one term is the return").toEqual(first);
    root.querySelector<HTMLButtonElement>(`[data-control="chart-table"]`)!.click();
    model.set("drill", { spec: { ...spec, terms, rules_hash: "paid" }, javascript: "return {}" });
    expect(titles()).toEqual([...first, "Reward by term"]);
    const figure = [...root.querySelectorAll(".curve")].at(-1)!;
    expect([...figure.querySelectorAll(".series")].map(({ textContent }) => textContent)).toEqual(["goal–", "own reward–"]);
    expect(figure.querySelector<HTMLElement>(".points")!.hidden, "a table, as the others").toBe(false);
  });

  it("calls the drill's script by its name", async () => {
    const chase = { ...spec, name: "chase", baselines: ["tracker", "sleeper"] };
    const { root: other, end: close } = await mount(new FakeModel({ drill: { spec: chase, javascript: "return {}" } }));
    expect(other.querySelector(".tile .caption")!.textContent).toBe("wins vs tracker");
    expect([...other.querySelectorAll(".curve .series")].map((series) => series.textContent).slice(0, 2)).toEqual(["tracker–", "random–"]);
    expect(other.textContent).not.toContain("chaser");
    close();
  });
});

/** Two seconds pass: what was chosen before stands no longer against the kernel. */
function later(): void {
  const now = performance.now() + 2000;
  vi.spyOn(performance, "now").mockReturnValue(now);
}

describe("the show", () => {
  afterEach(() => vi.restoreAllMocks());

  it("does not let the kernel undo a choice that it had not heard of", async () => {
    control("Pause").click();
    model.set("show", { ...model.get("show"), playing: true });
    expect(model.get("show")).toMatchObject({ playing: false });
    expect(model.saves).toBe(2);
    model.set("show", { ...model.get("show"), playing: true });
    expect(model.get("show")).toMatchObject({ playing: true });
    await settle();
    expect(worker().received.map((message) => message.type)).toEqual(["PAUSE", "PLAY"]);
  });

  it("goes through the trait, both ways", async () => {
    control("Pause").click();
    change("Speed", "4");
    change("Mode", "sandbox");
    change("Opponent", "random");
    expect(model.get("show")).toMatchObject({ playing: false, speed: 4, mode: "sandbox", opponent: "random" });
    expect(model.saves).toBe(4);
    later();
    model.set("show", { ...model.get("show"), playing: true, speed: 3 });
    await settle();
    expect(worker().received.map(({ id: _, ...message }) => message)).toEqual([
      { type: "PAUSE" },
      { type: "SET_SIM_SPEED", multiplier: 4 },
      { type: "SET_MODE", mode: "sandbox", opponent: "chaser" },
      { type: "SET_MODE", mode: "sandbox", opponent: "random" },
      { type: "SET_SIM_SPEED", multiplier: 3 },
      { type: "PLAY" },
    ]);
    expect(root.dataset.mode).toBe("sandbox");
    expect(control<HTMLSelectElement>("Speed").value).toBe("3");
    expect([control("Play").hidden, control("Pause").hidden]).toEqual([true, false]);
  });

  it("offers policies as opponents, and plays on as before until their weights are there", async () => {
    const names = () => [...control<HTMLSelectElement>("Opponent").options].map(({ value }) => value);
    expect(names()).toEqual(["chaser", "random", "idle"]);
    model.set("rivals", { bronze: null, gold: null });
    expect(names()).toEqual(["chaser", "random", "idle", "bronze", "gold"]);
    change("Mode", "sandbox");
    change("Opponent", "gold");
    await settle();
    expect(
      worker()
        .of("SET_MODE")
        .map(({ opponent }) => opponent),
    ).toEqual(["chaser"]);
    const gold = { ...model.get("policy")!, version: 1031, data: new Float32Array(35) };
    model.set("rivals", { bronze: null, gold });
    await settle();
    expect(
      worker()
        .of("RIVAL")
        .map(({ name, version, data }) => [name, version, data.byteLength]),
    ).toEqual([["gold", 1031, 140]]);
    expect(worker().of("SET_MODE").at(-1)).toMatchObject({ mode: "sandbox", opponent: "gold" });
    expect(worker().received.findLastIndex(({ type }) => type === "RIVAL")).toBe(worker().received.findLastIndex(({ type }) => type === "SET_MODE") - 1);
    model.fire("comm:close");
    expect(names()).toEqual(["chaser", "random", "idle", "gold"]);
  });

  it("lets a person meet the newest version, and then whom they choose", async () => {
    const opponent = () => control<HTMLSelectElement>("Opponent");
    const words = () => opponent().selectedOptions[0]!.text;
    const shown = () => !opponent().closest<HTMLElement>(".field")!.hidden;
    const says = async (version: number) => {
      worker().say({ type: "STATE", id, ...state, version });
      await settle();
      return [root.querySelector(".invitation")!.textContent, [...root.querySelectorAll(".name")].map((name) => name.textContent)];
    };
    expect(shown()).toBe(false);
    model.set("rivals", { gold: null });
    model.set("show", { ...model.get("show"), mode: "sandbox", opponent: "random" });
    change("Mode", "human_vs_ai");
    expect([shown(), words(), model.get("show").opponent]).toEqual([true, "chaser", ""]);
    expect(await says(0)).toEqual(["Click to face the chaser; Escape ends it.", ["You", "chaser"]]);
    model.set("policy", { ...model.get("policy")!, version: 5 });
    model.set("metrics", row(1));
    expect(words()).toBe("newest version");
    expect(await says(5)).toEqual(["Click to face version 5; Escape ends it.", ["You", "AI"]]);

    change("Opponent", "gold");
    await settle();
    expect(worker().of("SET_MODE").at(-1), "until its weights are there").toMatchObject({ mode: "human_vs_ai", opponent: "" });
    expect(await says(5)).toEqual(["Click to face version 5; Escape ends it.", ["You", "AI"]]);
    model.set("rivals", { gold: { ...model.get("policy")!, version: 1031 } });
    await settle();
    expect(worker().of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "gold" });
    expect(await says(5)).toEqual(["Click to face gold; Escape ends it.", ["You", "gold"]]);
    expect(root.querySelector<HTMLElement>(".version")!.title).toBe("Policy version 5 is the newest; it does not play now");

    change("Opponent", "");
    await settle();
    expect(worker().of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "" });
    change("Mode", "ai_vs_ai");
    expect(shown()).toBe(false);
  });

  it("leaves a duel for everybody's match with the opponent that is chosen in it", async () => {
    control("Play against it").click();
    await settle();
    change("Opponent", "random");
    await settle();
    expect(model.get("show")).toMatchObject({ mode: "human_vs_ai", opponent: "random" });
    expect(root.querySelector<HTMLElement>(".ground > .duel")!.hidden).toBe(true);
    expect(worker().of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "random" });
  });

  it("hands the show a policy of another run as one that replaces what was learned", async () => {
    const policy = (version: number, run: number) => model.set("policy", { ...model.get("policy")!, version, run });
    policy(40, 0);
    policy(7, 1);
    policy(8, 1);
    await settle();
    expect(
      worker()
        .of("POLICY")
        .slice(-2)
        .map(({ version, replaces }) => [version, replaces]),
    ).toEqual([
      [7, true],
      [8, false],
    ]);
  });

  it("changes the mode whatever became of the opponent", async () => {
    const modes = () =>
      worker()
        .of("SET_MODE")
        .map(({ mode, opponent }) => [mode, opponent]);
    model.set("rivals", { "league:v7": null });
    model.set("show", { ...model.get("show"), mode: "ai_vs_ai", opponent: "league:v7" });
    await settle();
    change("Mode", "human_vs_ai");
    await settle();
    expect(modes().at(-1), "its weights never come").toEqual(["human_vs_ai", ""]);
    model.set("rivals", {});
    change("Mode", "sandbox");
    await settle();
    expect(modes().at(-1), "it is offered no more").toEqual(["sandbox", "chaser"]);
  });

  it("steps and resets", async () => {
    expect(control("Pause").parentElement!.contains(control("Step decision")), "beside Pause, not in the Lab").toBe(true);
    control("Step").click();
    control("Step decision").click();
    control<HTMLInputElement>("Match seed").value = "7";
    control("Reset match").click();
    await settle();
    expect(worker().received.map(({ id: _, ...message }) => message)).toEqual([
      { type: "PAUSE" },
      { type: "STEP", unit: "tick", count: 1 },
      { type: "STEP", unit: "decision", count: 1 },
      { type: "RESET_SHOW", seed: 7 },
    ]);
    expect(model.get("show")).toMatchObject({ seed: 7, match: 1, playing: false });
    model.fire("msg:custom", { type: "STEP", unit: "decision", count: 3 });
    await settle();
    expect(worker().of("STEP").at(-1)).toMatchObject({ unit: "decision", count: 3 });
  });

  it("hands over a copy of each policy", async () => {
    const bytes = new Uint8Array([9, 9, 1, 2, 3, 4, 9]);
    const data = new DataView(bytes.buffer, 2, 4);
    model.set("policy", { ...model.get("policy")!, version: 3, data });
    await settle();
    const sent = worker().of("POLICY").at(-1)!;
    expect(sent.version).toBe(3);
    expect([...new Uint8Array(sent.data as ArrayBuffer)]).toEqual([1, 2, 3, 4]);
    expect(sent.data).not.toBe(bytes.buffer);
  });

  it("saves snapshots and goes on from them in a new page", async () => {
    worker().say({ type: "SNAPSHOT", id, ...snapshot });
    await settle();
    expect(model.get("snapshot")).toEqual({ ...snapshot, match: 0 });

    const before = model;
    const [closeView, closeModel] = [end, destroy];
    open(new FakeModel({ snapshot: before.get("snapshot") }));
    expect(root.dataset).toMatchObject({ tick: "500", score: "3-2", version: "4" });
    await settle();
    expect(worker().of("RESTORE").at(-1)!.snapshot).toMatchObject(snapshot);
    end();
    destroy();

    worker().received.length = 0;
    const reset = { ...before.get("show"), match: 1 };
    open(new FakeModel({ snapshot: before.get("snapshot"), show: reset }));
    await settle();
    expect(worker().of("RESTORE"), "a reset made meanwhile wins").toEqual([]);
    closeView();
    closeModel();
  });

  it("plays keys only in the canvas, told by the drill", async () => {
    change("Mode", "human_vs_ai");
    expect(root.querySelector(".key-help")!.textContent).toContain("moveWSdashSpace");
    control("Match").dispatchEvent(new KeyboardEvent("keydown", { code: "KeyW", bubbles: true }));
    control("Match seed").dispatchEvent(new KeyboardEvent("keydown", { code: "KeyS", bubbles: true }));
    await settle();
    expect(
      worker()
        .of("INPUT_BATCH")
        .map((message) => message.events.map((event) => event.code)),
    ).toEqual([["KeyW"]]);
  });

  it("swaps policies now, at a reset or blended, with the blend time that was set", async () => {
    change("Swap", "blend");
    expect(model.get("show")).toMatchObject({ swap: "now", blend_ms: 800 });
    change("Swap", "at_reset");
    expect(model.get("show")).toMatchObject({ swap: "at_reset" });
    change("Swap", "now");
    expect(model.get("show")).toMatchObject({ swap: "now", blend_ms: 0 });
    later();
    model.set("show", { ...model.get("show"), blend_ms: 300 });
    expect(control<HTMLSelectElement>("Swap").value).toBe("blend");
    await settle();
    expect(worker().of("SHOW_CONFIG").at(-1)).toMatchObject({ swap: "now", blend_ms: 300 });
  });

  it("takes over while Shift is held, says so, and shows what can be grabbed", async () => {
    control("Match").dispatchEvent(new KeyboardEvent("keydown", { code: "ShiftLeft", bubbles: true }));
    expect(root.querySelector(".name")!.textContent).toBe("You");
    expect(root.querySelector(".hint")!.textContent).toContain("moveW");
    control("Match").dispatchEvent(new KeyboardEvent("keyup", { code: "ShiftLeft", bubbles: true }));
    expect(root.querySelector(".name")!.textContent).not.toBe("You");
    expect(root.querySelector(".hint")!.textContent).toContain("Shift");
    worker().say({ type: "CURSOR", id, view: 0, cursor: "grab" });
    control("Next goal").click();
    await settle();
    expect(control("Match").dataset.cursor).toBe("grab");
    expect(
      worker()
        .of("TAKE_OVER")
        .map((message) => message.on),
    ).toEqual([true, false]);
    expect(worker().of("SKIP")).toHaveLength(1);
    worker().say({ type: "STATE", id, ...state, events: [{ kind: "goalless", tick: 9, side: -1, version: 1 }] });
    await settle();
    expect(root.querySelector(".status .notice")!.textContent).toContain("No goal");
  });

  it("gets a fresh canvas when the old one is lost", async () => {
    const before = control("Match");
    worker().say({ type: "CANVAS_LOST", id, view: 0, renderer: "canvas2d", reason: "The graphics adapter went away." });
    await settle();
    await settle();
    expect(control("Match")).not.toBe(before);
    expect(worker().of("INIT_CANVAS").at(-1)).toMatchObject({ renderer: "canvas2d", reason: "The graphics adapter went away." });
    expect(root.querySelector<HTMLElement>(".renderer-note")!.hidden).toBe(false);
  });

  it("hands over only the last of the canvases that took each other's place", async () => {
    const handed = vi.spyOn(HTMLCanvasElement.prototype as unknown as { transferControlToOffscreen(): object }, "transferControlToOffscreen");
    const before = worker().of("INIT_CANVAS").length;
    worker().say({ type: "CANVAS_LOST", id, view: 0, renderer: "canvas2d", reason: "The graphics adapter went away." });
    worker().say({ type: "CANVAS_LOST", id, view: 0, renderer: "canvas2d", reason: "The graphics adapter went away." });
    await settle();
    expect(worker().of("INIT_CANVAS")).toHaveLength(before + 1);
    expect(handed.mock.instances).toEqual([root.querySelector(".match")]);
    handed.mockRestore();
  });

  it("leaves the hands on the keys when the canvas is lost", async () => {
    const pressed = () =>
      worker()
        .of("INPUT_BATCH")
        .flatMap(({ events }) => events)
        .map(({ code, down }) => [code, down]); // prettier-ignore
    control("Match").focus();
    control("Match").dispatchEvent(new KeyboardEvent("keydown", { code: "KeyW", bubbles: true }));
    worker().say({ type: "CANVAS_LOST", id, view: 0, reason: "" });
    await settle();
    await settle();
    expect(document.activeElement).toBe(control("Match"));
    expect(pressed()).toEqual([
      ["KeyW", true],
      ["KeyW", false],
      ["KeyW", true],
    ]); // prettier-ignore
    control("Match").dispatchEvent(new KeyboardEvent("keyup", { code: "KeyW", bubbles: true }));
    await settle();
    expect(pressed().at(-1)).toEqual(["KeyW", false]);
  });
});

describe("the kernel", () => {
  it("is greeted, and answered at most four times a second, for the newest message", async () => {
    expect(model.sentOf("HELLO")).toEqual([{ type: "HELLO", seq: 0 }]);
    model.set("seq", 1);
    expect(model.sentOf("ACK")).toEqual([{ type: "ACK", seq: 1 }]);
    model.set("seq", 2);
    model.set("seq", 3);
    expect(model.sentOf("ACK")).toHaveLength(1);
    await soon(() =>
      expect(model.sentOf("ACK")).toEqual([
        { type: "ACK", seq: 1 },
        { type: "ACK", seq: 3 },
      ]),
    );
  });

  it("hears of the show with its snapshots, at most once a second", async () => {
    for (let tick = 0; tick < 5; tick++) {
      worker().say({ type: "STATE", id, ...state, tick });
      if (tick % 2 === 0) worker().say({ type: "SNAPSHOT", id, ...snapshot });
    }
    await settle();
    expect(model.sentOf("PAGE_STATE")).toEqual([{ type: "PAGE_STATE", fps: 59.6, renderer: "webgpu", tick: 0, score: [2, 1], version: 5, visible: true }]);
  });

  it("is missed after six silent seconds of training, and welcomed back", () => {
    end();
    destroy();
    vi.useFakeTimers();
    try {
      open(new FakeModel({ status: "training", seq: 1 }));
      vi.advanceTimersByTime(5_000);
      expect(root.dataset.status).toBe("training");
      vi.advanceTimersByTime(3_000);
      expect(root.dataset.status).toBe("disconnected");
      expect(root.querySelector<HTMLElement>(".banner")!.hidden).toBe(false);
      expect(root.querySelector(".banner")!.textContent).toContain("The match continues with the last policy. Run the cell that makes the widget again");
      model.set("seq", 2);
      expect(root.dataset.status).toBe("training");
      expect(root.querySelector<HTMLElement>(".banner")!.hidden).toBe(true);
      model.set("status", "idle");
      vi.advanceTimersByTime(60_000);
      expect(root.dataset.status, "an idle kernel has nothing to say").toBe("idle");
    } finally {
      vi.useRealTimers();
    }
  });

  it("is known to be gone when ipywidgets marks the view", async () => {
    root.parentElement!.classList.add("jupyter-widgets-disconnected");
    await settle();
    expect(root.dataset.status).toBe("disconnected");
  });

  it("is known to be gone when Jupyter says so", () => {
    let tell: (sender: unknown, status: string) => void = () => undefined;
    const kernel = { statusChanged: { connect: (slot: typeof tell) => (tell = slot), disconnect: () => undefined } };
    const restarting = new FakeModel();
    Object.assign(restarting, { widget_manager: { kernel } });
    end();
    destroy();
    open(restarting);
    expect(root.dataset.status).toBe("idle");
    tell(null, "autorestarting");
    expect(root.dataset.status).toBe("disconnected");
  });

  it("is there again when Jupyter has connected anew and the kernel answers, also while nothing trains", () => {
    let tell: (sender: unknown, status: string) => void = () => undefined;
    const kernel = { connectionStatusChanged: { connect: (slot: typeof tell) => (tell = slot), disconnect: () => undefined } };
    const lost = Object.assign(new FakeModel(), { widget_manager: { kernel } });
    end();
    destroy();
    open(lost);
    tell(null, "disconnected");
    expect(root.dataset.status).toBe("disconnected");
    const greeted = lost.sentOf("HELLO").length;
    tell(null, "connecting");
    tell(null, "connected");
    expect(lost.sentOf("HELLO")).toHaveLength(greeted + 1);
    expect(root.dataset.status).toBe("disconnected");
    lost.fire("msg:custom", { type: "HISTORY", start: 0, rows: [] });
    expect(root.dataset.status).toBe("idle");
  });
});

describe("views", () => {
  it("follow the notebook's theme", async () => {
    expect(root.dataset.theme).toBe("light");
    document.body.dataset.jpThemeLight = "false";
    await settle();
    expect(root.dataset.theme).toBe("dark");
    expect(worker().of("THEME").at(-1)).toMatchObject({ view: 0, theme: "dark" });
  });

  it("follow the wish for less motion, in the same theme", async () => {
    end();
    destroy();
    let reduced = false;
    const told = new Set<() => void>();
    const query = (text: string) => ({
      get matches() {
        return reduced && text.includes("reduced-motion");
      },
      addEventListener: (_: string, changed: () => void) => text.includes("prefers") && told.add(changed),
    });
    vi.stubGlobal("matchMedia", query);
    try {
      open();
      await settle();
      expect(worker().of("INIT_CANVAS").at(-1)).toMatchObject({ reducedMotion: false });
      for (const wish of [true, false]) {
        reduced = wish;
        for (const changed of told) changed();
        await settle();
        expect(worker().of("THEME").at(-1)).toMatchObject({ theme: "light", reducedMotion: wish });
      }
      const sent = worker().of("THEME").length;
      for (const changed of told) changed();
      await settle();
      expect(worker().of("THEME")).toHaveLength(sent);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("get the pixels of the screen to which the window was moved", async () => {
    end();
    destroy();
    const asked = new Map<string, () => void>();
    const query = (text: string) => ({ matches: false, addEventListener: (_: string, changed: () => void) => asked.set(text, changed) });
    vi.stubGlobal("matchMedia", query);
    const density = vi.spyOn(globalThis, "devicePixelRatio", "get").mockReturnValue(1);
    const wide = vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(600);
    try {
      open();
      await settle();
      for (const [before, now] of [
        [1, 2],
        [2, 1.5],
      ] as const) {
        density.mockReturnValue(now);
        asked.get(`(resolution: ${before}dppx)`)!();
        await settle();
        expect(worker().of("RESIZE").at(-1)).toMatchObject({ view: 0, width: 600, dpi: now });
      }
    } finally {
      wide.mockRestore();
      density.mockRestore();
      vi.unstubAllGlobals();
    }
  });

  it("share one match and leave nothing behind", async () => {
    const { initialize, render } = widget();
    const shared = new FakeModel();
    const close = initialize({ model: shared });
    const ends = [1, 2].map(() => {
      const el = document.createElement("div");
      document.body.append(el);
      return { el, end: render({ model: shared, el }) };
    });
    await settle();
    expect(worker().of("DRILL")).toHaveLength(1);
    const { id } = worker().of("DRILL")[0]!;
    expect(
      worker()
        .of("INIT_CANVAS")
        .map((message) => [message.id, message.view]),
    ).toEqual([
      [id, 0],
      [id, 1],
    ]);
    ends[0]!.end();
    await settle();
    expect(ends[0]!.el.childElementCount).toBe(0);
    expect(worker().of("DISPOSE")).toEqual([{ type: "DISPOSE", id, view: 0 }]);
    ends[1]!.end();
    close();
    await settle();
    expect(shared.listening).toBe(0);
    expect(worker().of("DISPOSE").at(-1)).toEqual({ type: "DISPOSE", id });
  });
});
