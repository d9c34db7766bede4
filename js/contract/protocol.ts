/**
 * The protocol: traits between kernel and page, and messages between page and show worker. Those between page and kernel are in messages.ts.
 * docs/architecture.md describes them.
 *
 * Folder `contract`: names that all of the page shares. It imports nothing from other folders and does nothing.
 */
import type { DrillSpec, EnvironmentSpec } from "./game";
import type { ShowEvent } from "./messages";
import type { MODES, PAGE_ATTRIBUTES, PANELS, RENDERERS, STATUSES, STEP_UNITS, SWAPS, TABS } from "./tables";

export type { Cells, DrillSpec, EnvironmentSpec, Handle } from "./game";
export type { KernelToPage, PageToKernel, PlanStart, ShowEvent } from "./messages";

/** Bytes as they arrive: anywidget gives a DataView, a worker message an ArrayBuffer. */
export type Bytes = ArrayBuffer | ArrayBufferView;

export type Mode = (typeof MODES)[number];
export type Swap = (typeof SWAPS)[number];
export type StepUnit = (typeof STEP_UNITS)[number];
export type PanelName = (typeof PANELS)[number];
export type TabName = keyof typeof TABS;
export type Theme = "light" | "dark";
/** Of the page's root: `data-NAME` (dshq_widget/contract/page_attributes.py). */
export type PageAttribute = (typeof PAGE_ATTRIBUTES)[number];
export type Status = (typeof STATUSES)[number] | "disconnected"; // the page's own word for a kernel that is gone
export type RendererKind = "webgpu" | "canvas2d";
export type RendererChoice = (typeof RENDERERS)[number];
export type Thread = "worker" | "page";

/**
 * kind, colour, x, y, a, b, c, d, e, alpha, tag, spare. `spare` is 0 in a drill's shapes; the page's effects put the softness of
 * the edge there (world units, or -1 for a sharp one) and are painted plain.
 */
export const SHAPE_FLOATS = 12;
export const KIND = { circle: 0, box: 1, line: 2, ring: 3, tag: 4 } as const;

export interface DrillTrait {
  spec: DrillSpec & Partial<Pick<EnvironmentSpec, "pictures">>; // pictures: no rules, the kernel plays it and sends pictures
  javascript: string; // the body of a function that returns the game, see rules.ts
  python?: string; // how Python names the drill: "ball" with its quotes, or a class
}

export interface PolicyTrait {
  version: number; // 0: untrained
  step: number; // agent steps it was trained for
  run?: number; // another one: it replaces what was learned before, and does not wait for the swap interval
  shape_hash: string;
  layers: number[];
  activation: Activation;
  data: Bytes; // float32, little-endian, see policy.ts
}
export type Activation = "tanh" | "relu";

export interface ShowTrait {
  mode: Mode;
  speed: number; // multiples of real time, one of SPEEDS; at 1 the show runs `tick_rate` ticks a second
  playing: boolean;
  seed: number;
  match: number; // counts resets
  swap: Swap; // when a new policy takes over
  swap_interval_ms: number;
  blend_ms: number;
  action_repeat: number; // ticks per decision
  opponent: string; // "idle", "random", one of spec.baselines or a name of the trait `rivals`; "": none in particular
  renderer: RendererChoice;
}

/** Everything the show needs to continue exactly where it was; small enough for a trait. */
export interface Snapshot {
  tick: number;
  score: [number, number];
  version: number;
  state: Bytes; // the game's state block
  rules_hash: string;
  seed: number;
  rng: number; // u32, the show's own generator
  phase: number; // ticks done of the present decision
  rest: number; // ticks left of the run-out after an episode
  memory?: Bytes; // f32, the state of a memory before the next decision, of a policy that has one
}

