/**
 * The memory that a drill's module and the learner's share: hands out places, and views of them.
 *
 * Folder `trainer`: trains in the page, in a worker of its own, by the kernels of dshq_kernels as WebAssembly. docs/explain/page-training.md.
 */
import { STACK_TOP } from "../tables";

const PAGE_BYTES = 65_536;
const ALIGNMENT = 64;
/** 1.5 GiB: what a browser gives one page without complaint. */
const MOST_PAGES = 24_576;

/** A place in the memory. Its views are made again whenever the memory has grown, so they are never kept elsewhere. */
export class Block {
  private buffer: ArrayBuffer | null = null;
  private views: { f32: Float32Array; f64: Float64Array; i32: Int32Array; u32: Uint32Array; u64: BigUint64Array; u8: Uint8Array } | null = null;

  constructor(
    private readonly memory: WebAssembly.Memory,
    readonly at: number,
    readonly bytes: number,
  ) {}

  get f32(): Float32Array {
    return this.fresh().f32;
  }
  get f64(): Float64Array {
    return this.fresh().f64;
  }
  get i32(): Int32Array {
    return this.fresh().i32;
  }
  get u32(): Uint32Array {
    return this.fresh().u32;
  }
  get u64(): BigUint64Array {
    return this.fresh().u64;
  }
  get u8(): Uint8Array {
    return this.fresh().u8;
  }

  /** Writes whole numbers as i64, each exact up to 2^53. */
  putI64(numbers: ArrayLike<number>): this {
    const words = this.i32;
    for (let k = 0; k < numbers.length; k++) {
      const value = numbers[k]!;
      words[2 * k] = value | 0;
      words[2 * k + 1] = Math.floor(value / 2 ** 32);
    }
    return this;
  }

  private fresh() {
    const { buffer } = this.memory;
    if (this.views && this.buffer === buffer) return this.views;
    const { at, bytes } = this;
    this.buffer = buffer;
    this.views = {
      f32: new Float32Array(buffer, at, bytes >> 2),
      f64: new Float64Array(buffer, at, bytes >> 3),
      i32: new Int32Array(buffer, at, bytes >> 2),
      u32: new Uint32Array(buffer, at, bytes >> 2),
      u64: new BigUint64Array(buffer, at, bytes >> 3),
      u8: new Uint8Array(buffer, at, bytes),
    };
    return this.views;
  }
}

export class Heap {
  readonly wasm = new WebAssembly.Memory({ initial: STACK_TOP / PAGE_BYTES, maximum: MOST_PAGES });
  private top: number = STACK_TOP;

  /** That many bytes of zeros. Throws an Error of one sentence where the browser gives no more. */
  take(bytes: number): Block {
    const at = this.top;
    const end = at + Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    const missing = Math.ceil((end - this.wasm.buffer.byteLength) / PAGE_BYTES);
    if (missing > 0) {
      try {
        this.wasm.grow(missing);
      } catch {
        throw new Error(`This page has no memory left for training: wanted ${Math.round(end / 1e6)} MB. Choose fewer games or a smaller network.`);
      }
    }
    this.top = end;
    const block = new Block(this.wasm, at, end - at);
    block.u8.fill(0);
    return block;
  }

  floats(count: number): Block {
    return this.take(4 * count);
  }

  /** A copy of whole numbers as i64. */
  i64(numbers: ArrayLike<number>): Block {
    return this.take(8 * numbers.length).putI64(numbers);
  }

  f64(numbers: ArrayLike<number>): Block {
    const block = this.take(8 * numbers.length);
    block.f64.set(numbers);
    return block;
  }

  f32(numbers: ArrayLike<number>): Block {
    const block = this.floats(numbers.length);
    block.f32.set(numbers);
    return block;
  }

  /** Gives back, once `work` is done, all that was taken in it. */
  borrow<T>(work: () => T): T {
    const before = this.top;
    try {
      return work();
    } finally {
      this.top = before;
    }
  }
}
