/** Search in the show worker: whether it is on, how far it looks, and what it saw last. Keeps its reward to the kernel's settings. */
import type { FromWorker } from "../../contract/protocol";
import { readWeights } from "../../match/scores";
import type { Ends, Link } from "../../session/link";
import type { Futures, SearchSettings } from "./messages";

declare module "../../session/events" {
  interface SessionEvents {
    futures: undefined; // whether search is on, how it looks ahead or what it saw
  }
}

const GAMMA = 0.995; // where nobody says another discount

export class SearchLink implements Link {
  on = false;
  particles = 16;
  depth = 4;
  futures: Futures | null = null; // what search saw last; null: it decides for nobody
  private sent = "null"; // the settings that the worker has, as text

  constructor(
    private readonly ends: Ends,
    signal: AbortSignal,
  ) {
    ends.events.on("config", () => this.follow(), signal);
  }

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
    this.saw(null);
    this.follow();
  }

  receive(message: FromWorker): boolean {
    if (message.type !== "FUTURES") return false;
    this.saw(message.futures);
    return true;
  }

  /** Sends how search decides where it differs from what the worker has. */
  private follow(): void {
    const settings = this.settings();
    const text = JSON.stringify(settings);
    if (text === this.sent) return;
    this.sent = text;
    this.ends.post({ type: "SEARCH", id: this.ends.id, settings });
  }

  private saw(futures: Futures | null): void {
    this.futures = this.on ? futures : null;
    this.ends.events.emit("futures", undefined);
  }

  private settings(): SearchSettings | null {
    if (!this.on) return null;
    const { gamma = GAMMA, reward_weights = "" } = this.ends.model.get("config")?.values ?? {};
    return { num_particles: this.particles, search_depth: this.depth, gamma: Number(gamma), weights: readWeights(String(reward_weights)) };
  }
}
