// @vitest-environment happy-dom
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Traits } from "../../../contract/model";
import type { FromWorker, KernelToPage, PageToKernel } from "../../../contract/protocol";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, openTab, settle, spec } from "../../../tests/harness/fakes";
import { soon } from "../../../tests/harness/soon";
import { HEIGHT, MADE_BYTES, Pictures, SEEN_BYTES, WIDTH } from "../frames";

beforeAll(installBrowser);

type Sent<T extends PageToKernel["type"]> = Extract<PageToKernel, { type: T }>;
type Unaddressed = Record<string, unknown> & { type: KernelToPage["type"] };

const dreamer: Traits["config"] = { ...config, algorithm: { name: "dreamer", elsewhere: true, values: {}, schema: {} } };
const STEPS = 15;

let model: FakeModel;
let root: HTMLElement;
let end: () => void;
let id: string;

const worker = () => FakeWorker.all[0]!;
const control = <T extends HTMLElement = HTMLButtonElement>(name: string) => root.querySelector<T>(`[aria-label="${name}"]`)!;
const picture = (name: string) => control<HTMLCanvasElement>(name);
const sent = <T extends PageToKernel["type"]>(type: T) => model.sentOf(type) as Sent<T>[];
const ahead = () =>
  worker()
    .of("AHEAD")
    .filter((message) => message.id === id);
const panel = () => root.querySelector<HTMLElement>(".dream")!;

async function say(message: object): Promise<void> {
  worker().say({ id, ...message } as FromWorker);
  await settle();
}
async function told(message: Unaddressed, bytes?: Uint8Array): Promise<void> {
  const { page, plan } = sent("DECIDE").at(-1)!;
  model.fire("msg:custom", { page, plan, ...message }, bytes ? [new DataView(bytes.buffer)] : []);
  await settle();
}
async function wants(plan = 1): Promise<void> {
  await say({ type: "WANTED", plan, tick: 0, state: "00", repeat: 4, opponent: "chaser" });
}
async function toggle(open: boolean): Promise<void> {
  openTab(root, open ? "dream" : "learn");
  await settle();
}
/** Decisions at ticks 0, 4, ... with frames. */
async function decisions(first: number, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, k) => [4 * (first + k), 1, 2, 0]);
  const bytes = new Uint8Array(count * (SEEN_BYTES + MADE_BYTES)).fill(0xff);
  await told({ type: "DECISIONS", version: 5, decisions: rows, surprises: rows.map(([tick], k) => [tick, 1 + k]) }, bytes);
}
async function imagined(tick: number, known: number): Promise<void> {
  const numbers = { reward: Array<number>(STEPS).fill(0.1), continues: Array<number>(STEPS).fill(1) };
  const ticks = Array.from({ length: known }, (_, k) => tick + 4 * (k + 1));
  await told({ type: "IMAGINED", tick, ticks, stride: 4, ...numbers }, new Uint8Array(SEEN_BYTES + (STEPS + 1) * MADE_BYTES + known * SEEN_BYTES));
}
const drawn = (names: string) => [...root.querySelectorAll(`[aria-label^="${names}"]`)].filter((canvas) => !canvas.hasAttribute("data-empty")).length;