/** One hyper-parameter as the page shows it. */
export interface ConfigSchemaEntry {
  label: string;
  help: string;
  unit: string;
  kind: string;
  min?: number | null;
  max?: number | null;
  choices?: (string | number)[] | null;
  multiple?: number;
  effect: "now" | "next update" | "restart";
  group?: string;
  network?: boolean; // another value needs another network
}
export type ConfigValue = number | string | boolean | number[];
export interface ConfigTrait {
  engine?: "local" | "page" | "ray"; // where it trains
  algorithm?: AlgorithmSettings | null;
  values: Record<string, ConfigValue>;
  schema: Record<string, ConfigSchemaEntry>; // of the settings that the algorithm reads
  defaults: Record<string, ConfigValue>; // what training of this drill starts from
  presets: Record<string, Preset>;
  start?: StartFrom;
  targets?: Target[]; // weakest first
}
/** Somebody to beat: an opponent's name, the metric that says when it was beaten, and the agent steps that this usually takes, 0: unknown. */
export interface Target {
  name: string;
  metric: string;
  steps: number;
}
/** What training may start from. */
export interface StartFrom {
  offered: string[]; // policies of the ladder
  now: string | null; // one of them, "": an untrained network, null: something was learned already
}
/** What an algorithm adds to the hyper-parameters. A message calls its settings by section and key: `gate.threshold`. */
export interface AlgorithmSettings {
  name: string;
  elsewhere?: boolean; // its policy decides in the kernel, and a page cannot compute it
  values: Record<string, ConfigValue>;
  schema: Record<string, ConfigSchemaEntry>;
  defaults?: Record<string, ConfigValue>;
  curves?: DeclaredCurve[];
  panel?: DeclaredPanel | null;
}
/** A chart that an algorithm declares (dshq_widget/contract/curves.py). */
export interface DeclaredCurve {
  title: string;
  help: string;
  lines: Record<string, string>; // metric: its name in the legend
  format: "number" | "signed" | "percent";
  colour: number; // of the first line, 1 to 6
  zero: boolean; // the axis begins at zero, and the area is filled
  log: boolean; // the axis may be logarithmic
}
/** A panel that an algorithm declares (dshq_widget/contract/panel.py). Its curves are the algorithm's. */
export interface DeclaredPanel {
  title: string; // of its tab
  help: string;
  rows: { key: string; name: string; unit: string; help: string }[]; // metrics by their keys
}
/** A named set of settings; `values` are all that presets are about. */
export interface Preset {
  label: string;
  help: string;
  values: Record<string, ConfigValue>;
}
export type MetricsRow = Record<string, number>;

/** One player of the self-play league as the page shows it. */
export interface LeagueRow {
  name: string;
  rank: number; // 1: the strongest of all, also of those that are not sent
  pinned: boolean; // a script whose rating stands
  elo: number;
  elo_low: number; // of the 95 % band
  elo_high: number;
  champion?: boolean;
  version?: number; // of a snapshot
  step?: number; // agent steps it was trained for
  against: Record<string, [points: number, matches: number]>; // by the name of each shown player that it met
}

/** Touches of the ball, shots and goals a minute of match time: of late, and before anything was learned where that was seen here. */
export interface Liveliness {
  now: { touches: number; shots: number; goals: number };
  untrained: Liveliness["now"] | null;
}

/** A key goes down or up. `t`: performance.now() of the page, in ms. */
export interface KeyInput {
  code: string;
  down: boolean;
  t: number;
}

/** What a person or the trainer did to a match, as its recording keeps it. Positions in world units, velocities per second of show time. */
export type MatchInput =
  | { kind: "reset"; seed: number }
  | { kind: "mode"; mode: Mode; opponent: string }
  | { kind: "repeat"; ticks: number } // per decision, from now on
  | { kind: "policy"; version: number }
  | { kind: "take"; on: boolean } // Shift: a person plays side 0
  | { kind: "key"; code: string; down: boolean }
  | { kind: "cell"; option: number } // clicked
  | { kind: "hold"; handle: string; x: number; y: number; vx: number; vy: number } // before every tick, until thrown
  | { kind: "throw"; handle: string; x: number; y: number; vx: number; vy: number };

/** A deed and the tick it was done before. */
export type StampedInput = MatchInput & { tick: number };

/**
 * A match that can be played again to the bit: js/match/replay.ts and dshq_widget/env/replay.py do. `start` is null where it begins with the
 * reset to `seed`; else that moment, because the page was loaded again or the match grew too long to keep whole.
 */
export interface Recording {
  format?: string; // REPLAY_FORMAT; release 0.1.0 wrote none
  drill: string;
  rules_hash: string;
  seed: number;
  start: { tick: number; phase: number; rest: number; state: string } | null; // `state`: its bytes in hex
  inputs: StampedInput[]; // in order
  actions: number[]; // of every decision: side 0, then side 1
  ticks: number; // the tick at which it ends
  sha256: string; // of the state there
}

/** A PNG is a film of one picture: the last. */
export type FilmFormat = "gif" | "webm" | "png";
export interface FilmOrder {
  format: FilmFormat;
  spec: DrillSpec;
  javascript: string;
  recording: Recording;
  theme: Theme;
  caption: FilmCaption;
}

