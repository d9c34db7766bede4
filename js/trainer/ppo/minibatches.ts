/** In which order a rollout's units are learned, and where minibatches begin: dshq_kernels/run/minibatches.py. */
import type { Draws } from "../draws";
import type { Block, Heap } from "../games/heap";
import { LANES } from "../games/samples";
import type { Hyper } from "./schedule";

/** Room for the plans of updates; it grows where settings ask for more. */
export class Minibatches {
  length = 0; // of the order
  count = 0; // over all epochs
  private blocks: { order: Block; importance: Block; bounds: Block } | null = null;

  constructor(private readonly heap: Heap) {}

  /** Plans an update on `units`, or with a memory on whole sequences of `length` decisions; `advantage` is f32 `[all units, 16]`. */
  plan(draws: Draws, units: Int32Array, length: number, advantage: Block, hyper: Hyper): void {
    const { epochs, minibatch_order, priority_alpha: alpha, priority_beta: beta } = hyper;
    const begins = units.filter((unit) => (unit >> 1) % length === 0);
    const n = begins.length;
    const count = minibatchCount(n, Math.max(LANES, Math.floor(hyper.minibatch_size / length)));
    this.length = epochs * n * length;
    this.count = epochs * count;
    const places = this.places();
    this.heap.borrow(() => {
      const [first, room, drawn] = [this.heap.i64(begins), this.heap.take(16 * n), this.heap.take(8 * epochs * n)];
      const numbers = { n, length, all_units: advantage.bytes / (4 * LANES), epochs, count, alpha, beta, shuffled: Number(minibatch_order === "random") };
      draws.call("plan_minibatches", { ...numbers, ...places, begins: first.at, advantage: advantage.at, room: room.at, drawn: drawn.at });
    });
  }

  /** As fields of a record. */
  get fields(): Record<string, number> {
    return { ...this.places(), n_order: this.length, n_bounds: this.count + 1 };
  }

  private places(): { order: number; importance: number; bounds: number } {
    const [order, bounds] = [8 * this.length, 8 * (this.count + 1)];
    const enough = this.blocks && this.blocks.order.bytes >= order && this.blocks.bounds.bytes >= bounds;
    if (!enough) this.blocks = { order: this.heap.take(order), importance: this.heap.take(order / 2), bounds: this.heap.take(bounds) };
    const { order: at, importance, bounds: cuts } = this.blocks!;
    return { order: at.at, importance: importance.at, bounds: cuts.at };
  }
}

/** Minibatches of an epoch over that many units, of about `size` agent steps each. */
export function minibatchCount(units: number, size: number): number {
  return Math.min(Math.max(1, roundHalfEven((units * LANES) / size)), units);
}

/** Python's `round`: halves go to the even number. */
function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}
