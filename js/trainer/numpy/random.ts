/** NumPy's `Generator` over PCG64: the same numbers in the same order from the same seed, for what training draws. */
import { PCG64 } from "./pcg64";

const ALL32 = 0xffff_ffff;

export class Generator {
  private constructor(private readonly bits: PCG64) {}

  /** As `np.random.default_rng(entropy)` begins; `entropy` are whole numbers from 0 on, above 2^53 as bigint. */
  static seeded(...entropy: (number | bigint)[]): Generator {
    return new Generator(PCG64.seeded(entropy));
  }

  /** The generator that `state()` described. */
  static fromState(words: BigUint64Array): Generator {
    return new Generator(PCG64.fromState(words));
  }

  /** u64[6], as dshq_widget/learning/generator.py packs it. */
  state(): BigUint64Array {
    return this.bits.state();
  }

  next32(): number {
    return this.bits.next32();
  }

  /** Uniform in [0, 1), a multiple of 2^-53; with `count` f64 [count] of them. */
  random(): number;
  random(count: number): Float64Array;
  random(count?: number): number | Float64Array {
    return count === undefined ? this.draw() : new Float64Array(count).map(() => this.draw());
  }

  private draw(): number {
    this.bits.step();
    return (this.bits.high * 0x20_0000 + (this.bits.low >>> 11)) * 2 ** -53;
  }

  /** u32 [count], uniform in 0 .. high - 1, as `integers(high, size=count)`; `high` is 2^32 at most. */
  integers(high: number, count: number): Uint32Array {
    if (!(high >= 1 && high <= ALL32 + 1)) throw new RangeError(`integers need a bound from 1 to 2^32, got ${high}`);
    return new Uint32Array(count).map(() => this.below(high - 1));
  }

  /** u32 [count] of all bits, as `integers(0, 1 << 32, count, np.uint32)`. */
  integers32(count: number): Uint32Array {
    return this.integers(ALL32 + 1, count);
  }

  /** Uniform in 0 .. last. D. Lemire, "Fast random integer generation in an interval", 2019; nothing is drawn for 0 .. 0. */
  private below(last: number): number {
    if (last === 0) return 0;
    if (last === ALL32) return this.bits.next32();
    const size = last + 1;
    let rejected = -1; // how many of the lowest products would favour some numbers
    for (;;) {
      const word = this.bits.next32();
      const lower = (word & 0xffff) * size;
      const upper = (word >>> 16) * size + Math.floor(lower / 0x10000); // both below 2^49
      const rest = (((upper & 0xffff) << 16) | (lower & 0xffff)) >>> 0;
      if (rejected < 0 && rest >= size) return Math.floor(upper / 0x10000);
      if (rejected < 0) rejected = (ALL32 - last) % size;
      if (rest >= rejected) return Math.floor(upper / 0x10000);
    }
  }

  /** Uniform in 0 .. last, by drawing again what lies above: what NumPy's shuffles take instead of `below`. */
  private masked(last: number): number {
    const mask = ALL32 >>> Math.clz32(last);
    for (;;) {
      const drawn = (this.bits.next32() & mask) >>> 0;
      if (drawn <= last) return drawn;
    }
  }

  /** Shuffles in place, as `shuffle` of a one-dimensional array. */
  shuffle(items: Int32Array): void {
    for (let i = items.length - 1; i >= 1; i--) swap(items, i, this.masked(i));
  }

  /** Fills the places from `first` on, the last one first, each with one of those up to it, as NumPy's `choice` does. */
  private settle(items: Int32Array, first: number): void {
    for (let i = items.length - 1; i >= first; i--) swap(items, i, this.below(i));
  }

  /** i32 [n]: the order in which `permutation` of n items, or of n rows, puts them. */
  permutation(n: number): Int32Array {
    const order = Int32Array.from({ length: n }, (_, k) => k);
    this.shuffle(order);
    return order;
  }

  /** i32 [count] of 0 .. p.length - 1 with probabilities `p`, as `choice(len(p), count, p=p)`. */
  choiceWithReplacement(p: Float64Array, count: number): Int32Array {
    const cumulated = new Float64Array(p.length);
    let sum = 0;
    for (let k = 0; k < p.length; k++) cumulated[k] = sum += p[k]!;
    for (let k = 0; k < p.length; k++) cumulated[k]! /= sum;
    return Int32Array.from(this.random(count), (u) => countUpTo(cumulated, u));
  }

  /** One of 0 .. n - 1, as `choice(n)`; with `size` i32 [size] different ones, as `choice(n, size, replace=False)`. */
  choice(n: number): number;
  choice(n: number, size: number): Int32Array;
  choice(n: number, size?: number): number | Int32Array {
    if (size === undefined) return this.integers(n, 1)[0]!;
    if (!(size <= n)) throw new RangeError(`${size} different ones of ${n} were asked for`);
    if (n > 10_000 && size > Math.floor(n / 50)) {
      const items = Int32Array.from({ length: n }, (_, k) => k);
      this.settle(items, Math.max(n - size, 1));
      return items.slice(n - size);
    }
    const chosen = new Set<number>(); // R. Floyd's: J. Bentley, "Programming pearls: a sample of brilliance", 1987
    for (let j = n - size; j < n; j++) {
      const drawn = this.below(j);
      chosen.add(chosen.has(drawn) ? j : drawn);
    }
    const items = Int32Array.from(chosen);
    this.settle(items, 1);
    return items;
  }
}

function swap(items: Int32Array, i: number, j: number): void {
  [items[i], items[j]] = [items[j]!, items[i]!];
}

/** How many of the rising `values` are `limit` at most. */
function countUpTo(values: Float64Array, limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
