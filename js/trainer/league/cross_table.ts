/** The results of all players against each other, f64 [n * n] row by row, and the ratings that follow from them. */
import type { Kernels } from "../games/kernels";
import { ratings } from "./elo";

export class CrossTable {
  rating: Float64Array; // of the last rate(), Elo
  half: Float64Array; // half the width of its 95 % band

  /** `points` are the row's player's against the column's, `matches` is symmetric. */
  constructor(
    public points: Float64Array,
    public matches: Float64Array,
  ) {
    this.rating = new Float64Array(this.size);
    this.half = new Float64Array(this.size);
  }

  /** Of `size` players who never met. */
  static empty(size: number): CrossTable {
    return new CrossTable(new Float64Array(size * size), new Float64Array(size * size));
  }

  get size(): number {
    return Math.sqrt(this.points.length);
  }

  /** A player behind the others, with points and matches against each of them. */
  add(points: Float64Array, matches: Float64Array): void {
    const n = this.size;
    const order = [...Array.from({ length: n }, (_, k) => k), null];
    [this.points, this.matches] = [taken(this.points, n, order), taken(this.matches, n, order)];
    for (let k = 0; k < n; k++) {
      const [row, column] = [n * (n + 1) + k, k * (n + 1) + n];
      this.points[row] = points[k]!;
      this.points[column] = matches[k]! - points[k]!;
      this.matches[row] = this.matches[column] = matches[k]!;
    }
  }

  drop(place: number): void {
    const n = this.size;
    const order = Array.from({ length: n }, (_, k) => k).filter((k) => k !== place);
    [this.points, this.matches] = [taken(this.points, n, order), taken(this.matches, n, order)];
    [this.rating, this.half] = [this.rating.filter((_, k) => k !== place), this.half.filter((_, k) => k !== place)];
  }

  /** Rates all players; the first ones have the ratings `pinned`. */
  rate(kernels: Kernels, pinned: readonly number[]): void {
    const given = Float64Array.from({ length: this.size }, (_, k) => pinned[k] ?? Number.NaN);
    ({ rating: this.rating, half: this.half } = ratings(kernels, this.points, this.matches, given));
  }
}

/** The rows and columns of a table of n players in the order given; null: nothing. */
function taken(table: Float64Array, n: number, order: readonly (number | null)[]): Float64Array {
  return Float64Array.from(order.flatMap((i) => order.map((j) => (i === null || j === null ? 0 : table[i * n + j]!))));
}