beforeEach(async () => {
  model = new FakeModel({ drill: { spec, javascript: "return {}" }, config: dreamer });
  model.get("show").mode = "sandbox";
  ({ root, end } = await mount(model));
  id = worker().received.findLast((message) => message.type === "DRILL")!.id;
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

describe("a policy that plays in the kernel", () => {
  it("is announced to the worker, and asked for what the worker wants", async () => {
    expect(
      worker()
        .of("PLAN_AHEAD")
        .findLast((message) => message.id === id),
    ).toMatchObject({ on: true });
    expect(sent("DECIDE")).toEqual([]);
    await wants();
    const [asked] = sent("DECIDE");
    expect(asked).toMatchObject({ plan: 1, watch: false, start: { state: "00", tick: 0, repeat: 4, opponent: "chaser", at_reset: false } });
    expect(asked!.count).toBe(18); // 0.6 s of 30 decisions a second
  });

  it("is asked for more in time, and for no more than that", async () => {
    await wants();
    await told({ type: "DECISIONS", version: 5, decisions: Array.from({ length: 18 }, (_, k) => [4 * k, 1, 2, 0]), surprises: [] });
    expect(ahead().at(-1)).toMatchObject({ plan: 1, version: 5 });
    await say({ type: "DECIDED", plan: 1, tick: 8, left: 15 });
    expect(sent("DECIDE")).toHaveLength(1);
    await say({ type: "DECIDED", plan: 1, tick: 20, left: 12 });
    expect(sent("DECIDE").at(-1)).toMatchObject({ count: 6, start: null });
    await say({ type: "DECIDED", plan: 1, tick: 24, left: 11 });
    expect(sent("DECIDE")).toHaveLength(2); // six are under way
  });

  it("does not hear answers to other pages and to plans that are void", async () => {
    await wants();
    await told({ type: "DECISIONS", page: -1, version: 5, decisions: [[0, 1, 2, 0]], surprises: [] });
    await told({ type: "DECISIONS", plan: 0, version: 5, decisions: [[0, 1, 2, 0]], surprises: [] });
    expect(ahead()).toEqual([]);
    const before = worker().of("PLAN_AHEAD").length;
    await told({ type: "DECIDE_AGAIN", plan: 0 });
    expect(worker().of("PLAN_AHEAD")).toHaveLength(before);
    await told({ type: "DECIDE_AGAIN", page: null, plan: null });
    expect(worker().of("PLAN_AHEAD")).toHaveLength(before + 1);
  });

  it("hides what needs a network on the page", () => {
    openAllTabs(root);
    expect(panel()).not.toBeNull();
    expect(root.querySelector(".mind, .futures, .ghost, .coach")).toBeNull();
    expect([...control<HTMLSelectElement>("Mode").options].map(({ text }) => text)).toEqual(["You vs opponent", "AI vs opponent"]);
    expect([...control<HTMLSelectElement>("Swap").options].map(({ value }) => value)).toEqual(["now", "at_reset"]);
  });
});

describe("the panel Dream", () => {
  it("is not there for other algorithms", async () => {
    const other = await mount(new FakeModel({ drill: { spec, javascript: "return {}" } }));
    expect(other.root.querySelector(".dream")).toBeNull();
    other.end();
  });

  it("asks for frames while it is open, and only then", async () => {
    await wants();
    await toggle(true);
    expect(sent("DREAM")).toHaveLength(1);
    await say({ type: "DECIDED", plan: 1, tick: 0, left: 0 });
    await told({ type: "DECISIONS", version: 5, decisions: Array.from({ length: 18 }, (_, k) => [4 * k, 1, 2, 0]), surprises: [] });
    await say({ type: "DECIDED", plan: 1, tick: 40, left: 2 });
    expect(sent("DECIDE").at(-1)!.watch).toBe(true);
    await toggle(false);
    await say({ type: "DECIDED", plan: 1, tick: 44, left: 1 });
    await wants(2);
    expect(sent("DECIDE").at(-1)!.watch).toBe(false);
  });

  it("shows a decision's frames once the match has come there", async () => {
    await wants();
    await toggle(true);
    await decisions(0, 3);
    expect(picture("What it sees").hasAttribute("data-empty")).toBe(true);
    await say({ type: "DECIDED", plan: 1, tick: 4, left: 1 });
    await soon(() => expect(picture("What it sees").hasAttribute("data-empty")).toBe(false));
    expect(picture("Its reconstruction").hasAttribute("data-empty")).toBe(false);
    expect(root.querySelector(".surprise figcaption")!.textContent).toBe("Surprise 2.00 nats");
    expect(root.querySelector(".surprise polyline")!.getAttribute("points")!.split(" ")).toHaveLength(2);
  });

  it("fills in what came below what was imagined, as far as the match has come", async () => {
    await wants();
    await toggle(true);
    await imagined(0, 4);
    expect([drawn("Imagined, step"), drawn("What came, step")]).toEqual([STEPS, 0]);
    await say({ type: "DECIDED", plan: 1, tick: 8, left: 4 });
    await imagined(8, 2);
    await decisions(5, 15);
    await say({ type: "DECIDED", plan: 1, tick: 20, left: 4 });
    await soon(() => expect(drawn("What came, step")).toBe(3));
    expect(root.querySelector(".film")!.textContent).toContain("a reward of +1.50, and the game to continue with 100%");
    await say({ type: "DECIDED", plan: 1, tick: 68, left: 0 });
    await soon(() => expect(drawn("What came, step")).toBe(STEPS));
  });

  it("ends the film where the game ended", async () => {
    await wants();
    await toggle(true);
    await imagined(0, 2);
    await decisions(30, 2); // after a rest
    await say({ type: "DECIDED", plan: 1, tick: 124, left: 0 });
    await soon(() => expect(root.querySelector(".film")!.textContent).toContain("The game ended here."));
    expect(drawn("What came, step")).toBe(2);
  });

  it("lets a person play inside, and brings the match back", async () => {
    await wants();
    await toggle(true);
    control("Play inside the dream").click();
    await settle();
    expect(model.get("show").playing).toBe(false);
    expect(sent("ENTER_DREAM")).toHaveLength(1);
    await told({ type: "DREAMT", reward: 0, continues: 1 }, new Uint8Array(MADE_BYTES));
    expect(drawn("The dream")).toBe(1);
    const screen = control<HTMLElement>("Dream to play in");
    screen.dispatchEvent(new KeyboardEvent("keydown", { code: "KeyW", bubbles: true }));
    await soon(() => expect(sent("DREAM_ACT").at(-1)).toMatchObject({ action: 2 })); // forward, no dash
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(sent("DREAM_ACT")).toHaveLength(2); // no more before an answer
    await told({ type: "DREAMT", reward: 0.5, continues: 0.25 }, new Uint8Array(MADE_BYTES));
    expect(root.querySelector(".dreaming dl")!.textContent).toBe("Steps1Expected reward+0.50So far+0.50Game continues25%");
    screen.dispatchEvent(new KeyboardEvent("keydown", { code: "Escape", bubbles: true }));
    await settle();
    expect(model.get("show").playing).toBe(true);
    expect(root.querySelector<HTMLElement>(".dreaming")!.hidden).toBe(true);
    model.fire("comm:close");
    expect([control("Play inside the dream").disabled, control("Imagine again").disabled], "nobody dreams").toEqual([true, true]);
  });
});

describe("pictures", () => {
  it("are read as the kernel packs them", () => {
    const row = new Uint8Array(SEEN_BYTES + MADE_BYTES);
    row[0] = 0b11_10_01_00;
    row[SEEN_BYTES] = 0xf0;
    const pictures = new Pictures(row.buffer);
    const [seen, made] = [pictures.seen(), pictures.made()];
    expect([seen.length, made.length]).toEqual([WIDTH * HEIGHT, WIDTH * HEIGHT]);
    expect([...seen.slice(0, 5)].map((shade) => Math.round(shade * 3))).toEqual([0, 1, 2, 3, 0]);
    expect([...made.slice(0, 3)]).toEqual([0, 1, 0]);
    expect(() => pictures.seen()).toThrow(RangeError);
  });
});

describe("a network of a person's own", () => {
  it("is asked for its decisions, and does not dream", async () => {
    end();
    model = new FakeModel({ drill: { spec, javascript: "return {}" }, config: { ...dreamer, algorithm: { ...dreamer.algorithm!, name: "ppo" } } });
    ({ root, end } = await mount(model));
    id = worker().received.findLast((message) => message.type === "DRILL")!.id;
    await wants();
    expect(sent("DECIDE")).toHaveLength(1);
    expect(worker().of("PLAN_AHEAD").at(-1)).toMatchObject({ id, on: true });
    expect(panel()).toBeNull();
  });
});
