/**
 * Runs the match on the page: fixed ticks, decisions, episodes, score, events. Free of DOM, GPU and clock; nothing is allocated per
 * tick. The caller calls `advance(seconds)` once a frame and draws `previous` -> `current` at `alpha`.
 *
 * Folder `match`: the game, its players and its recording. Free of DOM, GPU and threads.
 */

import type { Recording, ShowEvent, Snapshot, StepUnit } from "../contract/protocol";
import { type DrillSpec, type KeyInput, type MatchInput, type Mode, SHAPE_FLOATS } from "../contract/protocol";
import { REPLAY_FORMAT, REST_SECONDS, SHOW_DEFAULTS, SPEEDS } from "../contract/tables";
import { wrongInSnapshot } from "./bounds";
import type { Elsewhere } from "./decider";
import { Deciders } from "./deciders";
import { Hand } from "./hand";
import { Body } from "./handles";
import { copyOf, type Policy } from "./network/policy";
import { MatchLog, stateHash, stateHex } from "./recording";
import type { Game, GameState } from "./rules";
import { Scores } from "./scores";
import type { Script } from "./script";
import { Touches } from "./touches";

const MAX_FRAME_SECONDS = 0.25; // a longer gap (a hidden tab, a breakpoint) is not caught up with
const FRAME_BUDGET_MS = 12; // of simulation per frame; beyond it time is let go rather than owed (no spiral)
const TICKS_PER_CLOCK_LOOK = 16;
const SKIP_SPEED = 60; // times real time, on the way to the next goal
const SKIP_SECONDS = 120; // of show time, at most

/** Called at every tick and event, for effects; must not touch the state. */
interface Spectator {
  ticked(): void;
  happened(event: ShowEvent): void;
}

export class Show {
  readonly state: GameState;
  tick = 0; // since the show began; falls only at reset()
  score: [number, number] = [0, 0]; // goals; of one side: return and decisions of the present episode
  seed = 0;
  playing = true;
  private spectator: Spectator | null = null;
  events: ShowEvent[] = []; // since the last takeEvents()

  readonly previous: Float32Array; // the scene one tick ago, [count * 12]
  readonly current: Float32Array;
  count = 0; // shapes in both
  changes = 0; // counts everything that may change the picture while paused

  actionRepeat: number;
  speed: number = SHOW_DEFAULTS.speed;

  private credit = 0; // ticks owed by the clock
  private steps = 0; // ticks since the page began to draw this show
  private phase = 0; // ticks done of the present decision
  private rest = 0; // ticks left of the run-out after an episode: nobody decides, the ball rolls on, nothing counts
  private previousCount = 0;
  private cut = false; // the last tick began an episode: nothing to interpolate from
  private skip = 0; // ticks left in which to find the next goal
  private owed = 0; // ticks left of steps that wait for a decision
  private readonly log = new MatchLog();
  readonly scores: Scores;
  readonly touches: Touches;
  readonly deciders: Deciders;
  private waitingInputs: MatchInput[] = []; // done by the person, in force from the next decision on
  private readonly terms: Float32Array;

  readonly bodies: readonly Body[]; // what a pointer may move
  readonly hand: Hand;

  /** With `script` the show plays that recording again, whatever its deciders say, and stands still at its end. */
  constructor(
    readonly game: Game,
    readonly spec: DrillSpec,
    seed = 0,
    readonly now: () => number = () => performance.now(),
    readonly script: Script | null = null,
  ) {
    this.state = game.create();
    this.actionRepeat = spec.action_repeat;
    this.deciders = new Deciders(game, spec, now);
    this.bodies = spec.drag.map((handle) => new Body(this.state, handle));
    this.hand = new Hand(
      spec.world,
      (input) => this.logInput(input),
      () => this.putByHand(),
    );
    this.scores = new Scores(game, spec);
    this.touches = new Touches(spec, this.bodies);
    this.terms = new Float32Array(spec.terms.length);
    this.previous = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    this.current = new Float32Array(spec.scene_max * SHAPE_FLOATS);
    this.reset(seed);
  }

  get version(): number {
    return this.deciders.version;
  }

  /** On its way to the next goal. */
  get skipping(): boolean {
    return this.skip > 0;
  }

  /** Whether the game has ended, by the rules or by the clock. */
  get over(): boolean {
    return Boolean(this.game.terminated(this.state)) || this.state.ticks[0]! >= this.spec.time_limit;
  }

  /** How far the picture is between `previous` and `current`, 0..1. */
  get alpha(): number {
    return this.playing || this.skipping ? Math.min(this.credit, 1) : 1;
  }

