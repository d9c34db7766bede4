/** What the page asks of a ghost where a show begins anew. */
import { expect, it } from "vitest";
import type { ToWorker } from "../../../contract/protocol";
import { Events, type SessionEvents } from "../../../session/events";
import type { Ends } from "../../../session/link";
import { GhostLink } from "../link";

it("is asked for again, and its versions are those of the new show", () => {
  const posted: ToWorker[] = [];
  const events = new Events<SessionEvents>();
  const ghost = new GhostLink({
    id: "a",
    events,
    show: { mode: "ai_vs_ai" },
    live: true,
    post: (message: ToWorker) => posted.push(message),
  } as unknown as Ends);
  ghost.begin();
  expect(posted, "nobody asked for one").toEqual([]);
  ghost.goBack(30);
  ghost.receive({ type: "PAST", id: "a", versions: [0, 10, 40], ghost: 10 });
  expect(ghost.standIn?.name).toBe("v10");
  let told = 0;
  events.on("lineup", () => told++, new AbortController().signal);
  ghost.begin();
  expect(ghost.standIn).toBeNull();
  expect([told, posted.at(-1)]).toEqual([1, { type: "PAST", id: "a", back: 30 }]);
});
