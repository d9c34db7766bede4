/** The ghost of a session: how far behind it is to be, and which version the show worker found for that. */
import type { FromWorker } from "../../contract/protocol";
import type { Ends, Link, StandIn } from "../../session/link";
import type { Past } from "./messages";

declare module "../../session/events" {
  interface SessionEvents {
    past: undefined; // another ghost, or other versions to choose one from
  }
}

export class GhostLink implements Link {
  past: Past = { versions: [], ghost: -1 };
  back = 0; // versions that it is to be behind, 0: no ghost

  constructor(private readonly ends: Ends) {}

  /** The earlier version that plays side 1 just now, -1: none. */
  get version(): number {
    return this.ends.show.mode === "ai_vs_ai" && this.ends.live ? this.past.ghost : -1;
  }

  get standIn(): StandIn | null {
    return this.version < 0 ? null : { name: `v${this.version}`, title: "Ghost: an earlier version from this training run" };
  }

  /** A show begins: it has seen no versions, and knows of no ghost. */
  begin(): void {
    this.receive({ type: "PAST", id: this.ends.id, versions: [], ghost: -1 });
    if (this.back !== 0) this.goBack(this.back);
  }

  /** Side 1 of AI vs AI is played by the version that many back; 0: by the same as side 0, Infinity: by the first one seen. */
  goBack(versions: number): void {
    this.back = versions;
    this.ends.post({ type: "PAST", id: this.ends.id, back: versions });
    this.ends.events.emit("past", undefined);
  }

  receive(message: FromWorker): boolean {
    if (message.type !== "PAST") return false;
    this.past = message;
    this.ends.events.emit("past", undefined);
    this.ends.events.emit("lineup", undefined);
    return true;
  }
}
