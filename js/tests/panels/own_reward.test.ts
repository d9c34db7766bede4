// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FromWorker } from "../../contract/protocol";
import { FakeModel, FakeWorker, installBrowser, mount, openTab, spec as plain, settle } from "../harness/fakes";
import { soon } from "../harness/soon";

beforeAll(installBrowser);

const ball = { name: "ball", x: "bx", y: "by", vx: "bvx", vy: "bvy", kind: "ball" as const, index: 0 };
const terms = [{ name: "goal", weight: 1, kind: "reward" as const, help: "" }];
const spec = { ...plain, terms, drag: [ball] };
const paying = (help: string) => ({
  spec: { ...spec, terms: [...terms, { name: "own_reward", weight: 1, kind: "reward" as const, help }] },
  javascript: "return {};",
});

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
const control = <T extends HTMLElement = HTMLButtonElement>(id: string) => root.querySelector<T>(`[data-control="${id}"]`)!;
const line = () => control<HTMLInputElement>("own-line");
const said = () => root.querySelector(".own-reward [role=status]")!.textContent;
const checked = (text: string, problem: string) => model.fire("msg:custom", { type: "REWARD_CHECKED", line: text, problem }, []);
const answer = (problem: string) => checked(line().value, problem);

async function type(text: string): Promise<void> {
  line().value = text;
  line().dispatchEvent(new Event("input"));
  await soon(() => expect(model.sentOf("CHECK_REWARD").at(-1)).toEqual({ type: "CHECK_REWARD", line: text }));
}

beforeEach(async () => {
  model = new FakeModel({ drill: { spec, javascript: "return {}" } });
  ({ root, end } = await mount(model));
  openTab(root, "rewards");
  await settle();
});
afterEach(() => end());

describe("a reward of one's own", () => {
  it("stands before the other rewards, with an example of what it pays for", () => {
    const fold = root.querySelector(".own-reward")!;
    expect(fold.parentElement!.firstElementChild).toBe(fold);
    expect(fold.querySelector("summary .caption")!.textContent).toBe("such as a fast ball");
  });

  it("begins with what the game can measure, and shows the cell that does the same", () => {
    expect(line().value).toBe("0.02 * length(s.bvx[i], s.bvy[i])");
    expect(root.querySelector(".own-reward .code")!.textContent).toBe('w.pay_for("0.02 * length(s.bvx[i], s.bvy[i])")\nw.train()\n');
    expect(control<HTMLSelectElement>("own-measure").value).toBe("ball_speed");
  });

  it("is checked by the kernel as one types, and trains only with what is right", async () => {
    await type("s.bvx");
    expect(control<HTMLSelectElement>("own-measure").value).toBe("");
    expect(control("own-train").disabled).toBe(true);
    answer("'s.bvx' is not a number.");
    expect([said(), line().getAttribute("aria-invalid"), control("own-train").disabled]).toEqual(["'s.bvx' is not a number.", "true", true]);
    await type("s.bvx[i]");
    checked("s.bvx", "an answer that came late");
    expect(control("own-train").disabled).toBe(true);
    answer("");
    expect([said(), line().getAttribute("aria-invalid"), control("own-train").disabled]).toEqual(["This line is valid.", null, false]);
    control("own-train").click();
    await settle();
    expect(model.sentOf("PAY_FOR")).toEqual([{ type: "PAY_FOR", line: "s.bvx[i]" }]);
    expect(model.sentOf("START_TRAINING")).toHaveLength(1);
  });

  it("leaves it to the kernel to begin again where training runs, and can be removed", async () => {
    model.set("status", "training");
    expect(control("own-remove").hidden).toBe(true);
    await type("s.bvy[i]");
    answer("");
    control("own-train").click();
    await settle();
    expect(model.sentOf("START_TRAINING")).toHaveLength(0);
    const worker = FakeWorker.all[0]!;
    const { id } = worker.of("DRILL").at(-1)!;
    worker.say({ type: "SCORES", id, episodes: [{ winner: 1, decisions: 1, after: [[1], [0]], before: [[0], [0]] }] } as unknown as FromWorker);
    model.set("drill", paying("s.bvy[i]")); // of other terms than the games so far
    await settle();
    expect(root.querySelector('[data-control="weight-own_reward"]')).not.toBeNull();
    expect(control("own-remove").hidden).toBe(false);
    answer("");
    expect([said(), control("own-train").disabled]).toEqual(["This line is part of the reward. Its weight is with the others.", true]);
    control("own-remove").click();
    expect(model.sentOf("PAY_FOR").at(-1)).toEqual({ type: "PAY_FOR", line: "" });
    model.set("drill", { spec, javascript: "return {}" });
    answer("");
    expect([said(), control("own-train").disabled, control("own-remove").hidden]).toEqual(["This line is valid.", false, true]);
  });
});
