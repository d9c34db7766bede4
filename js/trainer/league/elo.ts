/** Elo ratings with a confidence band: dshq_kernels/run/elo.py, where the mathematics is. Tables are f64 [n * n], row by row. */
import { Z95 } from "../../contract/tables";
import type { Block } from "../games/heap";
import type { Kernels } from "../games/kernels";

/** Elo difference of a player with `points` in `matches`; one virtual draw keeps it finite. */
export function difference(kernels: Kernels, points: number, matches: number): number {
  return kernels.values("difference", { won: points, played: matches }, "gap")[0]!;
}

/**
 * Ratings and half the width of their 95 % bands, both [n], in Elo. `points[i, j]` are i's against j, `matches` is symmetric; `pinned`
 * [n] are the ratings that stay, NaN for the others. Whom no chain of matches links to a pinned player gets the pinned mean and an
 * infinite band.
 */
export function ratings(kernels: Kernels, points: Float64Array, matches: Float64Array, pinned: Float64Array): { rating: Float64Array; half: Float64Array } {
  const { heap } = kernels;
  const n = pinned.length;
  return heap.borrow(() => {
    const [table, played, fixed] = [heap.f64(points), heap.f64(matches), heap.f64(pinned)];
    const [rating, deviation, free, room] = [8 * n, 8 * n, n, 40 * n * n].map((bytes) => heap.take(bytes)) as [Block, Block, Block, Block];
    const given = { points: table.at, matches: played.at, pinned: fixed.at };
    kernels.call("ratings", { n, ...given, rating: rating.at, deviations: deviation.at, free: free.at, room: room.at });
    return { rating: rating.f64.slice(0, n), half: deviation.f64.slice(0, n).map((one) => Z95 * one) };
  });
}
