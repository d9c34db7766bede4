/**
 * The value map: the value for side 0 with the first handle (the ball) at each point of a coarse grid. It is computed a few rows at a
 * time from one snapshot of the state, so that no frame waits for it, and shown when the whole grid is done.
 */

import { KIND, SHAPE_FLOATS } from "../contract/protocol";
import { Body } from "../match/handles";
import type { Policy } from "../match/network/policy";
import type { Game, GameState } from "../match/rules";
import type { PolicyAnalysis } from "./analysis";

export const COLUMNS = 24;
export const ROWS = 16;
const USUAL = 0.95; // the few cells beyond, in corners that no ball sees, shall not pale the others
const SMALLEST_RANGE = 0.05; // reward; below it nothing is worth a strong colour

/** World units: x0, y0, x1, y1. */
type Area = readonly [number, number, number, number];

export class ValueMap {
  /** Of the last whole grid, row by row from the top left. */
  readonly values = new Float32Array(COLUMNS * ROWS);
  range = 0; // no smaller than USUAL of the absolute values, 0 before the first grid
  private readonly copy: GameState;
  private readonly next = new Float32Array(COLUMNS * ROWS);
  private row = ROWS; // the next one to fill; ROWS: none
  private policy: Policy | null = null;
  private area: Area = [0, 0, 0, 0];
  private done: { policy: Policy; weights: unknown; state: Uint8Array } | null = null; // what `values` were computed from

  constructor(private readonly mind: PolicyAnalysis) {
    this.copy = mind.game.create();
  }

  /** Whether a grid is being filled. */
  get busy(): boolean {
    return this.row < ROWS;
  }

  /** Starts a grid over `area`, unless it would be the last one again. */
  begin(policy: Policy, state: GameState, area: Area): void {
    const bytes = new Uint8Array(state.buffer);
    const { weights } = this.mind;
    if (this.done?.policy === policy && this.done.weights === weights && same(this.done.state, bytes)) return;
    this.done = { policy, weights, state: bytes.slice() };
    new Uint8Array(this.copy.buffer).set(bytes);
    this.policy = policy;
    this.area = area;
    this.row = 0;
  }

  /** Fills up to `rows` more rows; true when that finished the grid. */
  fill(rows: number): boolean {
    const handle = this.mind.spec.drag[0];
    if (!this.busy || !this.policy || !handle) return false;
    const body = new Body(this.copy, handle);
    for (const end = Math.min(this.row + rows, ROWS); this.row < end; this.row++) {
      for (let column = 0; column < COLUMNS; column++) {
        const [x, y] = centre(this.area, column, this.row);
        body.put(x, y);
        this.next[this.row * COLUMNS + column] = this.mind.value(this.policy, this.copy, 0);
      }
    }
    if (this.busy) return false;
    this.values.set(this.next);
    const sizes = this.values.map(Math.abs).sort();
    this.range = Math.max(sizes[Math.floor(USUAL * sizes.length)]!, SMALLEST_RANGE);
    return true;
  }
}

/** The middle of a cell, in world units; row 0 is the uppermost. */
export function centre([x0, y0, x1, y1]: Area, column: number, row: number): [x: number, y: number] {
  return [x0 + ((column + 0.5) / COLUMNS) * (x1 - x0), y1 - ((row + 0.5) / ROWS) * (y1 - y0)];
}

/** The ground of a scene: its first box painted as turf, else the whole world. */
export function groundOf(game: Game, spec: PolicyAnalysis["spec"], state: GameState, scene: Float32Array): Area {
  const count = game.scene(state, scene);
  for (let at = 0; at < count * SHAPE_FLOATS; at += SHAPE_FLOATS) {
    if (scene[at] !== KIND.box || spec.palette[scene[at + 1]!] !== "turf") continue;
    const [x, y, a, b] = scene.subarray(at + 2, at + 6) as unknown as [number, number, number, number];
    return [x - a, y - b, x + a, y + b];
  }
  return spec.world;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, k) => byte === b[k]);
}
