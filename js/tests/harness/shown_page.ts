/** A page with one widget, all of its panels built, as a person and the show's worker meet it. */
import { afterEach, beforeAll, beforeEach } from "vitest";
import type { FromWorker, ToWorker } from "../../contract/protocol";
import widget from "../../page";
import { FakeModel, FakeWorker, installBrowser, openAllTabs, settle } from "./fakes";

export const STATE = { tick: 120, score: [2, 1] as [number, number], version: 5, fps: 59.6, playing: true, events: [], probabilities: [], value: 0 };
export const SNAPSHOT = {
  tick: 500,
  score: [3, 2] as [number, number],
  version: 4,
  state: new ArrayBuffer(8),
  rules_hash: "rules",
  seed: 0,
  rng: 1,
  phase: 0,
  rest: 0,
};

export class ShownPage {
  model = new FakeModel();
  root!: HTMLElement;
  id = ""; // of the widget, in messages to the worker
  private ends: (() => void)[] = [];

  /** In the place of what is shown. */
  open(model = new FakeModel()): void {
    this.close();
    this.model = model;
    const { initialize, render } = widget();
    const el = document.createElement("div");
    document.body.append(el);
    const destroy = initialize({ model });
    this.ends = [render({ model, el }), destroy];
    this.root = el.querySelector<HTMLElement>(".dshq-widget")!;
    openAllTabs(this.root);
  }

  /** The same, and the show has begun. */
  async begin(model?: FakeModel): Promise<void> {
    this.open(model);
    await settle();
    this.id = this.worker.of("DRILL").at(-1)!.id;
  }

  close(): void {
    for (const end of this.ends.splice(0)) end();
  }

  get worker(): FakeWorker {
    return FakeWorker.all[0]!;
  }

  /** What the worker has heard of one kind. */
  of<T extends ToWorker["type"]>(type: T): Extract<ToWorker, { type: T }>[] {
    return this.worker.of(type);
  }

  /** All that it has heard, without the widget's id. */
  get heard(): object[] {
    return this.worker.received.map(({ id: _, ...message }) => message);
  }

  /** The worker says something of this widget. */
  say(message: { type: FromWorker["type"] } & Record<string, unknown>): void {
    this.worker.say({ ...message, id: this.id } as FromWorker);
  }

  /** It reports the match, and the page shows it. */
  async reports(change: object = {}): Promise<void> {
    this.say({ type: "STATE", ...STATE, ...change });
    await settle();
  }

  readonly find = <T extends HTMLElement = HTMLElement>(selector: string): T => this.root.querySelector<T>(selector)!;

  readonly texts = (selector: string): (string | null)[] => [...this.root.querySelectorAll(selector)].map(({ textContent }) => textContent);

  /** A control by its accessible name. */
  readonly control = <T extends HTMLElement = HTMLButtonElement>(name: string): T => this.find<T>(`[aria-label="${name}"]`);

  /** Types or chooses a value. */
  readonly change = <T extends HTMLInputElement | HTMLSelectElement>(name: string, value: string): T => {
    const element = this.control<T>(name);
    element.value = value;
    element.dispatchEvent(new Event("change"));
    return element;
  };

  /** A key goes down or up on a control. */
  press(name: string, code: string, kind: "keydown" | "keyup" = "keydown"): void {
    this.control<HTMLElement>(name).dispatchEvent(new KeyboardEvent(kind, { code, bubbles: true }));
  }
}

/** A page for the tests of a file: each finds it just opened, and its worker has heard nothing since. */
export function shownPage(): ShownPage {
  const page = new ShownPage();
  beforeAll(installBrowser);
  beforeEach(async () => {
    await page.begin();
    page.worker.received.length = 0;
  });
  afterEach(() => {
    page.close();
    document.body.replaceChildren();
    document.body.removeAttribute("data-jp-theme-light");
  });
  return page;
}
