import { describe, expect, it } from "vitest";
import type { MetricsRow, Status, ToWorker } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import { Events, type SessionEvents } from "../../session/events";
import { keepSparing } from "../../session/host/sparing";

function begin(status: Status, rows: MetricsRow[]) {
  const posted: ToWorker[] = [];
  const session = {
    id: "a",
    show: SHOW_DEFAULTS,
    status,
    events: new Events<SessionEvents>(),
    history: { rows },
    post: (message: ToWorker) => posted.push(message),
  };
  keepSparing(session, new AbortController().signal);
  const frames = () => posted.map((message) => message.type === "SPARE" && message.frames);
  return { session, frames };
}

describe("drawing beside training", () => {
  it("leaves frames out while something trains, and more of them while the learner starves", () => {
    const { session, frames } = begin("training", []);
    expect(frames()).toEqual([30]);
    session.history.rows.push({ processors: 0.2 });
    session.events.emit("history", undefined);
    expect(frames()).toEqual([30, 15]);
    session.history.rows.push({ processors: 0.9 });
    session.events.emit("history", undefined);
    session.status = "stopped";
    session.events.emit("status", undefined);
    expect(frames()).toEqual([30, 15, 30, 0]);
  });

  it("leaves none out where nothing trains", () => {
    expect(begin("idle", [{ processors: 0.1 }]).frames()).toEqual([]);
  });
});
