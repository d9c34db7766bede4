/** Loads a drill's rules, which the kernel translated to JavaScript (docs/architecture.md, "JavaScript form"). */

/** A game: one block of 4-byte words, seen through one typed array per field. The drill's own fields are there by name. */
export interface GameState {
  readonly buffer: ArrayBuffer;
  readonly rng_key: Uint32Array; // [1]
  readonly rng_count: Uint32Array; // [1]
  readonly practice: Int32Array; // [1] 1: start from the training distribution, 0: a proper match start
  readonly ticks: Int32Array; // [1] since the episode began
  readonly action: Int32Array; // [sides]
}

export interface Game {
  words: number;
  create(buffer?: ArrayBuffer): GameState;
  reset(s: GameState): void;
  decide(s: GameState): void;
  tick(s: GameState): void;
  observe(s: GameState, side: number, out: Float32Array): void; // out: [n_obs]
  mask?(s: GameState, side: number, out: Uint8Array): void; // out: [n_actions], 1 for what is allowed; some drills have one
  terms(s: GameState, side: number, out: Float32Array): void; // out: [n_terms]
  terminated(s: GameState): boolean | number;
  winner(s: GameState): number; // +1 side 0 won, -1 side 1 won, 0 nobody
  random(s: GameState, out: Int32Array): void; // out: [sides]
  scene(s: GameState, out: Float32Array): number; // out: [scene_max * 12], returns the number of shapes
  baselines: Record<string, (s: GameState, side: number) => number>;
}

const VERBS = ["create", "reset", "decide", "tick", "observe", "terminated", "winner", "scene"] as const;

/**
 * The game object made by `javascript`, the body of a function that the kernel translated from a checked syntax tree.
 * Throws an Error with one sentence when it does not run or lacks a verb.
 */
export function loadRules(javascript: string): Game {
  let game: Partial<Game>;
  try {
    game = new Function(javascript)() as Partial<Game>;
  } catch (error) {
    throw new Error(`The drill's rules do not run in this browser (${(error as Error).message}). Reload the page. If the error stays, report it.`);
  }
  const missing = VERBS.filter((verb) => typeof game?.[verb] !== "function");
  if (missing.length > 0) {
    throw new Error(`The drill's rules lack ${missing.join(", ")}. Kernel and page have different versions. Restart the kernel and reload the page.`);
  }
  return game as Game;
}
