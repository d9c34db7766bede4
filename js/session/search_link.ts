/** Search in the show worker: whether it is on, how far it looks, and what it saw last. Keeps its reward to the kernel's settings. */
import type { Model } from "../contract/model";
import type { Futures, SearchSettings, ToWorker } from "../contract/protocol";
import { readWeights } from "../match/scores";
import type { Events, SessionEvents } from "./events";

const GAMMA = 0.995; // where nobody says another discount

/** What search needs of a session. */
interface Ends {
  readonly id: string;
  readonly model: Pick<Model, "get">;
  readonly events: Events<SessionEvents>;
  post(message: ToWorker): void;
}

export class SearchLink {
  on = false;
  particles = 16;
  depth = 4;
  futures: Futures | null = null; // what search saw last; null: it decides for nobody
  private sent = "null"; // the settings that the worker has, as text

  constructor(private readonly ends: Ends) {}

  /** From the next decision on. */
  change(change: Partial<Pick<SearchLink, "on" | "particles" | "depth">>): void {
    Object.assign(this, change);
    if (!this.on) this.futures = null;
    this.follow();
    this.ends.events.emit("futures", undefined);
  }

  // ---- the session's side

  /** A show begins: it knows no search. */
  begin(): void {
    this.sent = "null";
    this.receive(null);
    this.follow();
  }

  /** Sends how search decides where it differs from what the worker has. */
  follow(): void {
    const settings = this.settings();
    const text = JSON.stringify(settings);
    if (text === this.sent) return;
    this.sent = text;
    this.ends.post({ type: "SEARCH", id: this.ends.id, settings });
  }

  receive(futures: Futures | null): void {
    this.futures = this.on ? futures : null;
    this.ends.events.emit("futures", undefined);
  }

  private settings(): SearchSettings | null {
    if (!this.on) return null;
    const { gamma = GAMMA, reward_weights = "" } = this.ends.model.get("config")?.values ?? {};
    return { num_particles: this.particles, search_depth: this.depth, gamma: Number(gamma), weights: readWeights(String(reward_weights)) };
  }
}
