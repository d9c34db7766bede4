// @vitest-environment happy-dom
/** Every control has an id that stays, and the accessible name that docs/reference/settings.md gives it. */
import { afterEach, beforeAll, expect, it } from "vitest";
import type { Traits } from "../../contract/model";
import { CONTROLS } from "../../contract/tables";
import { config, FakeModel, FakeWorker, installBrowser, mount, openAllTabs, openTab, settle, spec } from "../harness/fakes";
import { featureControls } from "../harness/feature_controls";

beforeAll(installBrowser);

const seen = new Map<string, string>(); // ids and names that some page had
const anonymous: string[] = []; // controls without an id
const doubled: string[] = []; // ids that one page had twice

const WHAT = "button, input, select, textarea, summary, canvas[tabindex], [tabindex][role=application]";

/** What a screen reader says: of the attribute, or of the text. */
function nameOf(element: Element): string {
  return (element.getAttribute("aria-label") ?? element.querySelector(".heading")?.textContent ?? element.textContent ?? "").trim();
}

function note(root: ParentNode): void {
  const here = new Set<string>();
  for (const element of root.querySelectorAll<HTMLElement>(WHAT)) {
    const id = element.dataset.control;
    if (!id) anonymous.push(element.outerHTML);
    else {
      if (here.has(id)) doubled.push(id);
      here.add(id);
      seen.set(id, nameOf(element));
    }
  }
}

async function page(traits: Partial<Traits>, then: (root: HTMLElement, model: FakeModel) => void | Promise<void> = () => {}): Promise<void> {
  const model = new FakeModel(traits);
  const { root, end } = await mount(model);
  openAllTabs(root);
  await then(root, model);
  note(root);
  end();
  document.body.replaceChildren();
}

afterEach(() => document.body.replaceChildren());

it("of the page, whatever trains and wherever", async () => {
  const terms = [{ name: "near_ball", weight: 1, kind: "reward" as const, help: "" }];
  const drag = [{ name: "ball", x: "bx", y: "by", vx: "vx", vy: "vy", kind: "ball" as const, index: 0 }];
  const drill = { spec: { ...spec, terms, drag, hint: "Look." }, javascript: "return {}" };
  const seat = { minutes: 30, left: 100, earlier: { version: 3, step: 10, saved_at: 0 }, league: true };
  const traits = { drill, seat, start: null } as unknown as Partial<Traits>;
  await page(traits, async (root) => {
    const worker = FakeWorker.all[0]!;
    const { id } = worker.of("DRILL").at(-1)!;
    openTab(root, "mind");
    worker.say({ type: "OUTCOMES", id, player: 0, outcomes: [{ action: 0, probability: 1, value: 0, change: 0, ended: false, winner: 0 }] } as never);
    await settle();
  });

  const features = await featureControls();
  for (const { traits } of features) await page(traits({ drill, config }));

  await page({ drill }, (root) => root.querySelector<HTMLElement>("[data-control=challenge]")!.click());
  const panel = { title: "Baseline", help: "Of it.", rows: [] };
  await page({ config: { ...config, algorithm: { name: "mine", values: {}, schema: {}, panel } } });
  for (const { more } of features) if (more) note(more());

  expect(anonymous).toEqual([]);
  expect(doubled).toEqual([]);
  const names = Object.fromEntries([...seen].filter(([id]) => id in CONTROLS));
  const { slower: _s, faster: _f, time: _t, ...those } = CONTROLS; // of a page of the league: tests/browser/exports/test_league.py
  const { "challenge-again": _a, "challenge-share": _h, "challenge-leave": _l, ...here } = those; // once a match is over: screen.test.ts
  expect(names).toEqual(here);
  const others = Object.fromEntries([...seen].filter(([id]) => !(id in CONTROLS)));
  expect(others).toMatchObject({
    ...Object.assign({}, ...features.map(({ names }) => names)),
    learning_rate: "learning_rate",
    "tab-algorithm": "Baseline",
    "weight-near_ball": "Weight of near ball",
    "weight-near_ball-slider": "near ball, slider",
    "more-time": "+30 min",
    "touch-Space": "dash",
    "outcome-1": expect.stringContaining("100%"),
  });
  expect(others["resume-run"]).toMatch(/^Resume run from /);
});
