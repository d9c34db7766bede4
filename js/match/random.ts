/** mulberry32 (T. Ettinger, 2017, public domain): a small seeded generator whose whole state is one u32. */
export class Random {
  state = 0;

  constructor(seed: number) {
    this.restart(seed);
  }

  /** From a seed, or from what `state` was. */
  restart(state: number): void {
    this.state = state >>> 0;
  }

  /** Uniform in [0, 1), a multiple of 2^-32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }
}
