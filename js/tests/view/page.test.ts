// @vitest-environment happy-dom
/** What every page keeps to: the names of its controls, its root's data attributes, strings from outside as text, one match for all views. */
import { describe, expect, it } from "vitest";
import widget from "../../page";
import { FakeModel, settle, spec } from "../harness/fakes";
import { shownPage } from "../harness/shown_page";

const page = shownPage();

describe("page contract", () => {
  it("names every control", () => {
    const names = {
      BUTTON: ["Train", "Stop", "Forget everything", "Play", "Pause", "Step", "Step decision", "Next goal", "Reset match", "Share", "Full screen"],
      SELECT: ["Speed", "Mode", "Opponent", "Swap", "lr_schedule"],
      INPUT: ["Match seed", "learning_rate", "epochs", "hidden_sizes", "clip_value", "opponents"],
      CANVAS: ["Match"],
    };
    for (const [tag, list] of Object.entries(names)) for (const name of list) expect(page.control(name)?.tagName, name).toBe(tag);
    const speeds = [...page.control<HTMLSelectElement>("Speed").options].map((option) => option.value);
    expect(speeds).toEqual(["0.25", "0.5", "1", "2", "4", "8", "16", "32"]);
    expect(page.control("Match").tabIndex).toBe(0);
    expect(page.control("Match").closest("[data-lm-suppress-shortcuts=true]")).not.toBeNull();
  });

  it("keeps the root's data attributes true", async () => {
    expect(page.root.dataset).toMatchObject({ status: "idle", version: "0", mode: "ai_vs_ai", drill: "ball", tick: "0", score: "0-0" });
    expect(page.root.dataset).toMatchObject({ renderer: "webgpu", rendererThread: "worker" });
    expect(page.root.getAttribute("data-renderer-reason")).toBe("");
    await page.reports();
    expect(page.root.dataset).toMatchObject({ tick: "120", score: "2-1", version: "5", fps: "60", playing: "true" });
    expect(page.find(".version").textContent).toBe("v5");
    expect(page.texts(".goals")).toEqual(["2", "1"]);
  });

  it("shows strings from outside as text", () => {
    const hostile = `<img src=x onerror="alert(1)"> \u202e ${"x".repeat(10_000)}`;
    page.model.set("status", "training");
    page.model.set("status_text", `${hostile}.`);
    page.model.set("error", hostile);
    page.model.fire("msg:custom", { type: "LOG", level: "error", text: hostile });
    expect(page.root.querySelector("img")).toBeNull();
    for (const name of ["sentence", "problem", "notice"]) expect(page.find(`.status .${name}`).textContent).toContain(hostile);
  });
});

describe("a drill of one side", () => {
  it("offers the AI or oneself, and shows return and steps where goals stood", async () => {
    await page.begin(new FakeModel({ drill: { spec: { ...spec, sides: 1 }, javascript: "return {}" } }));
    const modes = [...page.control<HTMLSelectElement>("Mode").options].map((option) => option.value);
    expect(modes).toEqual(["ai_vs_ai", "human_vs_ai"]);
    expect(page.control("Opponent").closest<HTMLElement>(".field")!.hidden).toBe(true);
    await page.reports({ score: [0.30000000000000004, 12] });
    expect(page.texts(".goals")).toEqual(["0.3", "12"]);
    expect(page.texts(".name")).toEqual(["AI", "steps"]);
    expect(page.find(".tile .caption").textContent).toBe("evaluated return");
    expect(page.texts("figcaption .title")).not.toContain("Matches won");
  });
});

describe("views", () => {
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
    expect(page.of("DRILL")).toHaveLength(1);
    const { id } = page.of("DRILL")[0]!;
    expect(page.of("INIT_CANVAS").map((message) => [message.id, message.view])).toEqual([
      [id, 0],
      [id, 1],
    ]);
    ends[0]!.end();
    await settle();
    expect(ends[0]!.el.childElementCount).toBe(0);
    expect(page.of("DISPOSE")).toEqual([{ type: "DISPOSE", id, view: 0 }]);
    ends[1]!.end();
    close();
    await settle();
    expect(shared.listening).toBe(0);
    expect(page.of("DISPOSE").at(-1)).toEqual({ type: "DISPOSE", id });
  });
});
