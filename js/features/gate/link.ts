/**
 * The gate of the algorithm `gate`: keeps the show worker's copy to the kernel's settings, and holds what was proposed. A setting
 * that a person changes acts in the worker at once and goes to the kernel.
 */

import type { AlgorithmSettings, ConfigValue, FromWorker } from "../../contract/protocol";
import type { Ends, Link } from "../../session/link";
import { plainKey } from "../../session/settings/run_settings";
import type { GateSettings, Proposal, SpawnKind } from "./messages";

declare module "../../session/events" {
  interface SessionEvents {
    gate: undefined; // its settings, its map or what was proposed
  }
}

const SECTION = "gate";
const KEPT = 9; // proposals: the last one, and eight before it
const JUDGED_BY = ["survival_weight", "disruption_weight", "location_weight", "threshold"] as const;

/** Shares that must add to 1: who changes one changes the other. */
const SHARES: Record<string, string> = { gate_weight: "actual_weight", actual_weight: "gate_weight" };
const DIGITS = 6; // of the other share

export class GateLink implements Link {
  proposals: readonly Proposal[] = []; // newest first
  map: SpawnKind | "" = ""; // the kind of spawn whose expected reward is on the map
  private drafted: Record<string, ConfigValue> = {}; // settings that were changed here, until the kernel has them
  private sent: string | null = null; // the settings that the worker has, as text; null before there is a show

  constructor(
    private readonly ends: Ends,
    signal: AbortSignal,
  ) {
    const { events } = ends;
    events.on("config", () => this.configChanged(), signal);
    events.on("history", () => this.follow(), signal); // the exploration bonus
    events.on("state", (state) => state.events.some(({ kind }) => kind === "reset") && this.clear(), signal);
    events.on("map", () => ends.thoughts.map && this.map && this.setMap(""), signal);
  }

  /** Whether this algorithm trains here. */
  get on(): boolean {
    return this.algorithm !== null;
  }

  get claims(): boolean {
    return this.on;
  }

  get schema(): AlgorithmSettings["schema"] {
    return this.algorithm?.schema ?? {};
  }

  /** A setting as the page's gate uses it. */
  value(key: string): number {
    return Number(this.drafted[key] ?? this.algorithm?.values[key]);
  }

  /** The present exploration bonus. */
  get epsilon(): number {
    return this.ends.history.rows.at(-1)?.exploration ?? this.value("exploration");
  }

  /** Judge by another value of a setting, on the page only. */
  attempt(key: string, value: ConfigValue): void {
    this.drafted = { ...this.drafted, [key]: value };
    this.follow();
  }

  /** The same, in training too. */
  change(key: string, value: ConfigValue): void {
    this.attempt(key, value);
    const other = SHARES[key];
    if (other) this.ends.kernel.send({ type: "SET_HYPER", key: SECTION, value: { [key]: value, [other]: Number((1 - Number(value)).toFixed(DIGITS)) } });
    else this.ends.kernel.send({ type: "SET_HYPER", key: `${SECTION}.${key}`, value });
  }

  /** Changes a setting of the run, by its key in messages, if it is the gate's own. */
  takes(key: string, value: ConfigValue): boolean {
    const own = this.on && key.startsWith(`${SECTION}.`);
    if (own) this.change(plainKey(key), value);
    return own;
  }

  /** Puts the expected reward of that kind of spawn on the map in place of any other map; "": of none. */
  setMap(kind: SpawnKind | ""): void {
    if (kind && this.ends.thoughts.map) this.ends.thoughts.setMap(false);
    this.map = kind;
    this.ends.post({ type: "EXPECTED", id: this.ends.id, kind });
    this.changed();
    this.ends.events.emit("map", undefined);
  }

  // ---- the session's side

  /** A show begins: it knows no gate. */
  begin(): void {
    this.sent = "null";
    this.clear();
    this.follow();
    if (this.map) this.ends.post({ type: "EXPECTED", id: this.ends.id, kind: this.map });
  }

  /** Proposals since the last time, newest last; one whose outcome is known by now comes again. */
  receive(message: FromWorker): boolean {
    if (message.type !== "PROPOSALS") return false;
    const known = new Map(this.proposals.map((proposal) => [proposal.tick, proposal]));
    for (const proposal of message.proposals) known.set(proposal.tick, proposal);
    this.proposals = [...known.values()].sort((a, b) => b.tick - a.tick).slice(0, KEPT);
    this.changed();
    return true;
  }

  private configChanged(): void {
    const values = this.algorithm?.values ?? {};
    this.drafted = Object.fromEntries(Object.entries(this.drafted).filter(([key, value]) => values[key] !== value));
    this.follow();
  }

  /** Sends what the gate judges by where it differs from what the worker has. */
  private follow(): void {
    const settings = this.settings();
    const text = JSON.stringify(settings);
    if (this.sent === null || text === this.sent) return;
    this.sent = text;
    this.ends.post({ type: "GATE", id: this.ends.id, settings });
    this.changed();
    this.ends.events.emit("map", undefined); // its legend has the threshold
  }

  private clear(): void {
    this.proposals = [];
    this.changed();
  }

  private get algorithm(): AlgorithmSettings | null {
    const algorithm = this.ends.model.get("config")?.algorithm;
    return algorithm?.name === SECTION ? algorithm : null;
  }

  private settings(): GateSettings | null {
    if (!this.algorithm) return null;
    const [survival_weight, disruption_weight, location_weight, threshold] = JUDGED_BY.map((key) => this.value(key)) as [number, number, number, number];
    const mode = String(this.drafted.mode ?? this.algorithm.values.mode);
    return { survival_weight, disruption_weight, location_weight, threshold, mode, epsilon: this.epsilon };
  }

  private changed(): void {
    this.ends.events.emit("gate", undefined);
  }
}
