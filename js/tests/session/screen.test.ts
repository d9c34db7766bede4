// @vitest-environment happy-dom
/** The show of a Gymnasium environment on the page: pictures drawn, acknowledged while somebody looks, and what a person steers. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { DrillTrait, KernelToPage, PageToKernel } from "../../contract/protocol";
import { FakeModel, FakeWorker, installBrowser, mount, settle, spec } from "../harness/fakes";

const world: DrillTrait["spec"] = {
  ...spec,
  name: "gym:CartPole-v1",
  sides: 1,
  tick_rate: 50,
  actions: [],
  keys: {},
  baselines: [],
  world: [0, 0, 4, 3],
  pictures: true,
};
const frame = (tick: number, more = {}): KernelToPage => ({ type: "FRAME", tick, score: [tick, tick], version: 2, playing: true, events: [], ...more });
const jpeg = [new DataView(new ArrayBuffer(8))];

beforeAll(() => {
  installBrowser();
  vi.stubGlobal("createImageBitmap", () => Promise.resolve({ width: 600, height: 400, close: () => {} }));
});

async function show(): Promise<{ model: FakeModel; root: HTMLElement; end: () => void }> {
  const model = new FakeModel({ drill: { spec: world, javascript: "" }, controls: ["transport", "training", "status"] });
  return { model, ...(await mount(model)) };
}

async function arrive(model: FakeModel, message: KernelToPage): Promise<void> {
  model.fire("msg:custom", message, jpeg);
  await settle();
}

describe("a show that the kernel plays", () => {
  it("draws pictures, tells how it stands and asks for the next", async () => {
    const { model, root, end } = await show();
    expect(root.dataset.renderer).toBe("canvas2d");
    expect(FakeWorker.all.flatMap((worker) => worker.of("DRILL"))).toEqual([]);
    await arrive(model, frame(7));
    expect([root.dataset.tick, root.dataset.version, root.dataset.score]).toEqual(["7", "2", "7-7"]);
    expect(root.style.getPropertyValue("--aspect")).toBe("1.5");
    expect(model.sentOf("FRAME_SHOWN")).toEqual([{ type: "FRAME_SHOWN", tick: 7 }]);
    end();
  });

  it("asks for none while the tab is hidden, and for one when it is seen again", async () => {
    const { model, end } = await show();
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    document.dispatchEvent(new Event("visibilitychange"));
    await settle();
    await arrive(model, frame(1));
    expect(model.sentOf("FRAME_SHOWN")).toEqual([]);
    hidden.mockReturnValue(false);
    document.dispatchEvent(new Event("visibilitychange"));
    await settle();
    expect(model.sentOf("FRAME_SHOWN")).toHaveLength(1);
    end();
  });

  it("says so where a picture cannot be read, and continues", async () => {
    const { model, root, end } = await show();
    vi.stubGlobal("createImageBitmap", () => Promise.reject(new Error("no JPEG")));
    await arrive(model, frame(3));
    vi.stubGlobal("createImageBitmap", () => Promise.resolve({ width: 600, height: 400, close: () => {} }));
    expect(root.textContent).toContain("A frame of the match could not be read: no JPEG");
    expect(model.sentOf("FRAME_SHOWN")).toHaveLength(1);
    end();
  });

  it("offers what works without rules", async () => {
    const { model, root, end } = await show();
    const named = (name: string) => root.querySelector<HTMLElement>(`[aria-label="${name}"]`)!;
    const step: PageToKernel = { type: "STEP", unit: "tick", count: 1 };
    named("Step").click();
    await settle();
    expect(model.sentOf("STEP")).toEqual([step]);
    expect(model.get("show").playing).toBe(false);
    for (const name of ["Save replay", "Save GIF (last 10 s)"]) expect(named(name).hidden).toBe(true);
    expect([named("Step decision"), named("Next goal")]).toEqual([null, null]);
    expect(root.querySelectorAll("[data-control=step]")).toHaveLength(1);
    expect(named("Save policy").hidden).toBe(false);
    expect(root.querySelector<HTMLElement>(".hint")!.hidden).toBe(true);
    expect(named("Play against it").hidden).toBe(true);
    const playing = () => ["Play", "Pause", "Step", "Speed"].map((name) => (named(name) as HTMLButtonElement).disabled);
    expect(playing()).toEqual([false, false, false, false]);
    model.fire("comm:close");
    expect(playing(), "which a kernel does").toEqual([true, true, true, true]);
    end();
  });
});
