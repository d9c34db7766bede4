import { afterEach, describe, expect, it, vi } from "vitest";
import type { FilmOrder, ToWorker } from "../../contract/protocol";
import { HostPage } from "../harness/host_page";
import { SlowCanvas } from "../harness/slow_canvas";
import { TOY } from "../harness/toy_game";

let page = new HostPage();
afterEach(() => {
  for (const id of ["a", "b"]) page.send({ type: "DISPOSE", id });
  page = new HostPage();
});

const drill = (id = "a"): ToWorker => ({ type: "DRILL", id, ...TOY });
const policy = (version: number): ToWorker => {
  return { type: "POLICY", id: "a", version, layers: [3, 7], activation: "tanh", data: new Float32Array(28) };
};

describe("Host", () => {
  it("plays as soon as it has a drill, and tells of it", async () => {
    page.send(drill());
    const first = await page.until("STATE", (state) => state.tick > 0);
    const later = await page.until("STATE", (state) => state.tick > first.tick);
    expect(later).toMatchObject({ playing: true, probabilities: [], value: 0 });
    await page.until("SNAPSHOT", (snapshot) => snapshot.tick > 0);
  });

  it("keeps what came before the drill", async () => {
    page.send({ type: "SET_MODE", id: "a", mode: "sandbox", opponent: "pusher" }, policy(6), { type: "PAUSE", id: "a" }, drill());
    const state = await page.until("STATE", () => true);
    expect(state).toMatchObject({ tick: 0, version: 6, playing: false });
    expect(state.probabilities.map((row) => row.length)).toEqual([3, 2]);
    expect(state.events.map((event) => event.kind)).toEqual(["reset", "swap"]);
  });

  it("steps exactly and resets", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, { type: "RESET_SHOW", id: "a", seed: 4 });
    page.send({ type: "STEP", id: "a", unit: "tick", count: 1 }, { type: "STEP", id: "a", unit: "decision", count: 1 });
    await page.until("STATE", (state) => state.tick === 5 && !state.playing);
    page.send({ type: "RESET_SHOW", id: "a" });
    await page.until("STATE", (state) => state.tick === 0 && state.events.some((event) => event.kind === "reset"));
  });

  it("plays a replay in the live match's place and goes back to where that stood", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, { type: "RESET_SHOW", id: "a", seed: 4 }, { type: "STEP", id: "a", unit: "tick", count: 40 });
    page.send({ type: "RECORD", id: "a" });
    const { recording } = await page.until("RECORDING", () => true);
    page.send({ type: "RESET_SHOW", id: "a", seed: 9 }, { type: "STEP", id: "a", unit: "tick", count: 7 }, { type: "CAPTURE", id: "a" });
    const live = await page.until("SCENE", () => true);

    page.posted.length = 0;
    page.send({ type: "REPLAY", id: "a", recording }, { type: "PLAY", id: "a" }, policy(6));
    await page.until("REPLAYING", ({ problem }) => problem === "");
    await page.until("STATE", (state) => state.tick === 40);
    page.send({ type: "RECORD", id: "a" });
    expect((await page.until("RECORDING", () => true)).recording.sha256).toBe(recording.sha256);
    expect(page.all("SNAPSHOT"), "what is kept is the live match").toEqual([]);
    page.posted.length = 0;
    page.send({ type: "PAUSE", id: "a" }, { type: "PLAY", id: "a" });
    await page.until("STATE", (state) => state.tick > 0 && state.tick < 40); // from its beginning again
    expect(page.all("REPLAYING"), "which answers no other replay that is being loaded").toEqual([]);

    page.send({ type: "PAUSE", id: "a" }, { type: "REPLAY", id: "a", recording: null }, { type: "CAPTURE", id: "a" });
    expect((await page.until("SCENE", () => true)).state).toBe(live.state);
    page.send({ type: "STEP", id: "a", unit: "decision", count: 1 });
    await page.until("STATE", (state) => state.tick > 7 && state.version === 6); // what came meanwhile plays
  });

  it("refuses a replay that was changed, and the live match continues", async () => {
    page.send(drill(), { type: "RECORD", id: "a" });
    const { recording } = await page.until("RECORDING", () => true);
    page.send({ type: "REPLAY", id: "a", recording: { ...recording, sha256: "0" } });
    await page.until("REPLAYING", ({ problem }) => problem.includes("the file is damaged"));
    const { tick } = await page.until("STATE", () => true);
    await page.until("STATE", (state) => state.tick > tick + 20);
  });

  it("checks a long replay in slices, between which everything else is heard", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, { type: "STEP", id: "a", unit: "tick", count: 3000 }, { type: "RECORD", id: "a" });
    const { recording } = await page.until("RECORDING", () => true);
    const { now } = performance;
    let ahead = 0;
    const slow = vi.spyOn(performance, "now").mockImplementation(() => {
      ahead += 60; // each look is a slice later
      return now.call(performance) + ahead;
    });
    page.send({ type: "REPLAY", id: "a", recording }, { type: "CAPTURE", id: "a" });
    expect(page.all("REPLAYING"), "it was 46 s in one go, and no match of the page moved").toEqual([]);
    expect(page.all("SCENE")).toHaveLength(1);
    await page.until("REPLAYING", ({ problem }) => problem === "");
    page.posted.length = 0;
    page.send({ type: "REPLAY", id: "a", recording }, { type: "REPLAY", id: "a", recording: null });
    await page.until("REPLAYING", ({ problem }) => problem.startsWith("Something else is shown"));
    slow.mockRestore();
  });

  it("serves several widgets, and stops one that is disposed of", async () => {
    page.send(drill("a"), drill("b"), { type: "PAUSE", id: "b" });
    await page.until("STATE", (state) => state.tick > 20, "a");
    await page.until("STATE", (state) => !state.playing, "b");
    expect(page.all("STATE", "b").every((state) => state.tick === 0)).toBe(true);
    page.send({ type: "DISPOSE", id: "a" });
    const count = page.all("STATE", "a").length;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(page.all("STATE", "a").length).toBe(count);
  });

  it("continues with the same drill and begins anew with another", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, { type: "STEP", id: "a", unit: "tick", count: 9 }, drill());
    await page.until("STATE", (state) => state.tick === 9);
    page.send({ ...TOY, type: "DRILL", id: "a", spec: { ...TOY.spec, rules_hash: "new" } }, { type: "PAUSE", id: "a" });
    await page.until("STATE", (state) => state.tick === 0);
  });

  it("draws half of the frames, evenly, while a training machine is spared, and all of them afterwards", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("OffscreenCanvas", SlowCanvas);
    const clock = performance.now.bind(performance);
    const spent = vi.spyOn(performance, "now").mockImplementation(() => clock() + SlowCanvas.spent);
    const after = async (seconds: number) => {
      await vi.advanceTimersByTimeAsync(1000 * seconds);
      return page.all("STATE").at(-1)!;
    };
    try {
      page.send(drill(), { type: "SPARE", id: "a", frames: 30 });
      const canvas = new SlowCanvas() as unknown as OffscreenCanvas;
      expect((await after(0.5)).frame_ms, "there is no canvas").toBe(0);
      page.send({ type: "INIT_CANVAS", id: "a", offscreen: canvas, width: 320, height: 200, dpi: 1, theme: "light", renderer: "canvas2d" });
      const spared = await after(5);
      expect(spared.fps).toBeGreaterThan(26);
      expect(spared.fps).toBeLessThan(34);
      expect(spared.frame_ms).toBeGreaterThan(28);
      expect(spared.frame_ms, "no gap is of more than three").toBeLessThan(52);
      page.send({ type: "SPARE", id: "a", frames: 0 });
      expect((await after(5)).fps).toBeGreaterThan(50);
    } finally {
      spent.mockRestore();
      vi.unstubAllGlobals();
      vi.useRealTimers();
    }
  });

  it("takes back what another move leads to once the match moves on, though nobody watches", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, policy(6), { type: "IMAGINE", id: "a", repeat: false });
    await page.until("MIND", ({ standing }) => standing);
    page.send({ type: "PLAY", id: "a" });
    await page.until("STATE", ({ tick }) => tick > 0);
    expect(page.all("MIND").at(-1)!.standing).toBe(false);
  });

  it("says that it works on a film before it draws the first picture", async () => {
    const order = { spec: TOY.spec, javascript: TOY.javascript, theme: "light", format: "gif", caption: {} } as unknown as FilmOrder;
    page.send({ ...order, type: "FILM", id: "film" });
    expect(page.all("FILMED", "film")).toEqual([{ type: "FILMED", id: "film", share: 0, content: null }]);
    await page.until("ERROR", () => true, "film"); // there is no canvas
  });

  it("restores a snapshot", async () => {
    page.send(drill(), { type: "PAUSE", id: "a" }, { type: "STEP", id: "a", unit: "tick", count: 30 });
    const { type: _type, id: _id, ...snapshot } = await page.until("SNAPSHOT", ({ tick }) => tick === 30);
    page.send(drill("b"), { type: "PAUSE", id: "b" }, { type: "RESTORE", id: "b", snapshot });
    await page.until("STATE", (state) => state.tick === 30, "b");
  });

  it.each([
    [{ type: "SET_MODE", id: "a", mode: "solo" as never }, 'Mode "solo" is unknown'],
    [{ type: "SET_SIM_SPEED", id: "a", multiplier: -1 }, "Speed -1 is not offered"],
    [{ ...policy(3), data: new ArrayBuffer(4) }, "Policy version 3 was refused"],
    [{ type: "DRILL", id: "a", ...TOY, spec: { ...TOY.spec, rules_hash: "x" }, javascript: "return {}" }, "The drill's rules lack"],
  ] as [ToWorker, string][])("answers what it cannot do with one sentence and plays on (%#)", async (message, text) => {
    page.send(drill(), message);
    await page.until("ERROR", (error) => error.text.includes(text));
    expect(page.all("ERROR")).toHaveLength(1);
    const { tick } = await page.until("STATE", () => true);
    await page.until("STATE", (state) => state.tick > tick);
  });

  it("says what it can draw with", async () => {
    page.send({ type: "PROBE", id: "a" });
    const { capabilities } = await page.until("CAPABILITIES", () => true);
    expect(capabilities).toMatchObject({ gpu: false, device: false, offscreen: false });
  });
});
