// @vitest-environment happy-dom
/** Training as a page shows and steers it: status, settings, headline numbers, curves. */
import { describe, expect, it } from "vitest";
import type { Status } from "../../contract/protocol";
import { SENTENCES } from "../../panels/status/sentence";
import { config, FakeModel, mount, row, settle, spec } from "../harness/fakes";
import { shownPage } from "../harness/shown_page";

const page = shownPage();
const pill = () => page.find(".pill");

describe("training", () => {
  it.each(["idle", "starting", "training", "stopping", "stopped"] as const)("says what %s means", (status) => {
    page.model.set("status", status);
    expect(page.root.dataset.status).toBe(status);
    expect(pill().dataset.status).toBe(status);
    expect(page.find(".sentence").textContent).toBe(SENTENCES[status]);
    const busy = (["starting", "training", "stopping"] as Status[]).includes(status);
    expect([page.control("Train").hidden, page.control("Stop").hidden]).toEqual([busy, !busy]);
    expect(page.control("Stop").disabled).toBe(status === "stopping");
  });

  it("prefers the kernel's own sentence, and shows errors", () => {
    page.model.set("status", "starting");
    page.model.set("status_text", "compiling the rules, 3 of 8");
    expect(page.find(".sentence").textContent).toBe("Compiling the rules, 3 of 8.");
    page.model.set("status", "error");
    page.model.set("error", "The learner ended unexpectedly; Train starts it again.");
    expect(page.find(".problem").hidden).toBe(false);
    expect(page.find(".problem").textContent).toBe(page.model.get("error"));
  });

  it("ends every sentence with a full stop, the kernel's texts too, which have none", async () => {
    page.model.set("status", "training");
    page.model.set("status_text", "the learner has 32% of a processor, because python3 takes 120%");
    page.model.set("error", "num_envs: a page may ask for 16 at most");
    page.say({ type: "ERROR", text: "A frame of the match could not be read" });
    await settle();
    const said = page.texts("p:is(.help, .sentence, .problem, .notice, .about)").filter(Boolean);
    expect(said).toContain("The learner has 32% of a processor, because python3 takes 120%.");
    expect(said).toContain("num_envs: a page may ask for 16 at most.");
    expect(said).toContain("A frame of the match could not be read.");
    expect(said.filter((text) => !/[.!?…:]$/.test(text!))).toEqual([]);
  });

  it("sends Train with what was changed, then Stop and Reset", () => {
    page.change("learning_rate", "1e-3");
    page.change("hidden_sizes", "32x32");
    page.change("opponents", "self=.5, chaser=.5,");
    expect(page.model.sentOf("SET_HYPER")).toEqual([]);
    page.control("Train").click();
    expect(page.model.sentOf("START_TRAINING")).toEqual([
      { type: "START_TRAINING", learning_rate: 0.001, hidden_sizes: [32, 32], opponents: "self=0.5,chaser=0.5" },
    ]);
    page.model.set("config", { ...config, values: { ...config.values, learning_rate: 0.001, hidden_sizes: [32, 32], opponents: "self=0.5,chaser=0.5" } });
    expect(page.root.querySelectorAll("[data-drafted]"), "the kernel has them").toHaveLength(0);
    page.model.set("status", "training");
    page.control("Stop").click();
    page.control("Forget everything").click();
    page.model.set("status", "stopped");
    page.control("Train").click();
    expect(page.model.sent.slice(-3)).toEqual([{ type: "STOP_TRAINING" }, { type: "RESET_TRAINER" }, { type: "START_TRAINING" }]);
  });

  it("forgets a change that is taken back before Train", () => {
    page.change("hidden_sizes", "32");
    page.change("epochs", "2");
    expect(page.root.querySelectorAll("[data-drafted]")).toHaveLength(2);
    page.change("hidden_sizes", "64 x 64");
    expect(page.root.querySelectorAll("[data-drafted]")).toHaveLength(1);
    page.control("Train").click();
    expect(page.model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", epochs: 2 }]);
  });

  it("sends a change at once while training, unless it needs a restart", () => {
    page.model.set("status", "training");
    page.change("epochs", "2");
    page.change("opponents", "self=1");
    expect(page.model.sentOf("SET_HYPER")).toEqual([{ type: "SET_HYPER", key: "epochs", value: 2 }]);
    expect(page.control("opponents").closest(".setting")!.hasAttribute("data-drafted")).toBe(true);
  });

  it.each([
    ["learning_rate", "fast", "Enter a number from 0 to 1."],
    ["learning_rate", "2", "Enter a number from 0 to 1."],
    ["epochs", "1.5", "Enter a whole number from 1 to 100."],
    ["epochs", "", "Enter a whole number from 1 to 100."],
  ])("refuses %s = %s with one sentence", (key, text, problem) => {
    const input = page.change(key, text);
    expect(input.closest(".setting")!.querySelector(".problem")!.textContent).toBe(problem);
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(input.value).toBe(text);
    page.control("Train").click();
    expect(page.model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING" }]);
    page.change(key, "1");
    expect(input.hasAttribute("aria-invalid")).toBe(false);
  });

  it("explains every hyper-parameter", () => {
    expect(page.control("learning_rate").title).toBe(
      "Learning rate\nAdam's step size.\nUnit: 1/step.\nEnter a number from 0 to 1.\nChanges take effect at the next update.",
    );
    expect(page.control<HTMLInputElement>("opponents").value).toBe("self=0.75, chaser=0.25");
    expect(page.control("opponents").closest(".setting")!.querySelector(".effect")!.textContent).toBe("next start");
  });

  it("shows the headline numbers of the newest row", () => {
    page.model.fire("msg:custom", { type: "HISTORY", start: 0, rows: [row(10), row(20)] });
    page.model.set("metrics", row(30, { win_rate_ema: 0.99, win_share: 0.82, agent_steps_per_second: 1_050_000, updates: 9, seconds: 61 }));
    expect(page.texts(".tile .value")).toEqual(["82%", "1.05M", "9", "1:01"]);
  });

  it("draws what a reward of one's own brings as soon as it is paid", () => {
    const titles = () => page.texts("figcaption .title");
    const terms = ["goal", "own_reward"].map((name) => ({ name, weight: 1, kind: "reward" as const, help: "" }));
    const first = titles();
    page.model.set("drill", { spec: { ...spec, terms: terms.slice(0, 1), rules_hash: "other" }, javascript: "return {}" });
    expect(titles(), "one term is the return").toEqual(first);
    page.find<HTMLButtonElement>(`[data-control="chart-table"]`).click();
    page.model.set("drill", { spec: { ...spec, terms, rules_hash: "paid" }, javascript: "return {}" });
    expect(titles()).toEqual([...first, "Reward by term"]);
    const figure = [...page.root.querySelectorAll(".curve")].at(-1)!;
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
