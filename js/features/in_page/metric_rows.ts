/** Rows of metrics of a run in the page, of bounded number (evenly thinned): dshq_widget/training/history.py. */
type Row = Record<string, number>;

const MOST = 2000;

export class MetricRows {
  private kept: Row[] = [];
  private stride = 1; // every stride-th new row is kept
  private skip = 0;
  private last: Row | null = null;

  constructor(private readonly most = MOST) {}

  /** The newest one. */
  append(row: Row): void {
    this.last = row;
    if (this.skip > 0) {
      this.skip -= 1;
      return;
    }
    if (this.kept.length >= this.most) {
      this.kept = this.kept.filter((_, k) => k % 2 === 0);
      this.stride *= 2;
    }
    this.kept.push(row);
    this.skip = this.stride - 1;
  }

  /** These, oldest first, are all there is. */
  replace(rows: readonly Row[]): void {
    [this.kept, this.stride, this.skip, this.last] = [[], 1, 0, null];
    for (const row of rows) this.append(row);
  }

  /** At most about `limit` of them, oldest first; always with the newest one. */
  rows(limit = Number.POSITIVE_INFINITY): Row[] {
    const all = this.last && this.kept.at(-1) !== this.last ? [...this.kept, this.last] : this.kept;
    const every = Math.max(1, Math.ceil(all.length / limit));
    return all.filter((_, k) => k % every === 0 || k === all.length - 1);
  }
}
