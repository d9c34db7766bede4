// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SceneRow } from "../../../contract/protocol";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, openTab, spec as plain, settle } from "../../../tests/harness/fakes";

beforeAll(installBrowser);

const spec = {
  ...plain,
  terms: [
    { name: "goal", weight: 1, kind: "reward" as const, help: "<b>For a goal.</b>" },
    { name: "near_ball", weight: 2, kind: "potential" as const, help: "" },
  ],
  drag: [
    { name: "ball", x: "bx", y: "by", vx: "bvx", vy: "bvy", kind: "ball" as const, index: 0 },
    { name: "player 0", x: "px", y: "py", vx: "vx", vy: "vy", index: 0, kind: "player" as const },
  ],
};
const values = { ...config.values, reward_weights: "near_ball=4", gamma: 1, scene_share: 0.3 };
const scene: SceneRow = {
  key: "abc",
  places: [
    [1, 2],
    [-4.6, 3],
  ],
  before: null,
  now: null,
}; // prettier-ignore

let model: FakeModel;
let root: HTMLElement;
let id: string;
let end: () => void;

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const texts = (selector: string) => [...root.querySelectorAll(selector)].map((element) => element.textContent);

beforeEach(async () => {
  model = new FakeModel({
    drill: { spec, javascript: "return {}" },
    config: { ...config, values, schema: { ...config.schema, reward_weights: { ...config.schema.epochs!, kind: "weights" } } },
  });
  ({ root, end } = await mount(model));
  id = worker().of("DRILL").at(-1)!.id;
  openAllTabs(root);
  openTab(root, "rewards");
});
afterEach(() => {
  end();
  document.body.replaceChildren();
});

describe("the coach", () => {
  const playing = async (on: boolean) => {
    worker().say({ type: "STATE", id, tick: 9, score: [0, 0], version: 1, fps: 60, playing: on, events: [], probabilities: [], value: 0 });
    await settle();
  };

  it("drills the match as it stands, once it stands", async () => {
    await playing(true);
    expect(control("Drill this").hidden).toBe(true);
    await playing(false);
    control("Drill this").click();
    await settle();
    expect(worker().of("CAPTURE").length).toBe(1);
    worker().say({ type: "SCENE", id, state: "00ff", over: false });
    worker().say({ type: "SCENE", id, state: "eeee", over: false }); // nobody asked for another one
    await settle();
    expect(model.sentOf("DRILL_SCENE")).toEqual([{ type: "DRILL_SCENE", state: "00ff", rules_hash: "rules" }]);
  });

  it("does not drill a game that is over", async () => {
    await playing(false);
    control("Drill this").click();
    worker().say({ type: "SCENE", id, state: "00ff", over: true });
    await settle();
    expect(model.sentOf("DRILL_SCENE")).toEqual([]);
    expect(root.querySelector(".notice")!.textContent).toContain("just ended");
  });

  it("lists the scenes with what came of them", async () => {
    model.set("scenes", [scene]);
    expect(texts(".success")).toEqual(["Measured when training starts"]);
    expect(root.querySelector(".thumbnail")!.getAttribute("aria-label")).toBe("Scene 1: ball at 1.0, 2.0; player 0 at -4.6, 3.0");
    expect([...root.querySelectorAll(".thumbnail circle")].map((dot) => dot.getAttribute("class"))).toEqual(["ball", "side-0"]);
    const before = { share: 0.12, version: 3 };
    model.set("scenes", [{ ...scene, before, now: before }]);
    expect([texts(".success"), texts(".versions")]).toEqual([["blue wins 12%"], ["v3"]]);
    model.set("scenes", [{ ...scene, before, now: { share: 0.64, version: 41 } }]);
    expect([texts(".success"), texts(".versions")]).toEqual([["blue wins: before 12% · now 64%"], ["v3 → v41"]]);
    control("Remove scene 1").click();
    expect(model.sentOf("DROP_SCENE")).toEqual([{ type: "DROP_SCENE", key: "abc" }]);
  });

  it("needs a kernel that takes scenes", async () => {
    await playing(false);
    model.set("scenes", [scene]);
    model.fire("comm:close");
    expect([control("Drill this").hidden, control("Remove scene 1").disabled]).toEqual([true, true]);
    model.set("seq", 1); // it speaks again
    expect([control("Drill this").hidden, control("Remove scene 1").disabled]).toEqual([false, false]);
  });

  it("takes no ninth scene", async () => {
    await playing(false);
    expect(control("Drill this").hidden).toBe(false);
    model.set(
      "scenes",
      Array.from({ length: 8 }, (_, k) => ({ ...scene, key: String(k) })),
    );
    expect(control("Drill this").hidden).toBe(true);
    expect(root.querySelector(".coach .help")!.textContent).toContain("Remove one first");
  });
});
