/**
 * The ways that one thing went in the particles of one search, as a tree: where several went the same way there is one branch, which
 * weighs as much as all of them.
 */
import type { DrillSpec } from "../../contract/protocol";
import type { Game, GameState } from "../../match/rules";
import type { Witness } from "./search";
import { BALL, Whereabouts } from "./whereabouts";

const MOST_PARTICLES = 64;
const MOST_NODES = 1 + MOST_PARTICLES * 24; // the most looks ahead

export class FutureTree {
  count = 0; // nodes; the first is the root, 0: nothing was seen to move
  readonly x = new Float32Array(MOST_NODES); // world units
  readonly y = new Float32Array(MOST_NODES);
  readonly parent = new Int16Array(MOST_NODES);
  readonly depth = new Uint8Array(MOST_NODES); // decisions from the root
  readonly weight = new Float32Array(MOST_NODES); // of all particles that came through; 0: they were given up
  readonly over = new Uint8Array(MOST_NODES); // the game ended here
  private readonly tips = new Int16Array(MOST_PARTICLES); // the node where each particle is
  private readonly before = new Int16Array(MOST_PARTICLES);
  private readonly thing: Whereabouts;

  constructor(game: Game, spec: DrillSpec) {
    this.thing = new Whereabouts(game, spec);
  }

  /** Of the player of `side`, or of the BALL. */
  begin(root: GameState, side: number): void {
    this.count = 0;
    this.weight.fill(0);
    this.tips.fill(0);
    if (this.thing.find(root, side)) this.add(root, 0, false);
  }

  moved(particle: number, state: GameState, over: boolean, decisions = 1): void {
    if (this.count === 0 || particle >= MOST_PARTICLES) return;
    this.tips[particle] = this.add(state, this.tips[particle]!, over, decisions);
  }

  resampled(ancestors: Int32Array): void {
    this.before.set(this.tips);
    for (let k = 0; k < Math.min(ancestors.length, MOST_PARTICLES); k++) this.tips[k] = this.before[ancestors[k]!]!;
  }

  ended(weights: Float64Array): void {
    this.weight.fill(0);
    for (let k = 0; k < Math.min(weights.length, MOST_PARTICLES); k++) {
      for (let node = this.tips[k]!; node > 0; node = this.parent[node]!) this.weight[node]! += weights[k]!;
    }
  }

  /** The node of `state` below `parent`: one that is there already, or a new one. */
  private add(state: GameState, parent: number, over: boolean, decisions = 1): number {
    const { thing, x, y } = this;
    thing.read(state);
    const [px, py] = [Math.fround(thing.x), Math.fround(thing.y)];
    for (let node = parent + 1; node < this.count; node++) {
      if (this.parent[node] === parent && x[node] === px && y[node] === py && this.over[node] === Number(over)) return node;
    }
    if (this.count === MOST_NODES) return parent;
    const node = this.count++;
    [x[node], y[node], this.parent[node], this.over[node]] = [px, py, parent, Number(over)];
    this.depth[node] = node === 0 ? 0 : this.depth[parent]! + decisions;
    return node;
  }
}

/** The ways of the player that searches, and of the ball. */
export class FutureTrees implements Witness {
  readonly player: FutureTree;
  readonly ball: FutureTree;
  side = 0;
  ticks = 0; // of the root's game
  private done = false; // the search is over

  constructor(game: Game, spec: DrillSpec) {
    this.player = new FutureTree(game, spec);
    this.ball = new FutureTree(game, spec);
  }

  begin(root: GameState, side: number): void {
    this.side = side;
    this.ticks = root.ticks[0]!;
    this.done = false;
    this.player.begin(root, side);
    this.ball.begin(root, BALL);
  }

  moved(particle: number, state: GameState, over: boolean, decisions = 1): void {
    this.player.moved(particle, state, over, decisions);
    this.ball.moved(particle, state, over, decisions);
  }

  resampled(ancestors: Int32Array): void {
    this.player.resampled(ancestors);
    this.ball.resampled(ancestors);
  }

  ended(weights: Float64Array): void {
    this.player.ended(weights);
    this.ball.ended(weights);
    this.done = true;
  }

  /** Whether a search has ended since the last call. */
  takeDone(): boolean {
    const { done } = this;
    this.done = false;
    return done;
  }
}
