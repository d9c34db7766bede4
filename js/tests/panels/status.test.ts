// @vitest-environment happy-dom
/** The sentence on what training does, and what it has reached. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { beatenAt } from "../../panels/status/milestones";
import { forgets, SENTENCES, sentenceOf } from "../../panels/status/sentence";
import { FakeModel, FakeWorker, installBrowser, mount, row, settle } from "../harness/fakes";

describe("the sentence", () => {
  it("counts practice games and decisions while it trains", () => {
    expect(sentenceOf("training", "training on the CPU", 1024, undefined)).toBe("Playing 1,024 practice games at once.");
    const rate = { agent_steps: 1, agent_steps_per_second: 315_234 };
    expect(sentenceOf("training", "", 1024, rate)).toBe("Playing 1,024 practice games at once: 315,000 decisions a second.");
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
    expect(forgets("stopped", { schema }, { learning_rate: 1 }, 3268)).toBe("");
    expect(forgets("training", { schema }, { hidden_sizes: "32" }, 3268)).toBe("");
    expect(forgets("idle", { schema }, { hidden_sizes: "32" }, 0)).toBe("");
  });
});

describe("milestones", () => {
  let model: FakeModel;
  let root: HTMLElement;
  let end: () => void;
  beforeAll(installBrowser);
  beforeEach(async () => {
    model = new FakeModel();
    ({ root, end } = await mount(model));
  });
  afterEach(() => end());
  const told = () => [...root.querySelectorAll<HTMLElement>(".milestone")].filter(({ hidden }) => !hidden).map(({ textContent }) => textContent);
  const goal = async (version: number) => {
    const id = FakeWorker.all[0]!.of("DRILL").at(-1)!.id;
    const events = [{ kind: "goal" as const, tick: 9, side: 0, version }];
    FakeWorker.all[0]!.say({ type: "STATE", id, tick: 9, score: [1, 0], version, fps: 60, playing: true, events, probabilities: [], value: 0 });
    await settle();
  };

  it("keep their place and appear with their times; an untrained goal is none", async () => {
    expect(told()).toEqual(["first goal –:––", "beats the chaser –:––"]);
    await goal(0);
    expect(told()[0]).toBe("first goal –:––");
    model.set("status", "training");
    model.set("metrics", row(10, { seconds: 11.4, win_rate_ema: 0.2, win_share: 0.2 }));
    await goal(40);
    model.set("metrics", row(20, { seconds: 24.2, win_rate_ema: 0.61, win_share: 0.6 }));
    model.set("metrics", row(30, { seconds: 31, win_rate_ema: 0.8, win_share: 0.8 }));
    expect(told()).toEqual(["first goal 0:11", "beats the chaser 0:24"]);
  });

  it("are read from the history where the page came later", () => {
    const won = (seconds: number, win_rate_ema: number, win_share: number) => row(seconds, { seconds, win_rate_ema, win_share });
    expect(beatenAt([won(3, 0.5, 0.5), won(4, 0.51, 0.5)])).toBe(4);
    expect(beatenAt([won(3, 1, 0.01), won(4, 1, 0.19), won(5, 0.9, 0.2)]), "one win and many draws").toBe(5);
    expect(beatenAt([row(1, { seconds: 3 })])).toBeNull();
    expect(beatenAt([row(1, { seconds: 26, win_rate_ema: 0.99, win_share: 0.9 })]), "a policy from a file").toBeUndefined();
  });
});
