/**
 * NumPy's bit generator, bit for bit: PCG64 (M. O'Neill, "PCG", 2014: XSL-RR, 128 bits of state) and the SeedSequence that seeds it
 * (`numpy.random.bit_generator`, after M. O'Neill's `seed_seq_fe`). Numbers of 128 bits are eight limbs of 16, the lowest first.
 */
const LIMBS = 8;
const MULTIPLIER = [0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360];
const WORD = 0xffff_ffff_ffff_ffffn;

export class PCG64 {
  high = 0; // u32, the upper half of the last step()
  low = 0;
  private limbs: Int32Array<ArrayBuffer>;
  private next = new Int32Array(LIMBS);
  private spare = 0; // u32, a half that next32() has yet to give, or gave last
  private hasSpare = false;

  private constructor(
    state: bigint,
    private readonly increment: Int32Array,
  ) {
    this.limbs = split(state);
  }

  /** As `np.random.default_rng(entropy)` begins; `entropy` are whole numbers from 0 on, above 2^53 as bigint. */
  static seeded(entropy: readonly (number | bigint)[]): PCG64 {
    const [a, b, c, d] = seedWords(entropy);
    const increment = split((((c! << 64n) | d!) << 1n) | 1n);
    const made = new PCG64(0n, increment);
    made.step();
    made.limbs = split(join(made.limbs) + ((a! << 64n) | b!));
    made.step();
    return made;
  }

  /** As `state()` described it; six words as dshq_widget/learning/generator.py packs them. */
  static fromState(words: BigUint64Array): PCG64 {
    if (words.length !== 6) throw new RangeError(`a generator's state has 6 words, got ${words.length}`);
    const [a, b, c, d, has, spare] = words;
    const made = new PCG64((a! << 64n) | b!, split((c! << 64n) | d!));
    made.hasSpare = has !== 0n;
    made.spare = Number(spare! & 0xffff_ffffn);
    return made;
  }

  /** u64[6]: state and increment, upper halves first, whether half a word is left over, and that half. */
  state(): BigUint64Array {
    const [state, increment] = [join(this.limbs), join(this.increment)];
    return BigUint64Array.of(state >> 64n, state & WORD, increment >> 64n, increment & WORD, BigInt(this.hasSpare), BigInt(this.spare));
  }

  /** Draws 64 bits into `high` and `low`. */
  step(): void {
    const { limbs, next, increment } = this;
    let carry = 0;
    for (let k = 0; k < LIMBS; k++) {
      let sum = carry + increment[k]!; // below 2^36
      for (let i = 0; i <= k; i++) sum += limbs[i]! * MULTIPLIER[k - i]!;
      next[k] = sum & 0xffff;
      carry = Math.floor(sum / 0x10000);
    }
    [this.limbs, this.next] = [next, limbs];
    const high = (((next[7]! ^ next[3]!) << 16) | (next[6]! ^ next[2]!)) >>> 0;
    const low = (((next[5]! ^ next[1]!) << 16) | (next[4]! ^ next[0]!)) >>> 0;
    const turn = next[7]! >>> 10; // to the right, 0..63
    const [upper, lower] = turn & 32 ? [low, high] : [high, low];
    const by = turn & 31;
    this.high = by ? ((upper >>> by) | (lower << (32 - by))) >>> 0 : upper;
    this.low = by ? ((lower >>> by) | (upper << (32 - by))) >>> 0 : lower;
  }

  /** u32; two of them share a step, the lower half comes first. */
  next32(): number {
    if (this.hasSpare) {
      this.hasSpare = false;
      return this.spare;
    }
    this.step();
    [this.hasSpare, this.spare] = [true, this.high];
    return this.low;
  }
}

function split(value: bigint): Int32Array<ArrayBuffer> {
  return Int32Array.from({ length: LIMBS }, (_, k) => Number((value >> BigInt(16 * k)) & 0xffffn));
}

function join(limbs: Int32Array): bigint {
  return limbs.reduceRight((value, limb) => (value << 16n) | BigInt(limb), 0n);
}

const POOL = 4;
const [INIT_A, MULT_A, INIT_B, MULT_B] = [0x43b0d7e5, 0x931e8875, 0x8b51f9dd, 0x58f38ded];
const [MIX_LEFT, MIX_RIGHT] = [0xca01f9dd, 0x4973f715];

/** `SeedSequence(entropy).generate_state(4, np.uint64)`. */
function seedWords(entropy: readonly (number | bigint)[]): bigint[] {
  const given = entropy.flatMap(words32);
  const absorb = hasher(INIT_A, MULT_A);
  const pool = Array.from({ length: POOL }, (_, k) => absorb(given[k] ?? 0));
  for (let source = 0; source < POOL; source++) {
    for (let k = 0; k < POOL; k++) if (k !== source) pool[k] = mix(pool[k]!, absorb(pool[source]!));
  }
  for (const word of given.slice(POOL)) {
    for (let k = 0; k < POOL; k++) pool[k] = mix(pool[k]!, absorb(word));
  }
  const emit = hasher(INIT_B, MULT_B);
  const halves = Array.from({ length: 8 }, (_, k) => BigInt(emit(pool[k % POOL]!)));
  return [0, 2, 4, 6].map((k) => halves[k]! | (halves[k + 1]! << 32n));
}

/** The 32-bit words of a whole number, the lowest first, at least one. */
function words32(value: number | bigint): number[] {
  if (value < 0 || (typeof value === "number" && !Number.isSafeInteger(value))) {
    throw new RangeError(`a seed is a whole number from 0 on, above 2^53 as bigint; got ${value}`);
  }
  const words: number[] = [];
  for (let left = BigInt(value); left > 0n || words.length === 0; left >>= 32n) words.push(Number(left & 0xffff_ffffn));
  return words;
}

/** A hash of u32 whose constant changes with every call. */
function hasher(first: number, factor: number): (value: number) => number {
  let constant = first;
  return (value) => {
    const mixed = value ^ constant;
    constant = Math.imul(constant, factor);
    const found = Math.imul(mixed, constant);
    return (found ^ (found >>> 16)) >>> 0;
  };
}

function mix(x: number, y: number): number {
  const found = Math.imul(MIX_LEFT, x) - Math.imul(MIX_RIGHT, y);
  return (found ^ (found >>> 16)) >>> 0;
}
