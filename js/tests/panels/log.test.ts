// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeModel, FakeWorker, installBrowser, mount, settle } from "../harness/fakes";

beforeAll(installBrowser);

let model: FakeModel;
let root: HTMLElement;
let id: string;
let close: () => void;

async function open(given = new FakeModel()): Promise<void> {
  model = given;
  ({ root, end: close } = await mount(model));
  id = worker().of("DRILL").at(-1)!.id;
}

const worker = () => FakeWorker.all[0]!;
const one = <T extends HTMLElement>(selector: string) => root.querySelector<T>(selector)!;
const all = (selector: string) => [...root.querySelectorAll(selector)].map((element) => element.textContent);
const state = { tick: 120, score: [2, 1] as [number, number], version: 412, fps: 60, playing: true, events: [], probabilities: [], value: 0 };
const unfold = (name: string) => {
  one<HTMLDetailsElement>(`details.${name}`).open = true;
  one(`details.${name}`).dispatchEvent(new Event("toggle"));
};

beforeEach(() => open());
afterEach(() => {
  close();
  document.body.replaceChildren();
});

describe("the event log", () => {
  it("lists what happened, newest first, and is silent to screen readers", async () => {
    unfold("log");
    const events = [{ kind: "goal" as const, tick: 7500, side: 1, version: 412 }];
    worker().say({ type: "STATE", id, ...state, events });
    await settle();
    model.set("config", { ...model.get("config"), values: { ...model.get("config").values, epochs: 3 } });
    model.fire("msg:custom", { type: "LOG", level: "warning", text: "training went back" });
    expect(all(".log .what")).toEqual(["Training went back.", "epochs: 1 → 3", "Orange scores (v412)."]);
    expect(all(".log .when").at(-1)).toBe("1:02");
    expect(one(".lines").getAttribute("role")).toBe("log");
    expect(one(".lines").getAttribute("aria-live")).toBe("off");
    expect(one<HTMLElement>(".notice").hidden).toBe(true); // the status line says it already
  });
});
