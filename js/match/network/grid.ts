/**
 * The layer of a network that looks ahead on a grid, as dshq_kernels/network/layers.py defines it: maps of values that spread from
 * cell to cell, v = max(v, highest neighbour's v - cost), read as differences around the player's cell.
 */
const WAYS = 4; // up, right, down, left
const OUTSIDE = -1; // what stands for the difference to a neighbour that does not exist

export class Grid {
  readonly cells: number;
  readonly inputs: number; // observations that it reads: the planes, and the player's place
  readonly features: number; // numbers that come out
  readonly floats: number; // of its weights: [planes, costs and sources], then as many biases
  private readonly near: Int32Array; // [cells, ways], -1 outside
  private readonly given: Float32Array; // [2 maps, cells]: costs before softplus, then sources
  private readonly values: Float32Array; // [maps, cells]
  private readonly chosen: Int8Array; // [maps, sweeps, cells]: 0 where a value stayed, else 1 + way

  constructor(
    readonly rows: number,
    readonly columns: number,
    readonly planes: number,
    readonly maps: number,
    readonly sweeps: number,
  ) {
    this.cells = rows * columns;
    this.inputs = (planes + 1) * this.cells;
    this.features = WAYS * maps;
    this.floats = (planes + 1) * 2 * maps;
    this.near = Int32Array.from({ length: this.cells * WAYS }, (_, k) => this.nextTo(Math.floor(k / WAYS), k % WAYS));
    this.given = new Float32Array(2 * maps * this.cells);
    this.values = new Float32Array(maps * this.cells);
    this.chosen = new Int8Array(maps * sweeps * this.cells);
  }

  private nextTo(cell: number, way: number): number {
    const row = Math.floor(cell / this.columns) + (way === 2 ? 1 : way === 0 ? -1 : 0);
    const column = (cell % this.columns) + (way === 1 ? 1 : way === 3 ? -1 : 0);
    return row >= 0 && row < this.rows && column >= 0 && column < this.columns ? row * this.columns + column : -1;
  }

  /** Fills `out` [4 maps + rest]: the differences of each map, then the observations that the grid does not read. */
  forward(weights: Float32Array, observation: Float32Array, out: Float32Array): void {
    const { cells, maps, planes, near, given, values } = this;
    for (let m = 0; m < 2 * maps; m++) {
      for (let cell = 0; cell < cells; cell++) {
        let sum = weights[planes * 2 * maps + m]!;
        for (let p = 0; p < planes; p++) sum += observation[p * cells + cell]! * weights[p * 2 * maps + m]!;
        given[m * cells + cell] = sum;
      }
    }
    values.set(given.subarray(maps * cells));
    const price = new Float32Array(cells);
    for (let m = 0; m < maps; m++) {
      const value = values.subarray(m * cells, (m + 1) * cells);
      price.forEach((_, cell) => (price[cell] = softplus(given[m * cells + cell]!)));
      for (let k = 0; k < this.sweeps; k++) {
        for (let at = 0; at < cells; at++) {
          const cell = k % 2 === 0 ? at : cells - 1 - at;
          let taken = 0;
          for (let way = 0; way < WAYS; way++) {
            const other = near[cell * WAYS + way]!;
            const reached = other < 0 ? -Infinity : Math.fround(value[other]! - price[cell]!);
            if (reached > value[cell]!) {
              value[cell] = reached;
              taken = 1 + way;
            }
          }
          this.chosen[(m * this.sweeps + k) * cells + cell] = taken;
        }
      }
      for (let way = 0; way < WAYS; way++) {
        let sum = 0;
        for (let cell = 0; cell < cells; cell++) sum += observation[planes * cells + cell]! * this.gap(value, cell, way);
        out[m * WAYS + way] = sum;
      }
    }
    out.set(observation.subarray(this.inputs), maps * WAYS);
  }

  private gap(value: Float32Array, cell: number, way: number): number {
    const other = this.near[cell * WAYS + way]!;
    return other < 0 ? OUTSIDE : value[other]! - value[cell]!;
  }

  /** Writes the slopes of the observation into `out`, from those of what the last forward() gave. */
  gradient(weights: Float32Array, observation: Float32Array, slopes: Float32Array, out: Float32Array): void {
    const { cells, maps, planes, near } = this;
    out.fill(0);
    out.set(slopes.subarray(maps * WAYS), this.inputs);
    for (let m = 0; m < maps; m++) {
      const value = this.values.subarray(m * cells, (m + 1) * cells);
      const [below, costs] = [new Float32Array(cells), new Float32Array(cells)];
      for (let way = 0; way < WAYS; way++) {
        const slope = slopes[m * WAYS + way]!;
        for (let cell = 0; cell < cells; cell++) {
          const other = near[cell * WAYS + way]!;
          const here = slope * observation[planes * cells + cell]!;
          out[planes * cells + cell]! += slope * this.gap(value, cell, way);
          if (other < 0) continue;
          below[other]! += here;
          below[cell]! -= here;
        }
      }
      for (let k = this.sweeps - 1; k >= 0; k--) {
        for (let at = cells - 1; at >= 0; at--) {
          const cell = k % 2 === 0 ? at : cells - 1 - at;
          const taken = this.chosen[(m * this.sweeps + k) * cells + cell]!;
          if (taken === 0) continue;
          below[near[cell * WAYS + taken - 1]!]! += below[cell]!;
          costs[cell]! -= below[cell]!;
          below[cell] = 0;
        }
      }
      for (let cell = 0; cell < cells; cell++) {
        const cost = costs[cell]! / (1 + Math.exp(-this.given[m * cells + cell]!));
        for (let p = 0; p < planes; p++) {
          out[p * cells + cell]! += cost * weights[p * 2 * maps + m]! + below[cell]! * weights[p * 2 * maps + maps + m]!;
        }
      }
    }
  }
}

function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
