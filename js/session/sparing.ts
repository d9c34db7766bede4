/** Tells the show to draw for as little as looks fluid while something trains, unless a person has chosen what draws. */
import type { ShowTrait, Status, ToWorker } from "../contract/protocol";
import type { Events, SessionEvents } from "./events";

interface Ends {
  readonly id: string;
  readonly show: ShowTrait;
  readonly status: Status;
  readonly events: Events<SessionEvents>;
  post: (message: ToWorker) => void;
}

export function keepSparing(session: Ends, signal: AbortSignal): void {
  let told = false;
  const follow = () => {
    const on = session.show.renderer === "auto" && ["starting", "training"].includes(session.status);
    if (on !== told) session.post({ type: "SPARE", id: session.id, on });
    told = on;
  };
  session.events.on("status", follow, signal);
  session.events.on("show", follow, signal);
  follow();
}
