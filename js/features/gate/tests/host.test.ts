import { afterEach, expect, it } from "vitest";
import type { ToWorker } from "../../../contract/protocol";
import { HostPage } from "../../../tests/harness/host_page";
import { TOY } from "../../../tests/harness/toy_game";
import { SETTINGS, sureOf, TERRITORY } from "./territory";

const page = new HostPage();
afterEach(() => ["a", "b"].forEach((id) => void page.send({ type: "DISPOSE", id })));

it("tells what the gate said, after the state and only where there is a gate", async () => {
  const network = (id: string): ToWorker => {
    const { version, layers, activation } = sureOf(400);
    return { type: "POLICY", id, version, layers: [...layers], activation, data: new Float32Array(2 * 1201) };
  };
  const pass: ToWorker[] = ["a", "b"].map((id) => ({ type: "PAUSE", id }));
  page.send({ type: "GATE", id: "a", settings: SETTINGS }, network("a"), { ...TERRITORY, type: "DRILL", id: "a" });
  page.send({ ...TERRITORY, type: "DRILL", id: "b" }, network("b"), ...pass);
  for (const id of ["a", "b"]) page.send({ type: "STEP", id, unit: "decision", count: 2 });
  const { proposals } = await page.until("PROPOSALS", () => true);
  expect(new Set(proposals.map(({ tick }) => tick))).toEqual(new Set([0, 15]));
  await page.until("STATE", ({ tick }) => tick === 30, "b");
  expect(page.all("PROPOSALS", "b")).toEqual([]);
  page.send({ ...TOY, type: "DRILL", id: "b" }, { type: "GATE", id: "b", settings: SETTINGS });
  await page.until("ERROR", ({ text }) => text.startsWith("The gate judges spawns of the Territory Drill."), "b");
});
