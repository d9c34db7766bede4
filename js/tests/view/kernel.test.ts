// @vitest-environment happy-dom
/** The kernel as a page knows it: it greets, answers and reports, and notices that nobody is there. */
import { describe, expect, it, vi } from "vitest";
import { answerFile, FakeModel, settle } from "../harness/fakes";
import { SNAPSHOT, STATE, shownPage } from "../harness/shown_page";
import { soon } from "../harness/soon";

const page = shownPage();

describe("the kernel", () => {
  it("is greeted, and answered at most four times a second, for the newest message", async () => {
    expect(page.model.sentOf("HELLO")).toEqual([{ type: "HELLO", seq: 0 }]);
    page.model.set("seq", 1);
    expect(page.model.sentOf("ACK")).toEqual([{ type: "ACK", seq: 1 }]);
    page.model.set("seq", 2);
    page.model.set("seq", 3);
    expect(page.model.sentOf("ACK")).toHaveLength(1);
    await soon(() =>
      expect(page.model.sentOf("ACK")).toEqual([
        { type: "ACK", seq: 1 },
        { type: "ACK", seq: 3 },
      ]),
    );
  });

  it("hears of the show with its snapshots, at most once a second", async () => {
    for (let tick = 0; tick < 5; tick++) {
      page.say({ type: "STATE", ...STATE, tick });
      if (tick % 2 === 0) page.say({ type: "SNAPSHOT", ...SNAPSHOT });
    }
    await settle();
    expect(page.model.sentOf("PAGE_STATE")).toEqual([{ type: "PAGE_STATE", fps: 59.6, renderer: "webgpu", tick: 0, score: [2, 1], version: 5, visible: true }]);
  });

  it("is missed after six silent seconds of training, and welcomed back", () => {
    vi.useFakeTimers();
    try {
      page.open(new FakeModel({ status: "training", seq: 1 }));
      vi.advanceTimersByTime(5_000);
      expect(page.root.dataset.status).toBe("training");
      vi.advanceTimersByTime(3_000);
      expect(page.root.dataset.status).toBe("disconnected");
      expect(page.find(".banner").hidden).toBe(false);
      expect(page.find(".banner").textContent).toContain("The match continues with the last policy. Run the cell that makes the widget again");
      page.model.set("seq", 2);
      expect(page.root.dataset.status).toBe("training");
      expect(page.find(".banner").hidden).toBe(true);
      page.model.set("status", "idle");
      vi.advanceTimersByTime(60_000);
      expect(page.root.dataset.status, "an idle kernel has nothing to say").toBe("idle");
    } finally {
      vi.useRealTimers();
    }
  });

  it("takes with it what only it can do, and Undo waits for it", async () => {
    const shown = () => ["Train", "Pause learning", "Next update", "Forget everything"].map((name) => page.control(name).disabled);
    expect(shown()).toEqual([false, true, false, false]); // nothing is learned that could be paused
    page.model.set("policy", { ...page.model.get("policy")!, version: 40 });
    page.control("Forget everything").click();
    await settle();
    answerFile(page.model, "ball-v40.dshq");
    await settle();
    expect(page.find(".undo").hidden).toBe(false);
    page.model.set("status", "training");
    page.model.fire("comm:close");
    expect(shown()).toEqual([true, true, true, true]);
    expect(page.control("Train").title).toMatch(/^Needs a kernel\. Run the cell/);
    expect(page.find(".undo").hidden).toBe(true);
    page.model.set("status", "idle");
    expect(shown()).toEqual([false, true, false, false]);
    expect(page.find(".undo").hidden).toBe(false);
  });

  it("is known to be gone when ipywidgets marks the view", async () => {
    page.root.parentElement!.classList.add("jupyter-widgets-disconnected");
    await settle();
    expect(page.root.dataset.status).toBe("disconnected");
  });

  it("is known to be gone when Jupyter says so", () => {
    let tell: (sender: unknown, status: string) => void = () => undefined;
    const kernel = { statusChanged: { connect: (slot: typeof tell) => (tell = slot), disconnect: () => undefined } };
    const restarting = new FakeModel();
    Object.assign(restarting, { widget_manager: { kernel } });
    page.open(restarting);
    expect(page.root.dataset.status).toBe("idle");
    tell(null, "autorestarting");
    expect(page.root.dataset.status).toBe("disconnected");
  });

  it("is there again when Jupyter has connected anew and the kernel answers, also while nothing trains", () => {
    let tell: (sender: unknown, status: string) => void = () => undefined;
    const kernel = { connectionStatusChanged: { connect: (slot: typeof tell) => (tell = slot), disconnect: () => undefined } };
    const lost = Object.assign(new FakeModel(), { widget_manager: { kernel } });
    page.open(lost);
    tell(null, "disconnected");
    expect(page.root.dataset.status).toBe("disconnected");
    const greeted = lost.sentOf("HELLO").length;
    tell(null, "connecting");
    tell(null, "connected");
    expect(lost.sentOf("HELLO")).toHaveLength(greeted + 1);
    expect(page.root.dataset.status).toBe("disconnected");
    lost.fire("msg:custom", { type: "HISTORY", start: 0, rows: [] });
    expect(page.root.dataset.status).toBe("idle");
  });
});
