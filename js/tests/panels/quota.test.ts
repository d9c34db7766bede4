// @vitest-environment happy-dom
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { QuotaTrait } from "../../contract/protocol";
import { FakeModel, installBrowser, mount, row } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let end: () => void;

async function open(seat: QuotaTrait): Promise<void> {
  model = new FakeModel({ seat });
  ({ root, end } = await mount(model));
}
afterEach(() => {
  end();
  document.body.replaceChildren();
});

const resume = () => root.querySelector<HTMLButtonElement>(".seat .before button")!;
const control = (name: string) => root.querySelector<HTMLButtonElement>(`.seat [aria-label="${name}"]`)!;
const shown = (selector: string) => {
  const element = root.querySelector<HTMLElement>(`.seat${selector}`)!;
  return !element.closest("[hidden]");
};

describe("a place on a shared server", () => {
  it("is not there on one's own machine", async () => {
    await open({});
    expect(root.querySelector(".seat")).toBeNull();
  });

  it("counts the training time down and takes more of it", async () => {
    await open({ minutes: 30, left: 1799 });
    expect(control("Training time left").textContent).toBe("29:59");
    expect(control("Training time left").hasAttribute("data-short")).toBe(false);
    model.set("seat", { minutes: 30, left: 61 });
    expect(control("Training time left").textContent).toBe("1:01");
    expect(control("Training time left").hasAttribute("data-short")).toBe(true);
    expect(control("+30 min").textContent).toBe("+30 min");
    control("+30 min").click();
    expect(model.sentOf("EXTEND_TRAINING")).toHaveLength(1);
    expect([shown(" .before"), shown(" .send")]).toEqual([false, false]);
  });

  it("offers the run from before, by the time of this page's clock", async () => {
    const saved = new Date();
    saved.setHours(14, 2, 30);
    await open({ minutes: 0, left: 0, earlier: { saved_at: saved.getTime() / 1000, version: 41, step: 3_200_000 } });
    expect(shown(" .allowance")).toBe(false);
    expect(resume().textContent).toMatch(/^Resume run from (2:02\sPM|14:02)/u);
    expect(resume().getAttribute("aria-label")).toBe(resume().textContent);
    expect(root.querySelector(".before .caption")!.textContent).toBe("version 41, 3.2M agent steps");
    resume().click();
    expect(model.sentOf("RESUME_RUN")).toHaveLength(1);
    saved.setDate(saved.getDate() - 1);
    model.set("seat", { earlier: { saved_at: saved.getTime() / 1000, version: 41, step: 3_200_000 } });
    expect(resume().textContent).toContain(String(saved.getDate()));
    model.set("seat", { earlier: null });
    expect(shown("")).toBe(false);
  });

  it("stands wherever one can train, also where a lesson names its panels", async () => {
    await open({ minutes: 30, left: 1800 });
    model.set("controls", ["training"]);
    expect(shown("")).toBe(true);
    model.set("controls", ["transport"]);
    expect(root.querySelector(".seat")).toBeNull();
  });

  it("submits what was learned, once at a time, and tells what became of it", async () => {
    await open({ league: true, sent: { state: "", text: "" } });
    expect(control("Submit").disabled).toBe(true);
    model.set("policy", { ...model.get("policy")!, version: 3 });
    model.set("metrics", row(1)); // comes with the first version
    expect(control("Submit").disabled).toBe(false);
    control("Submit").click();
    expect(model.sentOf("SUBMIT_POLICY")).toHaveLength(1);
    const answer = root.querySelector<HTMLElement>(".answer")!;
    model.set("seat", { league: true, sent: { state: "sending", text: "" } });
    expect([control("Submit").disabled, answer.textContent]).toEqual([true, "Sending…"]);
    model.set("seat", { league: true, sent: { state: "failed", text: "<b>no round is open</b>" } });
    expect([answer.textContent, answer.dataset.state, answer.querySelector("b")]).toEqual(["<b>no round is open</b>", "failed", null]);
  });
});