  /** Seconds of show time that the picture shows: ticks and what of the present tick has passed. */
  get time(): number {
    return (this.steps + this.alpha) / this.spec.tick_rate;
  }

  watchedBy(spectator: Spectator): void {
    this.spectator = spectator;
  }

  // ---- transport

  /** Let `seconds` of real time pass. */
  advance(seconds: number): void {
    this.stepOn();
    if (!this.playing && !this.skipping) return;
    const wasSkipping = this.skipping;
    const rate = wasSkipping ? SKIP_SPEED : this.speed;
    this.credit += Math.min(Math.max(seconds, 0), MAX_FRAME_SECONDS) * rate * this.spec.tick_rate;
    const due = Math.floor(this.credit);
    const start = this.now();
    const { slow } = this.deciders;
    for (let done = 1; done <= due; done++) {
      const late = (slow || done % TICKS_PER_CLOCK_LOOK === 0) && this.now() - start > FRAME_BUDGET_MS;
      if (this.waits()) {
        this.keepScene();
        this.takeScene();
        this.credit = 0;
        return;
      }
      if (late || done === due) this.keepScene();
      this.step();
      const found = wasSkipping && !this.skipping;
      if (late || done === due || found) this.takeScene();
      if (late || found) {
        this.credit = 0;
        return;
      }
    }
    this.credit -= due;
  }

  /** Pause, then advance by exactly `count` ticks, or by the ticks of `count` decisions. */
  stepBy(unit: StepUnit, count: number): void {
    this.pause();
    this.owed = count * (unit === "decision" ? this.actionRepeat : 1);
    this.stepOn();
  }

  /** The ticks that are owed, as far as decisions are there. */
  private stepOn(): void {
    for (; this.owed > 0 && !this.waits(); this.owed--) {
      this.keepScene();
      this.step();
      this.takeScene();
    }
  }

  /** Whether this is the end of the recording that is played again. */
  get ended(): boolean {
    return this.script?.over(this.tick) ?? false;
  }

  /** Whether the next tick waits for a decision that is made elsewhere, or there is none. */
  private waits(): boolean {
    if (this.script) return this.ended;
    return this.rest === 0 && this.phase === 0 && this.deciders.waits(this.state, this.tick, this.actionRepeat);
  }

  /** Run fast until somebody scores, playing or paused; after SKIP_SECONDS of show time without a goal, continue as before. */
  skipToGoal(): void {
    this.skip = SKIP_SECONDS * this.spec.tick_rate;
    this.changes++;
  }

  play(): void {
    this.playing = true;
    this.owed = 0;
    this.changes++;
  }

  pause(): void {
    this.playing = false;
    this.skip = 0;
    this.owed = 0;
    this.credit = 0;
    this.changes++;
  }

  /** A new match: same seed, same match, as far as the policies and the person act the same. */
  reset(seed = this.seed): void {
    this.seed = seed >>> 0;
    this.deciders.reset(this.seed);
    this.tick = 0;
    this.score = [0, 0];
    this.credit = 0;
    this.skip = 0;
    this.owed = 0;
    this.waitingInputs = [];
    this.hand.open();
    this.log.begin(null);
    this.logInput({ kind: "reset", seed: this.seed });
    this.logSettings();
    this.state.rng_key[0] = this.seed;
    this.state.rng_count[0] = 0;
    this.nextEpisode();
    this.takeScene();
    this.emit("reset", -1);
  }

  /** Throws an Error for a speed that is not offered. */
  setSpeed(speed: number): void {
    if (!(speed >= SPEEDS[0] && speed <= SPEEDS[SPEEDS.length - 1]!)) {
      throw new Error(`Speed ${speed} is not offered: choose one of ${SPEEDS.join(", ")}.`);
    }
    this.speed = speed;
  }

  // ---- who plays

  /** "" for `opponent`: none in particular, and a person meets the policy. Throws an Error for an unknown mode or opponent. */
  setMode(mode: Mode, opponent = this.deciders.named): void {
    this.deciders.setMode(mode, opponent);
    this.waitingInputs.push({ kind: "mode", mode, opponent });
  }

  /** From the next decision on side 0 is the person's, or given back. */
  takeOver(on: boolean): void {
    if (on === this.deciders.taken) return;
    this.deciders.take(on);
    this.deciders.keys.forgetTaps();
    this.waitingInputs.push({ kind: "take", on });
    this.changes++;
  }

  /** Ticks per decision, from now on. */
  setActionRepeat(ticks: number): void {
    if (ticks === this.actionRepeat) return;
    this.actionRepeat = ticks;
    this.logInput({ kind: "repeat", ticks });
  }

