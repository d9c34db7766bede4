/** Tells the show to draw for little while something trains, and for less while the learner starves, unless a person has chosen what draws. */
import type { MetricsRow, ShowTrait, Status, ToWorker } from "../../contract/protocol";
import type { Events, SessionEvents } from "../events";

const FLUID = 30; // frames a second that look fluid, if they come evenly
const FEW = 15; // that still show a match
const SHORT = 0.5; // processors of the learner, below which it starves: runtime/priority.py

interface Ends {
  readonly id: string;
  readonly show: ShowTrait;
  readonly status: Status;
  readonly events: Events<SessionEvents>;
  readonly history: { readonly rows: readonly MetricsRow[] };
  post: (message: ToWorker) => void;
}

export function keepSparing(session: Ends, signal: AbortSignal): void {
  let told = 0;
  const follow = () => {
    const on = session.show.renderer === "auto" && ["starting", "training"].includes(session.status);
    const short = (session.history.rows.at(-1)?.processors ?? 1) < SHORT;
    const frames = on ? (short ? FEW : FLUID) : 0;
    if (frames !== told) session.post({ type: "SPARE", id: session.id, frames });
    told = frames;
  };
  session.events.on("history", follow, signal);
  session.events.on("status", follow, signal);
  session.events.on("show", follow, signal);
  follow();
}
