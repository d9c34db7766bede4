/** Games of a few words for tests of search: what a decision does, what it pays and when it ends are functions of the test. */
import type { DrillSpec } from "../../../contract/protocol";
import { Policy } from "../../../match/network/policy";
import type { Game, GameState } from "../../../match/rules";
import { PLAIN } from "../../../tests/harness/plain";

/** `memory` is the game's to use; observations are none. */
export interface LittleState extends GameState {
  readonly memory: Float32Array; // [8]
}

interface Rules {
  actions: number;
  decide(s: LittleState): void;
  reward(s: LittleState): number;
  terminated(s: LittleState): boolean;
}

const WORDS = 13;

export function littleGame({ actions, decide, reward, terminated }: Rules): { game: Game; spec: DrillSpec } {
  const create = (buffer = new ArrayBuffer(4 * WORDS)): LittleState => ({
    buffer,
    rng_key: new Uint32Array(buffer, 0, 1),
    rng_count: new Uint32Array(buffer, 4, 1),
    practice: new Int32Array(buffer, 8, 1),
    ticks: new Int32Array(buffer, 12, 1),
    action: new Int32Array(buffer, 16, 1),
    memory: new Float32Array(buffer, 20, 8),
  });
  const game: Game = {
    words: WORDS,
    create,
    reset: () => undefined,
    decide: (s) => decide(s as LittleState),
    tick: (s) => void s.ticks[0]!++,
    observe: () => undefined,
    terms: (s, _, out) => out.fill(reward(s as LittleState)),
    terminated: (s) => terminated(s as LittleState),
    winner: () => 0,
    random: () => undefined,
    scene: () => 0,
    baselines: {},
  };
  const spec: DrillSpec = {
    ...PLAIN,
    ...{ name: "little", title: "Little", sides: 1, tick_rate: 1, action_repeat: 1, time_limit: 1000, world: [0, 0, 1, 1] },
    ...{ mirrored: false, fields: [], actions: [{ name: "do", options: Array.from({ length: actions }, (_, k) => String(k)) }] },
    ...{ n_actions: actions, keys: {}, observations: [], n_obs: 1, terms: [{ name: "pay", weight: 1, kind: "reward", help: "" }] },
    ...{ baselines: [], drag: [], scene_max: 0, palette: [], rules_hash: "little" },
  };
  return { game, spec };
}

/** A network that says the same of every state. */
export function samePolicy(probabilities: readonly number[], value: number): Policy {
  const n = probabilities.length + 1;
  return new Policy(1, [1, n], "tanh", Float32Array.from([...Array(n).fill(0), ...probabilities.map(Math.log), value]));
}

/** One draw of the game's own generator, uniform in [0, 1). */
export function draw(s: GameState): number {
  let x = (s.rng_key[0]! ^ Math.imul(++s.rng_count[0]!, 0x9e3779b9)) >>> 0;
  for (let round = 0; round < 2; round++) {
    x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
    x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
    x = (x ^ (x >>> 16)) >>> 0;
  }
  return x / 2 ** 32;
}
