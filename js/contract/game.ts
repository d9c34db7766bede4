/** What a game is. Written by `make tables` from dshq_widget/contract/game_spec.py: change it there. */

/** One field of a drill's state. `length` 0: a scalar. */
export type Field = [name: string, type: "f32" | "i32" | "u32" | "bool", length: number];

/** One factor of an action: named options to choose from. The first option applies when no key is pressed. */
export interface Choice {
  name: string;
  options: string[];
}

/** One input of the policy. `scale` is the world value that reads 1.0, in `unit`: it labels the page's gauges, and `observe` divides by it. `help`: what it means, where the name does not say all. */
export interface Observation {
  name: string;
  scale: number;
  unit: string;
  help: string;
}

/** A reward term: a `reward` is paid once per decision, of a `potential` the difference. `help`: what for. */
export interface Term {
  name: string;
  weight: number;
  kind: "reward" | "potential";
  help: string;
}

/** Something that can be dragged: the state fields of its position and velocity; `index` selects an element of array fields. `kind` says how it is drawn: "player", that of side `index`, or "ball", which nobody plays. */
export interface Handle {
  name: string;
  x: string;
  y: string;
  vx: string;
  vy: string;
  index: number;
  kind: "player" | "ball";
}

/** Cells of the world that a person may click: `choice` then takes the option whose number is the cell's. Cells are numbered row by row from the lower left one, whose corner is at x0, y0; `size` is a cell's edge, in world units. */
export interface Cells {
  columns: number;
  rows: number;
  x0: number;
  y0: number;
  size: number;
  choice: string;
}

/** What every game says of itself: to those who train on it and to the page that shows it. */
export interface GameSpec {
  /** An identifier; policy files find the game by it. */
  name: string;
  /** What people read. */
  title: string;
  sides: number;
  /** Ticks per second. */
  tick_rate: number;
  /** Ticks per decision. */
  action_repeat: number;
  /** Ticks after which an episode ends; 0: never. */
  time_limit: number;
  /** x0, y0, x1, y1 of what is drawn, in world units; y points up. */
  world: [number, number, number, number];
  n_obs: number;
  /** Outputs of a policy, besides the value. */
  n_actions: number;
  /** Changes when the rules, the observations or the actions change. */
  rules_hash: string;
  terms: Term[];
  /** Scripts to play against. */
  baselines: string[];
  /** Some actions are forbidden at times. */
  masked: boolean;
  /** Mean return of a game of one side that counts as solved. */
  target: number | null;
  /** The speed at which the page begins to show it. */
  show_speed: number;
  /** The layer in front of the network's dense ones, as `layers` has it. */
  front: number[];
  /** What trains it unless somebody chooses another. */
  algorithm: string;
  /** Algorithm -> settings of its own that suit this game better than its defaults. */
  algorithm_settings: Record<string, Record<string, unknown>>;
  /** Shared settings that suit this game better than the defaults. */
  training: Record<string, unknown>;
}

/** A drill without its author's class or source. */
export interface DrillSpec extends GameSpec {
  /** The state, in the order of its record. */
  fields: Field[];
  actions: Choice[];
  /** KeyboardEvent.code -> choice and option. */
  keys: Record<string, [string, string]>;
  observations: Observation[];
  drag: Handle[];
  /** Names of paints; shapes have their indices. */
  palette: string[];
  /** Shapes. */
  scene_max: number;
  /** Side 1 sees the world turned by half a turn. */
  mirrored: boolean;
  /** What the game is and how it is won. */
  about: string;
  /** Fields that change sign in the half turn. */
  half_turn: string[];
  observation_range: [number, number] | null;
  /** That a person may click. */
  cells: Cells | null;
  /** Paint -> its shade in frames of four. */
  shades: Record<string, number>;
  /** Paints whose boxes have a nose in frames of four. */
  pointed: string[];
  /** Paint -> what it shows. */
  legend: Record<string, string>;
  /** What to look at, for who sees the game for the first time. */
  hint: string;
  tags: string[];
  /** There is a rule `scene`. */
  drawn: boolean;
  /** What perfect play reaches, or the baseline that plays perfectly. */
  optimum: number | string | null;
}

/** How an environment is made, and what a policy reads and does there; a policy file has it too. */
export interface Made {
  /** As `gymnasium.make` takes it. */
  id: string;
  actions: unknown;
  /** Shape of the one picture that is observed; none: numbers, or `pictures`. */
  pixels: number[];
  /** Their names, the outermost first. */
  wrappers: string[];
  /** Parts of the observations that are not read, as texts. */
  left_out: string[];
  /** Shapes of the pictures that are observed in one row, with numbers behind them (policy/layout.py). */
  pictures: number[][];
}

/** An environment of Gymnasium: it has no rules, so the kernel plays the show and the page draws its frames. */
export interface EnvironmentSpec extends GameSpec {
  environment: Made;
  atari: boolean;
  pictures: true;
}
