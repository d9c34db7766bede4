/** What the policy thinks, as the show worker reports it, and who wants to see it. */
import type { ConfigValue, FromWorker, ToWorker } from "../contract/protocol";
import { readWeights } from "../match/scores";
import type { Events, MindState, SessionEvents } from "./events";

interface Ends {
  readonly id: string;
  readonly events: Events<SessionEvents>;
  post(message: ToWorker): void;
}

export class Thoughts {
  now: MindState = { player: 0, version: 0, range: 0, standing: false, thought: null };
  map = false; // whether the value map is wanted
  sight = false; // whether lines to what the player sees are wanted
  private watchers = 0; // open panels
  private weights = ""; // of reward terms, as the worker was sent

  constructor(private readonly ends: Ends) {}

  /** One panel more, or one less, wants the thoughts reported. */
  watch(wanted: boolean): void {
    this.watchers += wanted ? 1 : -1;
    this.inspect({ watch: this.watchers > 0 });
  }

  setMap(map: boolean): void {
    this.map = map;
    this.inspect({ map });
    this.ends.events.emit("mind", this.now);
    this.ends.events.emit("map", undefined);
  }

  setSight(sight: boolean): void {
    this.sight = sight;
    this.inspect({ sight });
    this.ends.events.emit("mind", this.now);
  }

  choosePlayer(player: number): void {
    this.inspect({ player });
  }

  // ---- the session's side

  receive(report: Extract<FromWorker, { type: "MIND" }>): void {
    this.now = report;
    this.ends.events.emit("mind", report);
  }

  /** The weights of reward terms that training uses: "goal=1,approach=3" as the kernel writes them. */
  weigh(value: ConfigValue = ""): void {
    const text = String(value);
    if (text === this.weights) return;
    this.weights = text;
    this.inspect({ weights: readWeights(text) });
  }

  private inspect(change: Omit<Extract<ToWorker, { type: "INSPECT" }>, "type" | "id">): void {
    this.ends.post({ type: "INSPECT", id: this.ends.id, ...change });
  }
}
