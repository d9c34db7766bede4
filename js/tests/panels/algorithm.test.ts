// @vitest-environment happy-dom
/** The panel that an algorithm declares: a tab of its title, values with their units, and its curves. */
import { afterEach, beforeAll, expect, it } from "vitest";
import type { AlgorithmSettings } from "../../contract/protocol";
import { config, FakeModel, installBrowser, mount, openAllTabs, row } from "../harness/fakes";

beforeAll(installBrowser);
afterEach(() => document.body.replaceChildren());

const mine: AlgorithmSettings = {
  name: "mine",
  values: {},
  schema: {},
  curves: [{ title: "Error", help: "Should fall.", lines: { error: "error" }, format: "number", colour: 1, zero: false, log: false }],
  panel: {
    title: "Baseline",
    help: "How well it predicts.",
    rows: [
      { key: "error", name: "Mean error", unit: "reward", help: "Of the baseline." },
      { key: "share", name: "Explained", unit: "share", help: "" },
      { key: "bare", name: "Bare", unit: "", help: "" },
    ],
  },
};

async function open(algorithm: AlgorithmSettings) {
  const model = new FakeModel({ config: { ...config, algorithm } });
  const { root, end } = await mount(model);
  openAllTabs(root);
  const tab = root.querySelector<HTMLElement>("[data-control=tab-algorithm]")!;
  const texts = (what: string) => [...root.querySelectorAll(`section.algorithm ${what}`)].map(({ textContent }) => textContent);
  return { model, tab, texts, end };
}

it("has its title as the tab's, its metrics as rows and its curves", async () => {
  const { model, tab, texts, end } = await open(mine);
  expect([tab.hidden, tab.textContent]).toEqual([false, "Baseline"]);
  expect(texts("> .help")).toEqual(["How well it predicts."]);
  expect(texts("dt")).toEqual(["Mean error", "Explained", "Bare"]);
  expect(texts("dd")).toEqual(["–", "–", "–"]);
  expect(texts("figure .title")).toEqual(["Error"]);
  model.set("metrics", row(64, { error: 0.25, share: 0.5, bare: 12_300 }));
  expect(texts("dd")).toEqual(["0.25 reward", "50%", "12.3k"]);
  end();
});

it("is not there where the algorithm declares none", async () => {
  const { tab, texts, end } = await open({ ...mine, panel: null });
  expect(tab.hidden).toBe(true);
  expect(texts("dt")).toEqual([]);
  end();
});