/** What is written under a film. */
export interface FilmCaption {
  names: [string, string];
  score: [number, number] | null; // when the recording ends; null in a drill of one side
  version: number; // 0: nothing has been trained
  curve: number[]; // of learning, from the left to the right, 0 (bottom) to 1
  newest: string; // what it shows and its last value: "win rate 94%"
}

/** A pointer on a canvas. `x`, `y` in CSS pixels from its upper left, `t` in ms of the page's clock. */
export interface PointerInput {
  kind: "down" | "move" | "up" | "leave";
  pointer: number; // PointerEvent.pointerId
  touch: boolean; // a finger: it needs more room
  x: number;
  y: number;
  t: number;
}
/** Over what the pointer is: nothing, something to take, or something in the hand. */
export type Cursor = "" | "grab" | "grabbing";

/** `view` tells apart several canvases of one widget (default 0); the match is one, every canvas shows it. */
interface ToView {
  id: string;
  view?: number;
}
interface ToShow {
  id: string;
}

/** Messages that features send between page and show worker: type -> what it carries. A feature declares its own beside its code. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureToWorker {}
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureFromWorker {}
type Sent<Messages> = { [Type in keyof Messages]: { type: Type; id: string } & Messages[Type] }[keyof Messages];

/** Page -> show worker (or page -> Host, when it runs on the page itself). Sizes are CSS pixels, `dpi` device pixels per CSS pixel. */
export type ToWorker =
  | Sent<FeatureToWorker>
  | { type: "PROBE"; id: string }
  | (ToView & {
      type: "INIT_CANVAS";
      offscreen: OffscreenCanvas | HTMLCanvasElement;
      width: number;
      height: number;
      dpi: number;
      theme: Theme;
      reducedMotion?: boolean;
      renderer?: RendererKind; // what the page chose; canvas2d never asks for a GPU
      reason?: string;
    })
  | (ToShow & { type: "DRILL" } & DrillTrait)
  | (ToShow & { type: "POLICY"; version: number; layers: number[]; activation: Activation; data: Bytes; replaces?: boolean })
  | (ToShow & { type: "RIVAL"; name: string; version: number; layers: number[]; activation: Activation; data: Bytes }) // before SET_MODE names it
  | (ToShow & { type: "SET_MODE"; mode: Mode; opponent?: string })
  | (ToShow & { type: "INPUT_BATCH"; events: KeyInput[] })
  | (ToShow & { type: "TAKE_OVER"; on: boolean })
  | (ToView & { type: "POINTER" } & PointerInput)
  | (ToShow & { type: "SHOW_CONFIG"; action_repeat?: number; swap?: Swap; swap_interval_ms?: number; blend_ms?: number })
  | (ToShow & { type: "PLAY" })
  | (ToShow & { type: "PAUSE" })
  | (ToShow & { type: "STEP"; unit: StepUnit; count: number })
  | (ToShow & { type: "SKIP" }) // to the next goal
  | (ToShow & { type: "RESET_SHOW"; seed?: number })
  | (ToShow & { type: "SET_SIM_SPEED"; multiplier: number })
  | (ToView & { type: "RESIZE"; width: number; height: number; dpi: number })
  | (ToView & { type: "THEME"; theme: Theme; reducedMotion?: boolean })
  | (ToView & { type: "VISIBLE"; visible: boolean })
  | (ToShow & { type: "SPARE"; frames: number }) // something trains on this machine: where a processor draws, this number a second is enough; 0: all again
  | (ToShow & { type: "RESTORE"; snapshot: Snapshot })
  | (ToShow & { type: "RECORD" }) // answered by RECORDING
  | (ToShow & { type: "REPLAY"; recording: Recording | null }) // in the live match's place, which stands still; null: back to it
  | (ToShow & { type: "FILM" } & FilmOrder) // to a host of its own
  | (ToShow & { type: "CAPTURE" }) // answered by SCENE
  | (ToShow & {
      type: "INSPECT";
      player?: number;
      map?: boolean;
      sight?: boolean;
      watch?: boolean;
      weights?: Record<string, number>;
    })
  | (ToView & { type: "PICK"; x: number; y: number }) // choose the player there; CSS pixels of the canvas
  | (ToShow & { type: "IMAGINE"; repeat: boolean })
  | (ToShow & { type: "GHOST"; outcome: number }) // the path of one of the last OUTCOMES; -1: none
  | (ToView & { type: "DISPOSE" }); // with `view`: that canvas only; without: the whole show

