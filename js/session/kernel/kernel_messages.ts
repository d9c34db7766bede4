/** What the kernel says to a session, beside the traits. */
import { listen, type Model } from "../../contract/model";
import type { Bytes, KernelToPage, StepUnit } from "../../contract/protocol";
import type { Events, SessionEvents } from "../events";
import type { History } from "../history";
import type { Screen } from "../host/screen";

interface Ends {
  readonly model: Model;
  readonly events: Events<SessionEvents>;
  readonly history: Pick<History, "replace">;
  step(unit: StepUnit, count: number): void;
}

type Buffers = readonly DataView<ArrayBuffer>[] | undefined;

/** Does what it says, up to `signal`. `screen`: of a show that the kernel plays; `others` takes messages of features, and says whether it did. */
export function followKernel(session: Ends, screen: Screen | null, others: (message: KernelToPage, bytes?: Bytes) => boolean, signal: AbortSignal): void {
  const { events, history } = session;
  const receive = (message: KernelToPage, buffers: Buffers) => {
    switch (message.type) {
      case "HISTORY":
        history.replace(message.start, message.rows);
        events.emit("history", undefined);
        return;
      case "STEP":
        session.step(message.unit, message.count);
        return;
      case "LOG":
        events.emit(message.level === "warning" ? "warning" : "notice", message.text);
        return;
      case "POLICY_FILE":
      case "PAGE_FILE":
        return; // whoever asked for it listens
      case "REWARD_CHECKED":
        events.emit("reward", message);
        return;
      case "FRAME":
        if (buffers?.[0]) void screen?.receive(message, buffers[0]);
        return;
      default:
        if (!others(message, buffers?.[0])) console.warn("dshq-widget: unknown message from the kernel:", message);
    }
  };
  listen(session.model, "msg:custom", receive, signal);
}
