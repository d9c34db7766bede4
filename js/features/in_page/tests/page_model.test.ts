import { describe, expect, it, vi } from "vitest";
import type { Model, Traits } from "../../../contract/model";
import type { PageToKernel } from "../../../contract/protocol";
import { type OwnTraits, PageModel } from "../page_model";

type Handler = (...values: never[]) => void;

class Kernel implements Model {
  readonly sent: PageToKernel[] = [];
  private readonly handlers = new Map<string, Set<Handler>>();

  constructor(readonly traits: Partial<Traits>) {}

  get<K extends keyof Traits>(name: K): Traits[K] {
    return this.traits[name] as Traits[K];
  }
  set<K extends keyof Traits>(name: K, value: Traits[K]): void {
    this.traits[name] = value;
    this.emit(`change:${name}`);
  }
  save_changes(): void {}
  send(message: PageToKernel): void {
    this.sent.push(message);
  }
  on(event: string, handler: Handler): void {
    this.handlers.set(event, (this.handlers.get(event) ?? new Set()).add(handler));
  }
  off(event: string, handler: Handler): void {
    this.handlers.get(event)?.delete(handler);
  }
  emit(event: string): void {
    for (const handler of this.handlers.get(event) ?? []) handler();
  }
}

const OWN = { policy: null, status: "idle", status_text: "", error: "", paused: false, metrics: {}, league: [], scenes: [], seat: {}, seq: 0 };
const own = () => ({ ...OWN, config: { values: {}, schema: {}, defaults: {}, presets: {} } }) as unknown as OwnTraits;

describe("the model of a page that may train by itself", () => {
  it("is the kernel's until the page takes over", () => {
    const kernel = new Kernel({ status: "training", seq: 4 });
    const model = new PageModel(kernel);
    const heard = vi.fn();
    model.on("change:status", heard);
    kernel.set("status", "stopped");
    expect(heard).toHaveBeenCalledTimes(1);
    expect(model.get("status")).toBe("stopped");
    model.send({ type: "STOP_TRAINING" });
    expect(kernel.sent).toEqual([{ type: "STOP_TRAINING" }]);
    expect(model.trainedBy).toBe("kernel");
  });

  it("keeps the training's traits to itself afterwards, and leaves the show's where they are", () => {
    const kernel = new Kernel({ status: "training", controls: null });
    const model = new PageModel(kernel);
    const [status, controls] = [vi.fn(), vi.fn()];
    model.on("change:status", status);
    model.on("change:controls", controls);
    const received: PageToKernel[] = [];
    expect(model.byItself).toBe(false);
    model.takeOver(own(), (message) => received.push(message) > 0);
    expect(model.trainedBy).toBe("page");
    expect(model.byItself).toBe(true);
    expect(status).toHaveBeenCalledTimes(1);

    kernel.set("status", "error"); // what the kernel says of its own training is not this page's
    expect(status).toHaveBeenCalledTimes(1);
    expect(model.get("status")).toBe("idle");
    model.set("status", "training");
    expect(status).toHaveBeenCalledTimes(2);
    expect(kernel.traits.status).toBe("error");

    model.set("controls", ["charts"]);
    expect(controls).toHaveBeenCalledTimes(1);
    expect(kernel.traits.controls).toEqual(["charts"]);
    model.send({ type: "STOP_TRAINING" });
    expect(received).toEqual([{ type: "STOP_TRAINING" }]);
    expect(kernel.sent).toEqual([]);
  });

  it("forgets a listener that leaves", () => {
    const kernel = new Kernel({ status: "idle" });
    const model = new PageModel(kernel);
    const heard = vi.fn();
    model.on("change:status", heard);
    model.off("change:status", heard);
    kernel.set("status", "training");
    model.takeOver(own(), () => true);
    model.set("status", "error");
    expect(heard).not.toHaveBeenCalled();
  });
});
