// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Episode } from "../../contract/protocol";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, openTab, spec as plain, settle } from "../harness/fakes";

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
const episode: Episode = {
  winner: 1,
  decisions: 9,
  after: [
    [1, 0.5],
    [-1, -0.5],
  ],
  before: [
    [0, 0],
    [0, 0],
  ],
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

describe("rewards", () => {
  const earned = () => texts(".rewards .terms .number");
  const weigh = (name: string, weight: string, event = "change") => {
    const input = control<HTMLInputElement>(name);
    input.value = weight;
    input.dispatchEvent(new Event(event));
  };
  const play = async () => {
    worker().say({ type: "SCORES", id, episodes: [episode] });
    await settle();
  };

  it("lists the terms as text, with the weights that count", () => {
    expect(texts(".term .entry-name")).toEqual(["goal", "near ball"]);
    expect(texts(".term .help")).toEqual(["<b>For a goal.</b>"]);
    expect(["Weight of goal", "Weight of near ball"].map((name) => control<HTMLInputElement>(name).value)).toEqual(["1", "4"]);
    expect(root.querySelector(".rewards > .cluster .caption")!.textContent).toBe("1 of 2 changed");
    expect(earned()).toEqual([]);
  });

  it("weighs the last games anew while a slider is dragged, and tells nobody before it is let go", async () => {
    await play();
    expect(earned()).toEqual(["+1.00", "−1.00", "+2.00", "−2.00"]);
    expect(texts(".terms .was")).toEqual(["", "", "was +1.00", "was −1.00"]);
    weigh("near ball, slider", "1", "input");
    expect(earned()).toEqual(["+1.00", "−1.00", "+0.50", "−0.50"]);
    expect(texts(".sum .number")).toEqual(["+1.50", "−1.50"]);
    model.set("status", "training");
    expect(model.sentOf("SET_HYPER")).toEqual([]);
    weigh("near ball, slider", "1");
    expect(model.sentOf("SET_HYPER")).toEqual([{ type: "SET_HYPER", key: "reward_weights", value: "near_ball=1" }]);
  });

  it("goes along with the next Train, and back to the drill's own", async () => {
    await play();
    weigh("Weight of goal", "-3");
    expect(root.querySelector(".lesson")!.textContent).toContain("losing pays");
    control("Reset rewards").click();
    expect(earned()).toEqual(["+1.00", "−1.00", "+1.00", "−1.00"]);
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING", reward_weights: "" }]);
  });

  it("says when new weights take effect: with Train, or while it trains at the next update", () => {
    const effect = () => root.querySelector(".rewards > .help")!.textContent!.split(". ").at(-1);
    expect(effect()).toBe("New weights take effect when you next press Train.");
    model.set("status", "training");
    expect(effect()).toBe("New weights take effect at the next update.");
    model.set("status", "stopped");
    expect(effect()).toBe("New weights take effect when you next press Train.");
  });

  it("waits for the games of other terms when the drill gets another one", async () => {
    await play();
    const paid = { ...spec, terms: [...spec.terms, { ...spec.terms[0]!, name: "own_reward" }] };
    Object.assign(model.get("drill")!, { spec: paid });
    expect(() => model.set("status", "training"), "which may be told before the drill is").not.toThrow();
    model.set("drill", { spec: { ...paid, rules_hash: "paid" }, javascript: "return {}" });
    expect(texts(".term .entry-name")).toEqual(["goal", "near ball", "own reward"]);
    expect(earned()).toEqual([]);
  });

  it("takes numbers only", () => {
    for (const wrong of ["", "x", "1e9", "NaN"]) {
      weigh("Weight of goal", wrong);
      expect(root.querySelector(".term .problem")!.textContent, wrong).toContain("Enter a number");
    }
    control("Train").click();
    expect(model.sentOf("START_TRAINING")).toEqual([{ type: "START_TRAINING" }]);
    weigh("goal, slider", "2");
    expect([control<HTMLInputElement>("Weight of goal").value, root.querySelector(".term .problem")!.textContent]).toEqual(["2", ""]);
  });
});
