// @vitest-environment happy-dom
/** The match as a page steers it: whoever changes it, mode and opponent, steps and resets, policies and snapshots. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeModel, row, settle } from "../harness/fakes";
import { ShownPage, SNAPSHOT, shownPage } from "../harness/shown_page";

const page = shownPage();

/** Two seconds pass: what was chosen before stands no longer against the kernel. */
function later(): void {
  const now = performance.now() + 2000;
  vi.spyOn(performance, "now").mockReturnValue(now);
}

describe("the show", () => {
  afterEach(() => vi.restoreAllMocks());

  it("does not let the kernel undo a choice that it had not heard of", async () => {
    page.control("Pause").click();
    page.model.set("show", { ...page.model.get("show"), playing: true });
    expect(page.model.get("show")).toMatchObject({ playing: false });
    expect(page.model.saves).toBe(2);
    page.model.set("show", { ...page.model.get("show"), playing: true });
    expect(page.model.get("show")).toMatchObject({ playing: true });
    await settle();
    expect(page.worker.received.map((message) => message.type)).toEqual(["PAUSE", "PLAY"]);
  });

  it("goes through the trait, both ways", async () => {
    page.control("Pause").click();
    page.change("Speed", "4");
    page.change("Mode", "sandbox");
    page.change("Opponent", "random");
    expect(page.model.get("show")).toMatchObject({ playing: false, speed: 4, mode: "sandbox", opponent: "random" });
    expect(page.model.saves).toBe(4);
    later();
    page.model.set("show", { ...page.model.get("show"), playing: true, speed: 3 });
    await settle();
    expect(page.heard).toEqual([
      { type: "PAUSE" },
      { type: "SET_SIM_SPEED", multiplier: 4 },
      { type: "SET_MODE", mode: "sandbox", opponent: "chaser" },
      { type: "SET_MODE", mode: "sandbox", opponent: "random" },
      { type: "SET_SIM_SPEED", multiplier: 3 },
      { type: "PLAY" },
    ]);
    expect(page.root.dataset.mode).toBe("sandbox");
    expect(page.control<HTMLSelectElement>("Speed").value).toBe("3");
    expect([page.control("Play").hidden, page.control("Pause").hidden]).toEqual([true, false]);
  });

  it("offers policies as opponents, and plays on as before until their weights are there", async () => {
    const names = () => [...page.control<HTMLSelectElement>("Opponent").options].map(({ value }) => value);
    expect(names()).toEqual(["chaser", "random", "idle"]);
    page.model.set("rivals", { bronze: null, gold: null });
    expect(names()).toEqual(["chaser", "random", "idle", "bronze", "gold"]);
    page.change("Mode", "sandbox");
    page.change("Opponent", "gold");
    await settle();
    expect(page.of("SET_MODE").map(({ opponent }) => opponent)).toEqual(["chaser"]);
    const gold = { ...page.model.get("policy")!, version: 1031, data: new Float32Array(35) };
    page.model.set("rivals", { bronze: null, gold });
    await settle();
    expect(page.of("RIVAL").map(({ name, version, data }) => [name, version, data.byteLength])).toEqual([["gold", 1031, 140]]);
    expect(page.of("SET_MODE").at(-1)).toMatchObject({ mode: "sandbox", opponent: "gold" });
    expect(page.worker.received.findLastIndex(({ type }) => type === "RIVAL")).toBe(page.worker.received.findLastIndex(({ type }) => type === "SET_MODE") - 1);
    page.model.fire("comm:close");
    expect(names()).toEqual(["chaser", "random", "idle", "gold"]);
  });

  it("lets a person meet the newest version, and then whom they choose", async () => {
    const opponent = () => page.control<HTMLSelectElement>("Opponent");
    const words = () => opponent().selectedOptions[0]!.text;
    const shown = () => !opponent().closest<HTMLElement>(".field")!.hidden;
    const says = async (version: number) => {
      await page.reports({ version });
      return [page.find(".invitation").textContent, page.texts(".name")];
    };
    expect(shown()).toBe(false);
    page.model.set("rivals", { gold: null });
    page.model.set("show", { ...page.model.get("show"), mode: "sandbox", opponent: "random" });
    page.change("Mode", "human_vs_ai");
    expect([shown(), words(), page.model.get("show").opponent]).toEqual([true, "chaser", ""]);
    expect(await says(0)).toEqual(["Click to face the chaser; Escape ends it.", ["You", "chaser"]]);
    page.model.set("policy", { ...page.model.get("policy")!, version: 5 });
    page.model.set("metrics", row(1));
    expect(words()).toBe("newest version");
    expect(await says(5)).toEqual(["Click to face version 5; Escape ends it.", ["You", "AI"]]);

    page.change("Opponent", "gold");
    await settle();
    expect(page.of("SET_MODE").at(-1), "until its weights are there").toMatchObject({ mode: "human_vs_ai", opponent: "" });
    expect(await says(5)).toEqual(["Click to face version 5; Escape ends it.", ["You", "AI"]]);
    page.model.set("rivals", { gold: { ...page.model.get("policy")!, version: 1031 } });
    await settle();
    expect(page.of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "gold" });
    expect(await says(5)).toEqual(["Click to face gold; Escape ends it.", ["You", "gold"]]);
    expect(page.find(".version").title).toBe("Policy version 5 is the newest; it does not play now");

    page.change("Opponent", "");
    await settle();
    expect(page.of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "" });
    page.change("Mode", "ai_vs_ai");
    expect(shown()).toBe(false);
  });

  it("leaves a duel for everybody's match with the opponent that is chosen in it", async () => {
    page.control("Play against it").click();
    await settle();
    page.change("Opponent", "random");
    await settle();
    expect(page.model.get("show")).toMatchObject({ mode: "human_vs_ai", opponent: "random" });
    expect(page.find(".ground > .duel").hidden).toBe(true);
    expect(page.of("SET_MODE").at(-1)).toMatchObject({ mode: "human_vs_ai", opponent: "random" });
  });

  it("hands the show a policy of another run as one that replaces what was learned", async () => {
    const policy = (version: number, run: number) => page.model.set("policy", { ...page.model.get("policy")!, version, run });
    policy(40, 0);
    policy(7, 1);
    policy(8, 1);
    await settle();
    expect(
      page
        .of("POLICY")
        .slice(-2)
        .map(({ version, replaces }) => [version, replaces]),
    ).toEqual([
      [7, true],
      [8, false],
    ]);
  });

  it("changes the mode whatever became of the opponent", async () => {
    const modes = () => page.of("SET_MODE").map(({ mode, opponent }) => [mode, opponent]);
    page.model.set("rivals", { "league:v7": null });
    page.model.set("show", { ...page.model.get("show"), mode: "ai_vs_ai", opponent: "league:v7" });
    await settle();
    page.change("Mode", "human_vs_ai");
    await settle();
    expect(modes().at(-1), "its weights never come").toEqual(["human_vs_ai", ""]);
    page.model.set("rivals", {});
    page.change("Mode", "sandbox");
    await settle();
    expect(modes().at(-1), "it is offered no more").toEqual(["sandbox", "chaser"]);
    await page.reports();
    expect(page.texts(".name").at(-1), "who plays").toBe("chaser");
  });

  it("steps and resets", async () => {
    expect(page.control("Pause").parentElement!.contains(page.control("Step decision")), "beside Pause, not in the Lab").toBe(true);
    page.control("Step").click();
    page.control("Step decision").click();
    page.control<HTMLInputElement>("Match seed").value = "7";
    page.control("Reset match").click();
    await settle();
    expect(page.heard).toEqual([
      { type: "PAUSE" },
      { type: "STEP", unit: "tick", count: 1 },
      { type: "STEP", unit: "decision", count: 1 },
      { type: "RESET_SHOW", seed: 7 },
    ]);
    expect(page.model.get("show")).toMatchObject({ seed: 7, match: 1, playing: false });
    page.model.fire("msg:custom", { type: "STEP", unit: "decision", count: 3 });
    await settle();
    expect(page.of("STEP").at(-1)).toMatchObject({ unit: "decision", count: 3 });
  });

  it("hands over a copy of each policy", async () => {
    const bytes = new Uint8Array([9, 9, 1, 2, 3, 4, 9]);
    const data = new DataView(bytes.buffer, 2, 4);
    page.model.set("policy", { ...page.model.get("policy")!, version: 3, data });
    await settle();
    const sent = page.of("POLICY").at(-1)!;
    expect(sent.version).toBe(3);
    expect([...new Uint8Array(sent.data as ArrayBuffer)]).toEqual([1, 2, 3, 4]);
    expect(sent.data).not.toBe(bytes.buffer);
  });

  it("saves snapshots and continues from them in a new page", async () => {
    page.say({ type: "SNAPSHOT", ...SNAPSHOT });
    await settle();
    expect(page.model.get("snapshot")).toEqual({ ...SNAPSHOT, match: 0 });

    const { model } = page;
    const next = new ShownPage();
    next.open(new FakeModel({ snapshot: model.get("snapshot") }));
    expect(next.root.dataset).toMatchObject({ tick: "500", score: "3-2", version: "4" });
    await settle();
    expect(next.of("RESTORE").at(-1)!.snapshot).toMatchObject(SNAPSHOT);

    page.worker.received.length = 0;
    next.open(new FakeModel({ snapshot: model.get("snapshot"), show: { ...model.get("show"), match: 1 } }));
    await settle();
    expect(next.of("RESTORE"), "a reset made meanwhile wins").toEqual([]);
    next.close();
  });

  it("swaps policies now, at a reset or blended, with the blend time that was set", async () => {
    page.change("Swap", "blend");
    expect(page.model.get("show")).toMatchObject({ swap: "now", blend_ms: 800 });
    page.change("Swap", "at_reset");
    expect(page.model.get("show")).toMatchObject({ swap: "at_reset" });
    page.change("Swap", "now");
    expect(page.model.get("show")).toMatchObject({ swap: "now", blend_ms: 0 });
    later();
    page.model.set("show", { ...page.model.get("show"), blend_ms: 300 });
    expect(page.control<HTMLSelectElement>("Swap").value).toBe("blend");
    await settle();
    expect(page.of("SHOW_CONFIG").at(-1)).toMatchObject({ swap: "now", blend_ms: 300 });
  });
});
