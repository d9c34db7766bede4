/**
 * The match of a policy that only the kernel can compute (the algorithm `dreamer`, a network of a person's own): gets decisions for the
 * show worker in time. And a dreamer's dreams: what its world model sees, expects and imagines, and a person's way through it. Frames are
 * asked for only while somebody looks.
 */
import type { Bytes, FromWorker, KernelToPage, PageToKernel } from "../../contract/protocol";
import { Keys } from "../../match/keys";
import type { Ends, Link } from "../../session/link";
import { type Picture, Pictures } from "./frames";
import type {} from "./messages";

declare module "../../session/events" {
  interface SessionEvents {
    dream: undefined; // what the world model sees, expects and imagines
  }
}

const DREAMER = "dreamer";
const AHEAD_SECONDS = 0.6; // of play that is to be decided in advance: two ways to the kernel on a slow line
const [LEAST, MOST] = [2, 48]; // decisions in advance
const REFILL = 0.7; // share of them below which more are asked for
const PATIENCE_MS = 1500; // without a decision; then the person reads why
const STARTING = "The policy is starting in a process of its own. The match waits for it.";
export const IMAGINED_STEPS = 15;
const SURPRISES = 120; // kept
const REST_MS = 2500; // between a film that is complete and the next
const SEEN_MS = 100; // between two pictures of the match: a page that changes is composed again
const FASTEST = 30; // steps of a person's dream a second
const UNDER_WAY = 2; // of them at most: the next is asked for while the last is on its way

type FromKernel<T extends KernelToPage["type"]> = Extract<KernelToPage, { type: T }>;
type Worker<T extends FromWorker["type"]> = Extract<FromWorker, { type: T }>;

/** A decision's frame, and what the model made of it. */
export interface Moment {
  seen: Picture;
  made: Picture;
}

/** What was imagined after a decision, and what came. */
interface Film {
  imagined: Picture[];
  reward: number[];
  continues: number[];
  truth: Picture[]; // as far as the match has come
  ended: boolean; // the game was over before the last step
  stride: number; // ticks from one step to the next
}

/** Where a person's dream stands. */
export interface Inside {
  picture: Picture | null; // null: the first one is under way
  reward: number; // expected with it
  total: number; // since the dream began
  continues: number; // probability that the game continues
  steps: number;
}

export class DreamLink implements Link {
  now: Moment | null = null;
  surprises: readonly number[] = []; // nats, of the last decisions
  film: Film | null = null;
  inside: Inside | null = null; // a person plays in the dream
  private readonly page = Math.floor(Math.random() * 2 ** 31);
  private plan = -1; // -1: none yet
  private tick = 0; // of the last decision taken
  private left = 0; // decisions that the worker has
  private asked = 0; // decisions that are under way
  private watchers = 0;
  private coming: { tick: number; moment: Moment; surprise: number }[] = []; // decided, but not yet played
  private unplayed: { tick: number; seen: Picture }[] = []; // the same for the film
  private filmAsked = false;
  private filmTick = 0; // of the last of its truths
  private filmDone = 0; // ms: when it was complete
  private patience: ReturnType<typeof setTimeout> | null = null;
  private soon: ReturnType<typeof setTimeout> | null = null; // pictures of the match are due
  private told = false; // that the match waits
  private keys: Keys | null = null;
  private timer: ReturnType<typeof setInterval> | null = null;
  private unanswered = 0; // steps of the dream
  private resume = false; // the match ran when the dream began