/** What a policy thinks as one side, see mind/analysis.ts. */
export interface Thought {
  value: number; // reward that the side expects from here on
  action: number[]; // the option of each choice that is being carried out
  probabilities: number[][]; // one row per choice of spec.actions
  observations: number[]; // [n_obs], in units of each one's scale
  saliency: number[]; // [n_obs] |d log p(action) / d observation|
}

/** One finished game: what its reward terms added up to, unweighted. Potentials: the sums after and before each decision. */
export interface Episode {
  winner: number; // as in the rules: +1 side 0, -1 side 1, 0 nobody
  decisions: number;
  after: number[][]; // [side][term]
  before: number[][]; // [side][term]; 0 for rewards
}

/** What a shared server adds; empty on somebody's own machine. */
export interface QuotaTrait {
  minutes?: number; // of training before it stops by itself; 0: no limit
  left?: number; // s of them
  earlier?: { saved_at: number; version: number; step: number } | null; // a run to continue with; saved_at: s since 1970
  league?: boolean; // whether there is one to submit to
  sent?: { state: "" | "sending" | "sent" | "failed"; text: string };
}

/** A scene that is practised. `before` is when it was first practised; null until measured. */
export interface SceneRow {
  key: string;
  places: [x: number, y: number][]; // of each handle of spec.drag, world units
  before: Success | null;
  now: Success | null;
}
/** How often side 0 won from there against the drill's first baseline, and the policy version that played. */
export interface Success {
  share: number;
  version: number;
}

/** What came of a move one second later, on a copy of the game. */
export interface Outcome {
  action: number[]; // the option of each choice
  probability: number;
  made: boolean; // it is the move that is being carried out
  change: number; // reward gathered, and the value of the position after less that before
  winner: number; // as in the rules, where the episode ended; else 0
  ended: boolean; // by the rules or by the clock
  paths: number[][]; // x, y after each decision, of each handle of spec.drag; world units
}

/** Show worker -> page. */
export type FromWorker =
  | Sent<FeatureFromWorker>
  | { type: "CAPABILITIES"; id: string; capabilities: Capabilities }
  | { type: "READY"; id: string; view: number; renderer: RendererKind; thread: Thread; reason: string }
  | {
      type: "STATE";
      id: string;
      tick: number;
      score: [number, number];
      version: number;
      fps: number;
      frame_ms?: number; // within which 95 of 100 frames came after the one before, of the last two hundred
      playing: boolean;
      events: ShowEvent[];
      probabilities: number[][]; // side 0, one row per choice of spec.actions; [] before any policy
      value: number; // side 0; 0 before any policy
      lively?: Liveliness | null; // null: nothing to tell
      holder?: number; // the side whose player is nearest to the ball, -1: there is none
    }
  | ({ type: "SNAPSHOT"; id: string } & Snapshot)
  | {
      type: "MIND";
      id: string;
      player: number; // the chosen side
      version: number;
      range: number; // value at the ends of the map's legend; 0 where there is no map
      standing: boolean; // the last OUTCOMES still speak of this position
      thought: Thought | null; // null before any policy
    }
  | { type: "OUTCOMES"; id: string; player: number; outcomes: Outcome[] } // none: no decision can be made here
  | { type: "CURSOR"; id: string; view: number; cursor: Cursor }
  | { type: "RECORDING"; id: string; recording: Recording }
  | { type: "REPLAYING"; id: string; problem: string } // to each REPLAY of a recording: why it was refused, or ""
  | { type: "FILMED"; id: string; share: number; content: ArrayBuffer | null } // 0..1 of the film is made; all of it is here
  | { type: "SCENE"; id: string; state: string; over: boolean } // the game now, its bytes in hex; `over`: it has just ended
  | { type: "SCORES"; id: string; episodes: Episode[] } // the last ones, oldest first
  /** This canvas can draw no more (its GPU is gone for good): put a fresh one there and send INIT_CANVAS again. */
  | { type: "CANVAS_LOST"; id: string; view: number; renderer?: RendererKind; reason: string } // without a renderer: as at first
  | { type: "ERROR"; id: string; text: string };

/** What one thread can draw with, found out without touching a canvas. */
export interface Capabilities {
  secure: boolean; // isSecureContext: browsers offer WebGPU only over https and on localhost
  gpu: boolean; // navigator.gpu exists
  device: boolean; // an adapter and a device were given
  error: string; // why not, in the browser's words, or ""
  offscreen: boolean; // OffscreenCanvas exists in this thread
}

/** Sends the page a message of one widget. */
export type ToPage = (message: WithoutId<FromWorker>) => void;
type WithoutId<M> = M extends unknown ? Omit<M, "id"> : never;