  /**
   * The policy plays from the next decision on; until then nothing changes, and the state never does. `replaces`: it waits neither for the
   * swap interval nor for a new game.
   */
  setPolicy(policy: Policy, replaces = false): void {
    this.deciders.next.offer(policy, replaces);
    if (!this.deciders.policy) this.swap();
  }

  input(event: KeyInput): void {
    this.deciders.keys.event(event);
    this.waitingInputs.push({ kind: "key", code: event.code, down: event.down });
  }

  /** The person clicked a cell: its number is the option of the drill's `cells.choice`. */
  chooseCell(option: number): void {
    const choice = this.spec.actions.findIndex(({ name }) => name === this.spec.cells?.choice);
    if (choice < 0) return;
    this.deciders.keys.choose(choice, option);
    this.waitingInputs.push({ kind: "cell", option });
    this.changes++;
  }

  /** Whether a hand holds the object at this index of the drill's `drag`. */
  held(handle: number): boolean {
    return this.hand.holds(this.bodies[handle]!);
  }

  /** What it has just put somewhere is seen at once. */
  private putByHand(): void {
    this.touches.begin();
    if (this.playing) return; // the next tick is drawn soon enough
    this.cut = true;
    this.takeScene();
  }

  takeEvents(): ShowEvent[] {
    const events = this.events;
    this.events = [];
    return events;
  }

  // ---- recordings and snapshots

  /** The match up to this tick, as js/match/replay.ts and dshq_widget/env/replay.py play it again. */
  recording(): Recording {
    const { name: drill, rules_hash } = this.spec;
    const end = { ticks: this.tick, sha256: stateHash(this.state.buffer) };
    return { format: REPLAY_FORMAT, drill, rules_hash, seed: this.seed, ...this.log.read(), ...end };
  }

  snapshot(): Snapshot & { state: ArrayBuffer } {
    return {
      tick: this.tick,
      score: [...this.score],
      version: this.version,
      state: this.state.buffer.slice(0),
      rules_hash: this.spec.rules_hash,
      seed: this.seed,
      rng: this.deciders.rng.state,
      phase: this.phase,
      rest: this.rest,
      ...(this.deciders.memory.length > 0 && { memory: this.deciders.memory.buffer }),
    };
  }

  /** Continue from a snapshot. Throws an Error, and changes nothing, when it is of other rules or of no match. */
  restore(snapshot: Snapshot): void {
    const bytes = this.state.buffer.byteLength;
    if (snapshot.rules_hash !== this.spec.rules_hash || snapshot.state.byteLength !== bytes) {
      throw new Error("The saved match was made with other rules. A new match has started.");
    }
    const [state, memory] = [snapshot.state, snapshot.memory ?? new ArrayBuffer(0)].map(copyOf) as [ArrayBuffer, ArrayBuffer];
    const wrong = wrongInSnapshot(snapshot, this.game.create(state).ticks[0]!, memory, this.spec);
    if (wrong.length > 0) throw new Error(`The saved match has ${wrong.join(" and ")} that no match has. A new match has started.`);
    new Uint8Array(this.state.buffer).set(new Uint8Array(state));
    this.tick = snapshot.tick;
    this.score = [...snapshot.score];
    this.seed = snapshot.seed;
    this.deciders.rng.restart(snapshot.rng);
    this.phase = snapshot.phase;
    this.rest = snapshot.rest;
    this.deciders.takeUp(snapshot.version);
    this.credit = 0;
    this.hand.open();
    this.scores.forget();
    this.deciders.another();
    if (memory.byteLength > 0) this.deciders.recall(new Float32Array(memory));
    this.log.begin(this.moment());
    this.logSettings();
    this.cut = true;
    this.takeScene();
  }

  // ---- one tick

  private step(): void {
    this.steps++;
    if (this.log.full) this.turnLog();
    this.followInputs();
    if (this.hand.put()) this.touches.begin();
    if (this.rest === 0 && this.phase === 0) this.decide();
    this.game.tick(this.state);
    this.tick++;
    this.touches.ticked(this.version);
    this.spectator?.ticked();
    if (this.ended) this.followInputs();
    if (this.skip > 0 && --this.skip === 0) this.emit("goalless", -1);
    if (this.rest > 0) {
      if (--this.rest === 0) this.nextEpisode();
      return;
    }
    this.phase++;
    if (this.phase >= this.actionRepeat) {
      this.phase = 0;
      this.scores.decided(this.state);
      this.deciders.decided(this.state);
      if (this.spec.sides === 1) this.earn();
      if (this.over) this.endEpisode();
    }
  }

