/** The training history of one widget: metric rows in order, and the points that a chart draws of them. */
import type { MetricsRow } from "../contract/protocol";

const CAPACITY = 20_000; // rows; older ones are thinned to every second beyond it (a row or two arrive per second)

export class History {
  rows: MetricsRow[] = [];

  /** The kernel's own record: replaces everything from row `start` on, but keeps newer rows that overtook the message. */
  replace(start: number, rows: readonly MetricsRow[]): void {
    const newest = rows.at(-1);
    const overtaking = newest ? this.rows.filter((row) => order(row) > order(newest)) : [];
    this.rows = [...this.rows.slice(0, start), ...rows, ...overtaking];
    this.thin();
  }

  /** One more row. The same step again replaces the last row; a smaller one means that training started over. */
  append(row: MetricsRow): void {
    const last = this.rows.at(-1);
    if (last && order(row) < order(last)) this.rows = [];
    else if (last && order(row) === order(last)) this.rows.pop();
    this.rows.push(row);
    this.thin();
  }

  clear(): void {
    this.rows = [];
  }

  private thin(): void {
    if (this.rows.length <= CAPACITY) return;
    const half = this.rows.length >> 1;
    this.rows = this.rows.filter((_, index) => index >= half || index % 2 === 0);
  }
}

/** What rows are ordered by: agent steps, or updates for a learner that counts no steps. */
function order(row: MetricsRow): number {
  return row.agent_steps ?? row.updates ?? 0;
}

/** Chart columns: x, then one column per series; null where a row lacks that metric. */
export type Columns = [number[], ...(number | null)[][]];

/** Rows as columns over the metric `x`, leaving out rows without it, without any of `keys`, or that fall back in x. */
export function columns(rows: readonly MetricsRow[], x: string, keys: readonly string[]): Columns {
  const out: Columns = [[], ...keys.map(() => [] as (number | null)[])];
  let before = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    const at = row[x];
    if (at === undefined || !Number.isFinite(at) || at <= before || !keys.some((key) => finite(row[key]) !== null)) continue;
    before = at;
    for (const [index, value] of [at, ...keys.map((key) => finite(row[key]))].entries()) {
      (out[index] as (number | null)[]).push(value);
    }
  }
  return out;
}

/** At most about `limit` points: of each run of neighbours, every series' smallest and largest, so no peak is lost. */
export function decimate(data: Columns, limit: number): Columns {
  const length = data[0].length;
  const series = data.slice(1);
  if (length <= limit) return data;
  const buckets = Math.max(1, Math.floor((limit - 2) / (2 * Math.max(1, series.length))));
  const keep = new Set<number>([0, length - 1]);
  for (let bucket = 0; bucket < buckets; bucket++) {
    const [from, to] = [Math.floor((bucket * length) / buckets), Math.floor(((bucket + 1) * length) / buckets)];
    for (const column of series) {
      let [low, high] = [-1, -1];
      for (let i = from; i < to; i++) {
        const value = column[i];
        if (value == null) continue;
        if (low < 0 || value < column[low]!) low = i;
        if (high < 0 || value > column[high]!) high = i;
      }
      if (low >= 0) keep.add(low).add(high);
    }
  }
  const kept = [...keep].sort((a, b) => a - b);
  return data.map((column) => kept.map((index) => column[index]!)) as Columns;
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
