/**
 * The event log, newest first: goals, swaps of policy, settings that were changed, training that began or ended, champions,
 * warnings. Bounded; it only compares what it receives with what it received before.
 */

import type { ConfigValue, LeagueRow, ShowEvent, Status } from "../contract/protocol";
import { rated } from "../contract/rating";
import { asSentence, capital } from "../contract/sentences";
import { sideName } from "../contract/sides";
import type { Events, SessionEvents } from "./events";
import { kernelLost } from "./kernel/lost_kernel";
import { type Lineup, playerNames } from "./player_names";

const RUNNING: readonly Status[] = ["starting", "training", "stopping"]; // what can stop: after a load nothing ran
export const CAPACITY = 200; // lines
const SHARED_MS = 60_000; // swaps within this share a line, and so do champions; it moves up: else a log of goals would be a log of swaps

export type Kind = "goal" | "swap" | "setting" | "training" | "champion" | "warning";

/** One line. `tick` and `at` say when it happened: of the match, and of the day (ms since 1970). */
export interface Line {
  kind: Kind;
  text: string;
  tick: number;
  at: number;
}

export class Journal {
  lines: readonly Line[] = [];
  tick = 0; // of the match, now
  private started = false; // the match was reported before
  private version = -1; // that played last
  private swap: { from: number; since: number; line: Line } | null = null; // the newest line on a swap
  private values: Record<string, ConfigValue> | null = null;
  private status: Status | null = null;
  private gone = false; // the kernel
  private restingVersion = 0; // before the present run: its first version may come together with its status
  private champion: string | null = null;
  private crowned: { since: number; line: Line } | null = null; // the newest line on a champion

  constructor(private readonly now: () => number = () => Date.now()) {}

  /** What the match went through up to `now`, its tick, since the last call. Of one side only swaps: its episodes are many, and nobody scores. */
  match(events: readonly ShowEvent[], names: readonly [string, string], sides: number, now: number): void {
    for (const { kind, tick, side, version } of events) {
      this.tick = tick;
      const name = names[side] === "AI" ? `v${version}` : names[side];
      if (kind === "swap") this.swapped(version);
      else if (kind === "reset" && this.started) this.add("goal", "New match at 0 – 0.");
      else if (kind === "goal" && sides > 1) this.add("goal", `${capital(sideName(side))} scores (${name}).`);
      else if (kind === "draw" && sides > 1) this.add("goal", "Time is up: a draw.");
    }
    this.tick = now;
    this.started = true;
  }

  settings(values: Record<string, ConfigValue>): void {
    const before = this.values;
    this.values = values;
    for (const [key, value] of before ? Object.entries(values) : []) {
      const [old, fresh] = [written(before![key]), written(value)];
      if (old !== fresh) this.add("setting", `${key}: ${old} → ${fresh}`);
    }
  }

  /** `text` is the sentence on what went wrong, where something did. */
  training(status: Status, version: number, text: string): void {
    const before = this.status;
    if (status === "disconnected") {
      if (before !== null && !this.gone) this.warning(text);
      this.gone = true; // what the training did stays known: the kernel may come back
      return;
    }
    this.gone = false;
    this.status = status;
    const from = this.restingVersion;
    const rests = !RUNNING.includes(status) || (status === "starting" && before !== "starting"); // a new version may come before its status
    if (rests) this.restingVersion = version;
    if (status === before || before === null) return;
    if (status === "training") this.add("training", from > 0 ? `Training resumed from v${from}.` : "Training started.");
    else if (status === "stopped" && RUNNING.includes(before)) this.add("training", `Training stopped at v${version}.`);
    else if (status === "idle") this.add("training", "Training was reset to the untrained v0.");
    else if (status === "error") this.warning(text || "Training stopped because of an error.");
  }

  league(rows: readonly LeagueRow[]): void {
    const best = rows.find((row) => row.champion);
    const before = this.champion;
    this.champion = best?.name ?? "";
    if (!best || before === null || before === best.name) return;
    const recent = this.crowned && this.now() - this.crowned.since < SHARED_MS ? this.crowned : null;
    if (recent) this.lines = this.lines.filter((line) => line !== recent.line);
    const line = this.add("champion", `${best.name} is the new champion, Elo ${rated(best)}.`);
    this.crowned = { since: recent?.since ?? this.now(), line };
  }

  /** The same warning again moves to the top: a machine that is busy for minutes does not fill the log. */
  warning(text: string): void {
    if (!text) return;
    const sentence = asSentence(text);
    const last = this.lines.find((line) => line.kind === "warning");
    if (last?.text === sentence) this.lines = this.lines.filter((line) => line !== last);
    this.add("warning", sentence);
  }

  private swapped(version: number): void {
    const recent = this.swap && this.swap.from >= 0 && this.now() - this.swap.since < SHARED_MS ? this.swap : null;
    const { from, since } = recent ?? { from: this.version, since: this.now() };
    this.version = version;
    const untrained = version === 0 ? "The untrained network is playing." : `v${version} is playing.`;
    if (recent) this.lines = this.lines.filter((line) => line !== recent.line);
    const line = this.add("swap", from >= 0 && version > from ? `v${version} takes over from v${from}.` : untrained);
    this.swap = { from, since, line };
  }

  private add(kind: Kind, text: string): Line {
    const line = { kind, text, tick: this.tick, at: this.now() };
    this.lines = [line, ...this.lines].slice(0, CAPACITY);
    return line;
  }
}

/** What a journal is kept of; a session is one. */
export interface Source extends Lineup {
  readonly events: Events<SessionEvents>;
  readonly pictures: boolean; // the kernel plays the show
  readonly status: Status;
}

/** A session's journal, kept up to `signal`; it emits `journal` with every new line. What it finds there is no news. */
export function keepJournal(session: Source, signal: AbortSignal): Journal {
  const { events, model } = session;
  const journal = new Journal();
  const note = (look: () => void) => {
    const before = journal.lines;
    look();
    if (journal.lines !== before) events.emit("journal", undefined);
  };
  const settings = () => journal.settings(model.get("config")?.values ?? {});
  const training = () => {
    const wrong = session.status === "disconnected" ? kernelLost(session) : (model.get("error") ?? "");
    journal.training(session.status, model.get("policy")?.version ?? 0, wrong);
  };
  const league = () => journal.league(model.get("league") ?? []);
  for (const look of [settings, training, league]) look();
  events.on(
    "state",
    (state) =>
      note(() => {
        if (!session.live) return;
        journal.match(state.events, playerNames(session), model.get("drill")?.spec.sides ?? 2, state.tick);
      }),
    signal,
  );
  events.on("config", () => note(settings), signal);
  events.on("status", () => note(training), signal);
  events.on("league", () => note(league), signal);
  for (const name of ["notice", "warning"] as const) events.on(name, (text) => note(() => journal.warning(text)), signal);
  return journal;
}

function written(value: ConfigValue | undefined): string {
  return value === undefined || value === "" ? "none" : String(value).split(",").join(", ");
}
