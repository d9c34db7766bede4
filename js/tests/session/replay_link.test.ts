// @vitest-environment happy-dom
/** A saved replay in the live match's place, as the page sees it. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Recording } from "../../contract/protocol";
import { opponentName, personPlays, playerNames } from "../../session/player_names";
import { Session } from "../../session/session";
import { FakeModel, FakeWorker, installBrowser, settle } from "../harness/fakes";

const recording = { drill: "ball", rules_hash: "rules", seed: 1, ticks: 240, inputs: [], actions: [0, 0], start: null } as unknown as Recording;
const state = { tick: 0, score: [0, 0] as [number, number], version: 5, fps: 60, playing: true, events: [], probabilities: [], value: 0 };

beforeAll(installBrowser);

describe("a replay", () => {
  let session: Session;
  const worker = () => FakeWorker.all[0]!;
  const sent = () =>
    worker()
      .of("REPLAY")
      .map((message) => message.recording);

  async function begin(problem = ""): Promise<void> {
    const begun = session.replay.load(new File([JSON.stringify(recording)], "ball.json"));
    await settle();
    worker().say({ type: "REPLAYING", id: session.id, problem });
    await begun;
  }

  beforeEach(async () => {
    session = new Session(new FakeModel());
    await settle();
    worker().received.length = 0;
  });
  afterEach(() => session.dispose());

  it("has opponents by their names, the idle one as among the targets", () => {
    expect(["chaser", "idle", "league:best", "league:v7"].map(opponentName)).toEqual(["chaser", "standing still", "the champion", "v7"]);
  });

  it("is played, runs to its end and is left", async () => {
    await begin();
    expect(sent()).toEqual([recording]);
    expect(playerNames(session)).toEqual(["Blue", "Orange"]);
    session.takeOver(true);
    expect(personPlays(session, 0), "nobody has the keys of a replay").toBe(false);
    worker().say({ type: "STATE", id: session.id, ...state, tick: 240 });
    await settle();
    expect(session.show.playing).toBe(false);
    session.replay.end();
    await settle();
    expect(sent()).toEqual([recording, null]);
    expect(session.replay.recording).toBeNull();
    expect(session.show.playing).toBe(true);
  });

  it("that is refused leaves the live match there", async () => {
    await expect(session.replay.load(new File(["{}"], "notes.json"))).rejects.toThrow("notes.json is not a replay");
    expect(sent()).toEqual([]);
    await expect(begin("The file is damaged.")).rejects.toThrow("The file is damaged.");
    expect(session.replay.recording).toBeNull();
  });

  it.each([{ mode: "human_vs_ai", playing: false } as const, { match: 7 }])("is left by whoever asks for a match (%j)", async (change) => {
    await begin();
    session.setShow(change);
    await settle();
    expect(sent()).toEqual([recording, null]);
    expect(session.show).toMatchObject(change);
  });

  it("that is chosen while another one is being loaded comes after it, and each hears its own answer", async () => {
    const other = { ...recording, ticks: 120 };
    const [first, second] = [recording, other].map((one) => session.replay.load(new File([JSON.stringify(one)], "ball.json")));
    await settle();
    worker().say({ type: "REPLAYING", id: session.id, problem: "" });
    await first;
    await settle();
    expect([sent(), session.replay.recording]).toEqual([[recording, other], recording]);
    const refused = expect(second).rejects.toThrow("The file is damaged.");
    worker().say({ type: "REPLAYING", id: session.id, problem: "The file is damaged." });
    await refused;
    expect(session.replay.recording).toEqual(recording);
  });

  it("that comes when another drill is shown is none of that", async () => {
    const begun = session.replay.load(new File([JSON.stringify(recording)], "ball.json"));
    await settle();
    session.replay.begin();
    const refused = expect(begun).rejects.toThrow("Another drill");
    worker().say({ type: "REPLAYING", id: session.id, problem: "" });
    await refused;
    expect(session.replay.recording).toBeNull();
  });

  it("is no news of the live match", async () => {
    await begin();
    const lines = session.journal.lines;
    worker().say({ type: "STATE", id: session.id, ...state, tick: 60, events: [{ kind: "goal", tick: 50, side: 0, version: 5 }] });
    await settle();
    expect(session.journal.lines).toBe(lines);
  });
});
