// @vitest-environment happy-dom
/** The sentence on what training does, and what it has reached. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ShowTrait } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import widget from "../../page";
import { forgets, SENTENCES, sentenceOf } from "../../panels/status/sentence";
import { beatenAt, forecast } from "../../panels/status/targets";
import { config, FakeModel, FakeWorker, installBrowser, mount, row, settle } from "../harness/fakes";

describe("the sentence", () => {
  it("counts practice games and agent steps while it trains", () => {
    expect(sentenceOf("training", "training on the CPU", 1024, undefined)).toBe("Playing 1,024 practice games at once.");
    const rate = { agent_steps: 1, agent_steps_per_second: 315_234 };
    expect(sentenceOf("training", "", 1024, rate)).toBe("Playing 1,024 practice games at once: 315,000 agent steps a second.");
  });

  it("leaves the word to the kernel's warnings, and to its other states", () => {
    expect(sentenceOf("training", "went back to v12", 1024, undefined)).toBe("Went back to v12.");
    expect(sentenceOf("starting", "compiling", 1024, undefined)).toBe("Compiling.");
    expect(sentenceOf("idle", "not started", 1024, undefined)).toBe(SENTENCES.idle);
  });
});

describe("before Train", () => {
  const schema = { hidden_sizes: { label: "", help: "", unit: "", kind: "sizes", effect: "restart" as const, network: true } };

  it("says what a new network would cost", () => {
    const sentence = "Train forgets 3,268 updates: hidden_sizes needs a new network. The old run stays as a file.";
    expect(forgets("stopped", { schema }, { hidden_sizes: "32" }, 3268)).toBe(sentence);
    const page = forgets("stopped", { schema }, { hidden_sizes: "32" }, 3268, "in this browser");
    expect(page, "which saves no files").toBe(sentence.replace("as a file", "in this browser"));
    expect(forgets("stopped", { schema }, { learning_rate: 1 }, 3268)).toBe("");
    expect(forgets("training", { schema }, { hidden_sizes: "32" }, 3268)).toBe("");
    expect(forgets("idle", { schema }, { hidden_sizes: "32" }, 0)).toBe("");
  });
});

describe("See what it can become", () => {
  const control = (root: HTMLElement, name: string) => root.querySelector<HTMLButtonElement>(`[data-control="${name}"]`)!;
  const shows = (model: FakeModel) => [model.get("show").mode, model.get("show").opponent];
  const begun = async (show: Partial<ShowTrait> = {}) => {
    const model = new FakeModel({ rivals: { gold: null }, show: { ...SHOW_DEFAULTS, ...show } });
    const page = await mount(model);
    left = page.end;
    return { model, ...page };
  };
  let left: (() => void) | undefined;
  beforeAll(installBrowser);
  afterEach(() => {
    vi.useRealTimers();
    left?.();
  });

  it("goes back to the match that was seen before", async () => {
    const { model, root } = await begun({ mode: "human_vs_ai" });
    control(root, "preview").click();
    expect(shows(model)).toEqual(["sandbox", "gold"]);
    expect(control(root, "preview").hidden).toBe(true);
    control(root, "preview-leave").click();
    expect(shows(model)).toEqual(["human_vs_ai", ""]);
    expect(control(root, "preview").hidden).toBe(false);
  });

  it("goes back once a duel that began meanwhile is over", async () => {
    const { model, root } = await begun();
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "performance"] });
    const report = async (tick: number) => {
      const { id } = FakeWorker.all[0]!.of("DRILL").at(-1)!;
      const at = { version: 0, fps: 60, playing: true, events: [], probabilities: [], value: 0 };
      FakeWorker.all[0]!.say({ type: "STATE", id, tick, score: [0, 2 * Number(tick > 0)], ...at });
      await vi.advanceTimersByTimeAsync(0);
    };
    control(root, "preview").click();
    control(root, "challenge").click();
    await report(0);
    await vi.advanceTimersByTimeAsync(40_000);
    expect(shows(model), "it does not end the duel, which is this page's own").toEqual(["sandbox", "gold"]);
    expect(root.dataset.mode).toBe("human_vs_ai");
    await report(120 * 60);
    control(root, "challenge-leave").click();
    expect(shows(model)).toEqual(["ai_vs_ai", ""]);
  });

  it("is over as soon as somebody chooses another match, and takes nobody from gold who chooses it later", async () => {
    const { model, root } = await begun();
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "performance"] });
    control(root, "preview").click();
    await vi.advanceTimersByTimeAsync(5_000);
    const choose = (change: Partial<ShowTrait>) => model.set("show", { ...model.get("show"), ...change });
    choose({ opponent: "chaser" });
    expect(control(root, "preview-leave").hidden, "orange is not gold").toBe(true);
    await vi.advanceTimersByTimeAsync(20_000);
    choose({ opponent: "gold" });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(shows(model)).toEqual(["sandbox", "gold"]);
  });

  it("that another view has ended leaves the match alone", async () => {
    const model = new FakeModel({ rivals: { gold: null }, show: { ...SHOW_DEFAULTS, mode: "sandbox" } });
    const { initialize, render } = widget();
    const destroy = initialize({ model });
    const views = [0, 1].map(() => {
      const el = document.body.appendChild(document.createElement("div"));
      return { el, gone: render({ model, el }) };
    });
    left = () => {
      for (const { gone } of views) gone();
      destroy();
    };
    await settle();
    control(views[0]!.el, "preview").click();
    control(views[1]!.el, "preview-leave").click();
    expect(shows(model)).toEqual(["sandbox", ""]);
    expect(views.map(({ el }) => control(el, "preview").hidden)).toEqual([false, false]);
    left();
    expect(shows(model), "nor when the views close").toEqual(["sandbox", ""]);
    left = undefined;
  });

  it("leaves gold to no page that comes after this one", async () => {
    const { model, root } = await begun();
    control(root, "preview").click();
    window.dispatchEvent(new Event("pagehide"));
    expect(shows(model)).toEqual(["ai_vs_ai", ""]);
  });

  it("of a page that is gone offers the way back, too, and gives way where gold cannot be had", async () => {
    const { model, root } = await begun({ mode: "sandbox", opponent: "gold" });
    expect(control(root, "preview-leave").hidden).toBe(false);
    control(root, "preview-leave").click();
    expect(shows(model)).toEqual(["ai_vs_ai", ""]);
    control(root, "preview").click();
    model.set("show", { ...model.get("show"), opponent: "" }); // the kernel could not read it
    control(root, "preview-leave").click();
    expect(shows(model)).toEqual(["ai_vs_ai", ""]);
  });
});

describe("targets", () => {
  let model: FakeModel;
  let root: HTMLElement;
  let end: () => void;
  const targets = ["idle", "random", "chaser", "gold"].map((name) => ({ name, metric: `beats_${name === "chaser" ? "script" : name}`, steps: 3e6 }));
  beforeAll(installBrowser);
  beforeEach(async () => {
    model = new FakeModel({ config: { ...config, targets } });
    ({ root, end } = await mount(model));
  });
  afterEach(() => end());
  const told = () => [...root.querySelectorAll<HTMLElement>(".target")].filter(({ hidden }) => !hidden).map(({ textContent }) => textContent!.trim());
  const next = () => root.querySelector<HTMLElement>(".next-target")!.textContent;

  it("are there from the start and keep the time that each took", () => {
    expect(told()).toEqual(["standing still", "random", "chaser", "gold"]);
    model.set("status", "training");
    for (const step of [1, 2, 3]) model.set("metrics", row(step, { seconds: step, target_share: 0.1, beats_idle: 1.2 }));
    model.set("metrics", row(4, { seconds: 9, target_share: 0.3, beats_idle: 1.2, beats_random: 9.1 }));
    expect(told()).toEqual(["standing still 0:01", "random 0:09", "chaser", "gold"]);
    expect(root.querySelector(".target[data-next]")!.textContent).toContain("chaser");
    expect(next()).toBe("Next, chaser. Now it wins 30%.");
  });

  it("forecast the next one by the rate on this machine", () => {
    const at = (agent_steps: number, agent_steps_per_second: number) => Array(3).fill({ agent_steps, agent_steps_per_second });
    expect(forecast(at(0, 25_000), { steps: 3e6 })).toBe("about 2 minutes on this machine");
    expect(forecast(at(1e6, 100_000), { steps: 3e6 })).toBe("about 20 seconds on this machine");
    expect(forecast(at(2.99e6, 100_000), { steps: 3e6 })).toBe("soon");
    expect(forecast(at(3.1e6, 100_000), { steps: 3e6 }), "nobody knows whether that is soon").toBe("usually beaten by now");
    expect(forecast(at(6.1e6, 100_000), { steps: 3e6 }), "not soon for ever").toBe("takes longer than usual");
    expect(forecast(at(0, 100_000), { steps: 0 }), "nobody measured it").toBe("");
    expect(forecast(at(0, 100_000).slice(1), { steps: 3e6 }), "the rate is not steady yet").toBe("");
  });

  it("are read from the win rates where nobody plays them, and never stand on a policy from elsewhere", () => {
    const won = (seconds: number, win_rate_ema: number, win_share: number) => row(seconds, { seconds, win_rate_ema, win_share });
    expect(beatenAt([won(3, 0.5, 0.5), won(4, 0.51, 0.5)], "beats_script")).toBe(4);
    expect(beatenAt([won(3, 1, 0.01), won(4, 1, 0.19), won(5, 0.9, 0.2)], "beats_script"), "one win and many draws").toBe(5);
    expect(beatenAt([row(1, { seconds: 3 })], "beats_script")).toBeNull();
    expect(beatenAt([row(1, { seconds: 26, win_rate_ema: 0.99, win_share: 0.9 })], "beats_script"), "a policy from a file").toBeUndefined();
    expect(beatenAt([row(1, { seconds: 26 })], "beats_gold"), "nobody plays gold").toBeUndefined();
  });
});

describe("the pill", () => {
  it("is not green beside a learner that does not answer", async () => {
    installBrowser();
    const model = new FakeModel({ status: "training", status_text: "the learner is not responding: press Stop" });
    const { root, end } = await mount(model);
    const pill = root.querySelector<HTMLElement>(".pill")!;
    expect([pill.textContent, pill.dataset.status]).toEqual(["Not responding", "silent"]);
    model.set("status_text", "training on the CPU");
    expect([pill.textContent, pill.dataset.status]).toEqual(["Training", "training"]);
    end();
  });
});
