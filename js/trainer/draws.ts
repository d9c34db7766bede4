/** A run's own draws, of the generator that Python's run has: dshq_kernels/run/draws.py. */

import type { Block } from "./games/heap";
import type { Kernels, RecordName, RecordValues } from "./games/kernels";

type Items = Uint32Array | BigInt64Array | Float64Array;

export class Draws {
  private constructor(
    private readonly kernels: Kernels,
    private readonly generator: BigUint64Array, // its key, and how many words were drawn
  ) {}

  /** A generator of its own for each run and purpose; `parts` are whole numbers from 0, below 2^64. */
  static seeded(kernels: Kernels, ...parts: (number | bigint)[]): Draws {
    const made = new Draws(kernels, new BigUint64Array(2));
    made.draw("seed", 0, 0, new Uint32Array(BigUint64Array.from(parts, BigInt).buffer));
    return made;
  }

  /** As `state` described it. Files of before have six words of another generator: they begin one of ours. */
  static restored(kernels: Kernels, state: BigUint64Array): Draws {
    return state.length === 2 ? new Draws(kernels, state.slice()) : Draws.seeded(kernels, ...state);
  }

  /** u64 [2], for a policy file. */
  get state(): BigUint64Array {
    return this.generator.slice();
  }

  /** u32 [count], all bits random. */
  words(count: number): Uint32Array {
    return this.draw("words", count, 0).out.u32.slice(0, count);
  }

  /** u32 [count], uniform in 0 .. bound - 1; `bound` from 1 to 2^32. */
  below(bound: number, count: number): Uint32Array {
    return this.draw("below", count, bound).out.u32.slice(0, count);
  }

  /** f64 [count], uniform in [0, 1). */
  uniform(count: number): Float64Array {
    return this.draw("uniform", count, 0).out.f64.slice(0, count);
  }

  /** f64 [count], normal numbers. */
  normal(count: number): Float64Array {
    return this.draw("normal", count, 0).out.f64.slice(0, count);
  }

  /** i32 [size]: 0 .. size - 1 in random order. */
  permutation(size: number): Int32Array {
    return this.different(size, size);
  }

  /** i32 [count]: different ones of 0 .. size - 1, in random order. */
  different(size: number, count: number): Int32Array {
    const all = BigInt64Array.from({ length: size }, (_, k) => BigInt(k));
    return places(this.draw("shuffle", count, 0, all).items, count);
  }

  /** i32 [count]: places of `weights`, with replacement, each as likely as its weight says. */
  weighted(weights: Float64Array, count: number): Int32Array {
    return places(this.draw("weighted", count, 0, weights).out, count);
  }

  /** Calls a function that draws. */
  call(name: RecordName, values: RecordValues): void {
    const { heap } = this.kernels;
    heap.borrow(() => {
      const generator = heap.take(16);
      generator.u64.set(this.generator);
      this.kernels.call(name, { ...values, generator: generator.at });
      this.generator.set(generator.u64.subarray(0, 2));
    });
  }

  /** What a function of draws.py did to a copy of `items` and drew; to be read before anything else is called. */
  private draw(name: RecordName, count: number, bound: number, items: Items = new Uint32Array(0)): { out: Block; items: Block } {
    const { heap } = this.kernels;
    return heap.borrow(() => {
      const [out, given] = [heap.take(8 * count), heap.take(items.byteLength)];
      given.u8.set(new Uint8Array(items.buffer, items.byteOffset, items.byteLength));
      this.call(name, { out: out.at, count, bound, items: given.at, n_items: items.length });
      return { out, items: given };
    });
  }
}

/** The first numbers of i64. */
function places({ i32 }: Block, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, k) => i32[2 * k]!);
}
