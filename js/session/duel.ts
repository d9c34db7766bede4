/**
 * A person's match against the policy, or whom they have chosen to meet: from 0:0 after three, two, one, until somebody has GOALS goals or SECONDS of play are over.
 * Ends early where somebody changes who plays; then nothing is said of it. It is this page's alone: what others watch continues.
 */
import type { Model } from "../contract/model";
import type { MetricsRow, ShowTrait } from "../contract/protocol";
import type { Events, SessionEvents, ShowState } from "./events";
import type { Facing } from "./facing";
import { rivalName } from "./player_names";

export const GOALS = 5;
export const SECONDS = 60; // of play
const COUNT_MS = 700; // a number of the countdown stands that long

/** What a duel needs of a session. */
interface Ends {
  readonly model: Pick<Model, "get">;
  readonly events: Events<SessionEvents>;
  readonly history: { readonly rows: readonly MetricsRow[] };
  readonly show: ShowTrait;
  readonly state: ShowState;
  readonly facing: Pick<Facing, "opponent" | "met">;
  readonly alone: boolean;
  setOwnShow(change: Partial<ShowTrait> | null): void;
}

/** How it ended; `age` is the training in seconds that the version had, null where nobody knows. */
interface Result {
  goals: readonly [you: number, it: number];
  rival: string;
  age: number | null;
}

export type Phase = { name: "off" | "on" } | { name: "countdown"; count: number } | ({ name: "over" } & Result);

type Mark = Pick<ShowState, "tick" | "score">;

export class Duel {
  phase: Phase = { name: "off" };
  private begun: Mark = { tick: 0, score: [0, 0] };
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly ends: Ends,
    signal: AbortSignal,
  ) {
    ends.events.on("show", () => this.showChanged(), signal);
    ends.events.on("state", (state) => this.look(state), signal);
    signal.addEventListener("abort", () => clearTimeout(this.timer), { once: true });
  }

  /** A match from the beginning, whatever is played now. */
  start(): void {
    this.enter({ name: "off" });
    const { mode, opponent: asked, match: last } = this.ends.show;
    const match = Math.floor(last) + 1.5; // no number of anybody else's match, so to leave it begins another one
    const opponent = mode === "human_vs_ai" || this.ends.state.version === 0 ? asked : ""; // that of AI vs opponent is the policy's
    this.ends.setOwnShow({ mode: "human_vs_ai", opponent, speed: 1, playing: false, match });
    this.count(3);
  }

  /** Back to what was watched before. */
  leave(): void {
    this.enter({ name: "off" });
    this.ends.setOwnShow(null);
  }

  private count(count: number): void {
    if (count === 0) {
      this.ends.setOwnShow({ playing: true });
      return;
    }
    this.enter({ name: "countdown", count });
    this.timer = setTimeout(() => this.count(count - 1), COUNT_MS);
  }

  private showChanged(): void {
    const { mode, playing } = this.ends.show;
    if (this.phase.name === "off") return;
    const left = !this.ends.alone; // for everybody's match, which a person may play, too
    if (left || mode !== "human_vs_ai") this.enter({ name: "off" });
    else if (playing && this.phase.name === "countdown") this.begin();
    else if (playing && this.phase.name === "over") this.enter({ name: "off" });
  }

  private begin(): void {
    const { tick, score } = this.ends.state;
    this.begun = { tick, score };
    this.enter({ name: "on" });
  }

  private look(state: ShowState): void {
    if (this.phase.name !== "on") return;
    if (state.tick < this.begun.tick) this.begun = { tick: 0, score: [0, 0] }; // a reset that was under way, or one by hand
    const goals = outcome(this.begun, state, this.ends.model.get("drill")?.spec.tick_rate ?? 120);
    if (!goals) return;
    this.enter({ name: "over", goals, ...this.rival(state.version) });
    this.ends.setOwnShow({ playing: false });
  }

  private rival(version: number): Pick<Result, "rival" | "age"> {
    const { facing, history } = this.ends;
    const trained = history.rows.findLast((row) => (row.version ?? 0) <= version)?.seconds; // a newer version may wait
    return { rival: rivalName(this.ends, version), age: version > 0 && !facing.met ? (trained ?? null) : null };
  }

  private enter(phase: Phase): void {
    clearTimeout(this.timer);
    this.phase = phase;
    this.ends.events.emit("duel", undefined);
  }
}

/** The goals of a duel that is over; null while it continues. */
export function outcome(begun: Mark, now: Mark, tickRate: number): [number, number] | null {
  const goals: [number, number] = [now.score[0] - begun.score[0], now.score[1] - begun.score[1]];
  return Math.max(...goals) >= GOALS || now.tick - begun.tick >= SECONDS * tickRate ? goals : null;
}

/** An age in words: 52 seconds old, 3 minutes old. */
export function ageInWords(seconds: number): string {
  const [count, unit] = seconds < 120 ? [seconds, "second"] : seconds < 7200 ? [seconds / 60, "minute"] : [seconds / 3600, "hour"];
  const whole = Math.max(1, Math.round(count));
  return `${whole} ${unit}${whole === 1 ? "" : "s"} old`;
}