  private decide(): void {
    if (this.deciders.next.due("now")) this.swap();
    for (const input of this.waitingInputs) this.logInput(input);
    this.waitingInputs.length = 0;
    if (this.script) this.script.decide(this.state.action, this.tick);
    else if (this.deciders.elsewhere) this.follow(this.deciders.elsewhere);
    else {
      const sides = Array.from({ length: this.spec.sides }, (_, side) => side);
      const chosen = sides.map((side) => this.deciders.choose(this.state, side, this.tick, this.actionRepeat));
      this.state.action.set(chosen); // all at once: a script must not find in `action` what another side is about to do
    }
    this.log.addActions(this.state.action);
    this.game.decide(this.state);
  }

  /** Does what was done before this tick in the recording that is played again. */
  private followInputs(): void {
    for (const input of this.script?.inputs(this.tick) ?? []) {
      if (input.kind === "repeat") this.setActionRepeat(input.ticks);
      if (input.kind === "policy") this.deciders.takeUp(input.version);
      if (input.kind !== "hold" && input.kind !== "throw") continue;
      this.hand.follow(input, this.bodies.find(({ handle }) => handle.name === input.handle)!);
    }
  }

  /** Carries out what was decided elsewhere. */
  private follow(elsewhere: Elsewhere): void {
    const before = elsewhere.version;
    const actions = elsewhere.take();
    for (let side = 0; side < this.spec.sides; side++) this.state.action[side] = actions[side]!;
    if (elsewhere.version === before) return;
    this.logInput({ kind: "policy", version: elsewhere.version });
    this.emit("swap", -1);
  }

  /** One side: add what the decision that is over has earned; potentials only guide learning and are left out. */
  private earn(): void {
    this.game.terms(this.state, 0, this.terms);
    this.spec.terms.forEach(({ weight, kind }, k) => {
      if (kind === "reward") this.score[0] += weight * this.terms[k]!;
    });
    this.score[1]++;
  }

  private endEpisode(): void {
    const winner = this.game.winner(this.state);
    this.scores.end(winner);
    if (winner !== 0) this.skip = 0;
    if (winner !== 0 && this.spec.sides === 2) this.score[winner > 0 ? 0 : 1]++;
    if (winner === 0) this.emit("draw", -1);
    else {
      this.touches.scored();
      this.emit("goal", winner > 0 ? 0 : 1);
    }
    const seconds = winner === 0 ? REST_SECONDS.draw : REST_SECONDS.goal;
    this.rest = Math.max(1, Math.round(seconds * this.spec.tick_rate)); // without a rest no new game would begin
  }

  private nextEpisode(): void {
    this.rest = 0;
    this.phase = 0;
    this.hand.open(); // a new game begins
    if (this.deciders.next.due("at_reset")) this.swap();
    if (this.spec.sides === 1) this.score = [0, 0];
    this.state.practice[0] = 0;
    this.game.reset(this.state);
    this.deciders.forget();
    this.scores.begin(this.state);
    this.touches.begin();
    this.cut = true;
  }

  private swap(): void {
    this.deciders.swap(this.tick);
    this.logInput({ kind: "policy", version: this.version });
    this.emit("swap", -1);
  }

  // ---- the log

  private logInput(input: MatchInput): void {
    this.log.addInput(this.tick, input);
  }

  /** What a log that begins here has to know beside the state. */
  private logSettings(): void {
    const { mode, named: opponent, taken } = this.deciders;
    this.logInput({ kind: "mode", mode, opponent });
    this.logInput({ kind: "repeat", ticks: this.actionRepeat });
    this.logInput({ kind: "policy", version: this.version });
    if (taken) this.logInput({ kind: "take", on: true });
    this.hand.tell();
  }

  private turnLog(): void {
    this.log.turn(this.moment());
    this.logSettings();
  }

  private moment(): Recording["start"] {
    return { tick: this.tick, phase: this.phase, rest: this.rest, state: stateHex(this.state.buffer) };
  }

  // ---- what is seen

  private keepScene(): void {
    this.previousCount = this.game.scene(this.state, this.previous);
  }

  private takeScene(): void {
    this.count = this.game.scene(this.state, this.current);
    if (this.cut || this.count !== this.previousCount) this.previous.set(this.current);
    this.cut = false;
    this.changes++;
  }

  private emit(kind: ShowEvent["kind"], side: number): void {
    const event = { kind, tick: this.tick, side, version: this.version };
    this.events.push(event);
    this.spectator?.happened(event);
  }
}
