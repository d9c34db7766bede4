import { beforeEach, describe, expect, it } from "vitest";
import type { LeagueRow, ShowEvent } from "../../contract/protocol";
import { CAPACITY, Journal } from "../../session/journal";
import { kernelLost } from "../../session/kernel/lost_kernel";

let clock: number;
let journal: Journal;
beforeEach(() => {
  clock = 1000;
  journal = new Journal(() => clock);
});

const happened = (kind: ShowEvent["kind"], tick: number, side = -1, version = 5): ShowEvent => ({ kind, tick, side, version });
const match = (events: ShowEvent[], names: [string, string] = ["AI", "AI"], sides = 2) => journal.match(events, names, sides, events.at(-1)?.tick ?? 0);
const GONE = kernelLost({ pictures: false, elsewhere: false });
const texts = () => journal.lines.map(({ text }) => text);
const best = (name: string, elo = 1500) => [{ name, elo, elo_low: elo - 40, elo_high: elo + 40, champion: true }] as LeagueRow[];

describe("Journal", () => {
  it("tells who scored, when, and which version", () => {
    match([happened("reset", 0), happened("goal", 240, 0, 7)]);
    match([happened("goal", 600, 1, 9)], ["You", "v3"]);
    match([happened("draw", 900)]);
    expect(texts()).toEqual(["Time is up: a draw.", "Orange scores (v3).", "Blue scores (v7)."]);
    expect(journal.lines.map(({ tick }) => tick)).toEqual([900, 600, 240]);
  });

  it("says nothing of the many episodes of a drill of one side", () => {
    match([happened("draw", 50), happened("goal", 90, 0)], ["AI", "AI"], 1);
    expect(texts()).toEqual([]);
  });

  it("gives swaps that follow one another a common line", () => {
    match([happened("swap", 0, -1, 0)]);
    clock += 10_000;
    for (const version of [7, 14, 21]) {
      match([happened("swap", 100 * version, -1, version)]);
      clock += 1500;
    }
    match([happened("goal", 2200, 0, 21)]);
    clock += 1000;
    match([happened("swap", 2400, -1, 28)]);
    expect(texts()).toEqual(["v28 takes over from v0.", "Blue scores (v21).", "The untrained network is playing."]);
    expect(journal.lines[0]!.tick).toBe(2400);
    clock += 60_000;
    match([happened("swap", 9600, -1, 35)]);
    expect(texts().slice(0, 2)).toEqual(["v35 takes over from v28.", "v28 takes over from v0."]);
  });

  it("tells what changed of the settings, and not what they were", () => {
    journal.settings({ epochs: 1, hidden_sizes: [64, 64] });
    journal.settings({ epochs: 1, hidden_sizes: [64, 64] });
    journal.settings({ epochs: 4, hidden_sizes: [64, 32] });
    expect(texts()).toEqual(["hidden_sizes: 64, 64 → 64, 32", "epochs: 1 → 4"]);
  });

  it("tells of training, but not of the state that it found", () => {
    journal.training("training", 12, "");
    for (const status of ["stopping", "stopped", "starting", "training", "error", "idle"] as const) journal.training(status, 12, "no memory");
    expect(texts()).toEqual(["Training was reset to the untrained v0.", "No memory.", "Training resumed from v12.", "Training stopped at v12."]);
  });

  it("says nothing of a stop where a policy was loaded and nothing had run", () => {
    for (const status of ["idle", "stopped", "error", "stopped"] as const) journal.training(status, 12, "no memory");
    expect(texts()).toEqual(["No memory."]);
  });

  it("calls it a start also where the first version is there before the status", () => {
    for (const [status, version] of [
      ["idle", 0],
      ["starting", 0],
      ["starting", 1],
      ["training", 1],
    ] as const)
      journal.training(status, version, "");
    expect(texts()[0]).toBe("Training started.");
  });

  it("says that the kernel is gone, and nothing false once it is back", () => {
    journal.training("stopped", 12, "");
    journal.training("disconnected", 12, GONE);
    journal.training("disconnected", 12, GONE);
    journal.training("stopped", 12, "");
    expect(texts()).toEqual([GONE]);
    journal.training("training", 12, "");
    journal.training("disconnected", 13, GONE);
    journal.training("training", 14, "");
    journal.training("disconnected", 14, GONE);
    journal.training("stopped", 15, "");

    expect(texts()).toEqual(["Training stopped at v15.", GONE, "Training resumed from v12."]);
  });

  it("tells of new champions only", () => {
    journal.league(best("v3"));
    journal.league(best("v3", 1600));
    journal.league(best("v9", 1612.4));
    journal.league([]);
    expect(texts()).toEqual(["v9 is the new champion, Elo 1612 (1572 to 1652)."]);
  });

  it("has one line for the champions of a minute", () => {
    journal.league(best("v3"));
    journal.league(best("v4"));
    match([happened("draw", 9)]);
    clock += 30_000;
    journal.league(best("v5"));
    expect(texts()).toEqual(["v5 is the new champion, Elo 1500 (1460 to 1540).", "Time is up: a draw."]);
    clock += 31_000;
    journal.league(best("v6"));
    expect(texts()).toHaveLength(3);
  });

  it("moves a warning that comes again to the top", () => {
    journal.warning("it is late");
    match([happened("draw", 9)]);
    clock += 5;
    journal.warning("it is late");
    journal.warning("");
    expect(texts()).toEqual(["It is late.", "Time is up: a draw."]);
  });

  it("keeps the newest lines only", () => {
    for (let tick = 0; tick < CAPACITY + 50; tick++) match([happened("draw", tick)]);
    expect(journal.lines).toHaveLength(CAPACITY);
    expect(journal.lines[0]!.tick).toBe(CAPACITY + 49);
  });
});

it.each([
  [{ pictures: false, elsewhere: false }, "The match continues with the last policy."],
  [{ pictures: false, elsewhere: true }, "The match stands still, because the policy plays there."],
  [{ pictures: true, elsewhere: false }, "The match stands still, because it is played there."],
])("a lost kernel: %o", (session, match) => {
  expect(kernelLost(session)).toBe(`Kernel disconnected. ${match}`);
});