  constructor(
    private readonly ends: Ends,
    signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => this.end(), { once: true });
  }

  /** Whether the policy plays in the kernel. */
  get on(): boolean {
    return this.ends.model.get("config")?.algorithm?.elsewhere === true;
  }

  /** Whether it has a world model, which dreams. */
  get dreams(): boolean {
    return this.on && this.ends.model.get("config")?.algorithm?.name === DREAMER;
  }

  get elsewhere(): boolean {
    return this.on;
  }

  get claims(): boolean {
    return this.on;
  }

  /** Whether there is a match that the policy plays. */
  get playing(): boolean {
    return this.plan >= 0;
  }

  // ---- what a person does

  /** One panel more, or one less, wants to see. */
  watch(wanted: boolean): void {
    this.watchers += wanted ? 1 : -1;
    if (this.watchers > 0) this.imagine();
    else this.forget();
  }

  /** Imagine what comes next from where the match is. */
  imagine(): void {
    if (!this.playing) return;
    this.filmAsked = true;
    this.send({ type: "DREAM", tick: this.tick });
  }

  /** The person plays on in the dream; the match pauses. */
  enter(): void {
    const spec = this.ends.model.get("drill")?.spec;
    if (!spec || !this.playing || this.inside) return;
    this.resume = this.ends.show.playing;
    if (this.resume) this.ends.setShow({ playing: false });
    this.keys = new Keys(spec);
    this.inside = { picture: null, reward: 0, total: 0, continues: 1, steps: -1 };
    this.unanswered = UNDER_WAY;
    this.send({ type: "ENTER_DREAM", tick: this.tick });
    this.timer = setInterval(() => this.act(), 1000 / Math.min(FASTEST, this.rate / this.keep));
    this.changed();
  }

  /** Back to the match, which continues if it did before. */
  leave(): void {
    if (!this.inside) return;
    this.stopTimer();
    this.inside = this.keys = null;
    if (this.resume) this.ends.setShow({ playing: true });
    this.changed();
  }

  /** A key of the person in the dream. */
  key(code: string, down: boolean): void {
    this.keys?.event({ code, down, t: performance.now() });
  }

  releaseKeys(): void {
    this.keys?.releaseAll();
  }

  // ---- the session's side

  /** A show begins. */
  begin(): void {
    this.plan = -1;
    this.forget();
    this.ends.post({ type: "PLAN_AHEAD", id: this.ends.id, on: this.on });
  }

  /** Answers may be lost: the worker asks for another plan. */
  again(): void {
    this.begin();
  }

  /** The worker's match. */
  receive(message: FromWorker): boolean {
    if (message.type === "WANTED") this.wanted(message);
    else if (message.type === "DECIDED") this.decided(message);
    else return false;
    return true;
  }

  /** The answers of the policy's process. */
  receiveFromKernel(message: KernelToPage, bytes: Bytes | undefined): boolean {
    if (message.type === "DECIDE_AGAIN") {
      const mine = message.page === null || (message.page === this.page && message.plan === this.plan);
      if (mine) this.begin();
      return true;
    }
    if (message.type !== "DECISIONS" && message.type !== "IMAGINED" && message.type !== "DREAMT") return false;
    if (message.page !== this.page || message.plan !== this.plan) return true;
    if (message.type === "DECISIONS") this.receiveDecisions(message, bytes);
    else if (bytes && message.type === "IMAGINED") this.receiveFilm(message, new Pictures(bytes));
    else if (bytes && message.type === "DREAMT") this.receiveStep(message, new Pictures(bytes));
    return true;
  }

  /** The worker wants a match to be played from here. */
  private wanted({ plan, tick, state, repeat, opponent }: Worker<"WANTED">): void {
    Object.assign(this, { plan, tick, left: 0, asked: 0, coming: [], unplayed: [] });
    this.ask(this.enough, { state, tick, repeat, opponent, at_reset: this.ends.show.swap === "at_reset" });
    this.patience ??= setTimeout(() => {
      this.told = true;
      this.ends.events.emit("notice", STARTING);
    }, PATIENCE_MS);
    this.changed();
  }

  /** The match has come that far. */
  private decided({ plan, tick, left }: Worker<"DECIDED">): void {
    if (plan !== this.plan) return;
    this.tick = tick;
    this.left = left;
    const missing = this.enough - this.left - this.asked;
    if (missing > (1 - REFILL) * this.enough) this.ask(missing, null);
    this.reach(tick);
  }

  private receiveDecisions({ plan, version, decisions, surprises }: FromKernel<"DECISIONS">, bytes: Bytes | undefined): void {
    if (this.patience !== null) clearTimeout(this.patience);
    this.patience = null;
    if (this.told) this.ends.events.emit("notice", "");
    this.told = false;
    this.asked = Math.max(0, this.asked - decisions.length);
    this.left += decisions.length;
    this.ends.post({ type: "AHEAD", id: this.ends.id, plan, version, decisions });
    if (!bytes || this.watchers === 0) return;
    const pictures = new Pictures(bytes);
    for (const [tick, surprise] of surprises) {
      const moment = { seen: pictures.seen(), made: pictures.made() };
      this.coming.push({ tick, moment, surprise });
      if (tick > this.filmTick) this.unplayed.push({ tick, seen: moment.seen });
    }
  }

  private receiveFilm({ ticks, tick, stride, reward, continues }: FromKernel<"IMAGINED">, pictures: Pictures): void {
    if (this.watchers === 0) return;
    const [seen, made] = [pictures.seen(), pictures.made()];
    this.now ??= { seen, made };
    const imagined = reward.map(() => pictures.made());
    this.film = { imagined, reward, continues, truth: [], ended: false, stride };
    const newer = this.unplayed.filter((known) => known.tick > (ticks.at(-1) ?? tick));
    this.unplayed = [...ticks.map((later) => ({ tick: later, seen: pictures.seen() })), ...newer];
    this.filmAsked = false;
    this.filmTick = tick;
    this.filmDone = 0;
    this.reach(this.tick);
    this.changed();
  }

  private receiveStep({ reward, continues }: FromKernel<"DREAMT">, pictures: Pictures): void {
    if (!this.inside) return;
    const { total, steps } = this.inside;
    this.inside = { picture: pictures.made(), reward, total: steps < 0 ? 0 : total + reward, continues, steps: steps + 1 };
    this.unanswered = steps < 0 ? 0 : this.unanswered - 1;
    this.changed();
  }

  // ---- decisions in time

  /** Decisions a second of the match as it is shown. */
  private get rate(): number {
    const spec = this.ends.model.get("drill")?.spec;
    const { speed, action_repeat } = this.ends.show;
    return spec ? (spec.tick_rate * speed) / (action_repeat || spec.action_repeat) : 1;
  }

  /** Decisions for which the policy keeps an action: a step of its model. */
  private get keep(): number {
    return Number(this.ends.model.get("config")?.algorithm?.values?.repeat ?? 1);
  }

  /** Decisions in advance that make the match run smoothly. */
  private get enough(): number {
    return Math.min(MOST, Math.max(LEAST, Math.ceil(AHEAD_SECONDS * this.rate)));
  }

  private ask(count: number, start: Extract<PageToKernel, { type: "DECIDE" }>["start"]): void {
    this.asked += count;
    this.send({ type: "DECIDE", count, watch: this.watchers > 0, start });
  }

  private send(message: Unaddressed): void {
    this.ends.kernel.send({ ...message, page: this.page, plan: this.plan });
  }

  // ---- what is seen of it

  /** Show what was decided up to that tick. */
  private reach(tick: number): void {
    if (this.watchers === 0) return;
    const passed = this.coming.filter((moment) => moment.tick <= tick);
    this.coming = this.coming.slice(passed.length);
    if (passed.length > 0) {
      this.now = passed.at(-1)!.moment;
      this.surprises = [...this.surprises, ...passed.map(({ surprise }) => surprise)].slice(-SURPRISES);
    }
    this.fillFilm(tick);
    if (passed.length > 0) this.changedSoon();
  }

  /** The truth of the film, as far as the match has come; another film a while after it is complete. */
  private fillFilm(tick: number): void {
    const { film } = this;
    while (film && this.unplayed[0] && this.unplayed[0].tick <= tick) {
      const { tick: at, seen } = this.unplayed.shift()!;
      if (film.ended || film.truth.length === film.imagined.length) continue;
      film.ended = at - this.filmTick > film.stride; // a rest lies between: another game
      if (!film.ended) film.truth.push(seen);
      this.filmTick = at;
    }
    const complete = film && (film.ended || film.truth.length === film.imagined.length);
    if (complete && this.filmDone === 0) this.filmDone = performance.now();
    const due = !film || (complete && performance.now() - this.filmDone > REST_MS);
    if (due && !this.filmAsked && this.ends.show.playing) this.imagine();
  }

  private forget(): void {
    Object.assign(this, { now: null, surprises: [], film: null, filmAsked: false, coming: [], unplayed: [] });
    this.leave();
    this.changed();
  }

  /** One step of the person's dream, unless enough are under way. */
  private act(): void {
    if (this.unanswered >= UNDER_WAY || !this.keys) return;
    this.unanswered++;
    this.send({ type: "DREAM_ACT", action: this.keys.take() });
  }

  private stopTimer(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private end(): void {
    this.stopTimer();
    for (const timer of [this.patience, this.soon]) if (timer !== null) clearTimeout(timer);
  }

  /** At most once in SEEN_MS. */
  private changedSoon(): void {
    this.soon ??= setTimeout(() => this.changed(), SEEN_MS);
  }

  private changed(): void {
    if (this.soon !== null) clearTimeout(this.soon);
    this.soon = null;
    this.ends.events.emit("dream", undefined);
  }
}

/** A message to the policy's process without its address. */
type Unaddressed = OmitAddress<Extract<PageToKernel, { page: number }>>;
type OmitAddress<M> = M extends unknown ? Omit<M, "page" | "plan"> : never;
