/** Leagues in runs that browsers kept for pages of every released version, and for today's: tests/formats. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decode } from "../../trainer/files/policy_file";
import { readState } from "../../trainer/league/league_file";

const FORMATS = "tests/formats";
const releases = readdirSync(FORMATS).filter((name) => /^\d/.test(name));

test.each([".", ...releases])("one of tests/formats/%s is read", async (folder) => {
  const { run } = JSON.parse(readFileSync(`${FORMATS}/${folder}/kept.json`, "utf-8")) as { run: { file: string } };
  const { state, weights } = await decode(new Uint8Array(Buffer.from(run.file, "base64")));
  const found = readState(state, 2, weights.length)!;
  expect(found.snapshots.length).toBeGreaterThan(0);
  expect(found.snapshots.at(-1)!.weights).toHaveLength(weights.length);
});

test("results of the reference that no matches give are refused, as in Python", async () => {
  const { run } = JSON.parse(readFileSync(`${FORMATS}/kept.json`, "utf-8")) as { run: { file: string } };
  const { state, weights } = await decode(new Uint8Array(Buffer.from(run.file, "base64")));
  const notes = JSON.parse(new TextDecoder().decode(state["train.league.notes"]!.data as Uint8Array));
  for (const wrong of [{ matches: [-1, -1] }, { matches: [0, 0] }, { points: [1e9, 1e9] }, { points: [2 ** 53, 2 ** 53], matches: [2 ** 53, 2 ** 53] }]) {
    const told = new TextEncoder().encode(JSON.stringify({ ...notes, reference: { ...notes.reference, ...wrong } }));
    const hostile = { ...state, "train.league.notes": { ...state["train.league.notes"]!, data: told, shape: [told.length] } };
    expect(() => readState(hostile as typeof state, 2, weights.length)).toThrow("did not meet the 2 pinned opponents");
  }
});
