/**
 * The layer of a network that judges the cells of a map by where they lie to places that it sees, as dshq_kernels/network/places.py
 * defines it: mean traits of the places for the dense layers, and logit[kind, cell] = of kind + pulls * nearness.
 */

export class Places {
  readonly inputs: number; // observations that it reads
  readonly features: number; // mean traits
  readonly floats: number; // of its weights
  readonly said: number; // what the dense layers say besides the value: of each kind
  private readonly cells: number;
  private readonly seen: number; // numbers of what is in a place, its cell left out
  private readonly toPulls: number; // where the weights from traits to pulls begin
  private readonly at: Int32Array; // [places] the cell of each, -1: none; of the last forward()
  private readonly found: Float32Array; // [places, traits]
  private readonly pulls: Float32Array; // [places, reaches]
  private readonly slopes: Float32Array; // of the pulls
  private readonly logits: Float32Array;

  constructor(
    rows: number,
    readonly columns: number,
    readonly places: number,
    readonly ofPlace: number,
    readonly traits: number,
    readonly reaches: number,
    readonly kinds: number,
  ) {
    this.cells = rows * columns;
    this.seen = ofPlace - 1;
    this.inputs = places * ofPlace;
    this.features = traits;
    this.said = kinds;
    this.toPulls = ofPlace * traits;
    this.floats = this.toPulls + (traits + 1) * reaches;
    this.at = new Int32Array(places);
    this.found = new Float32Array(places * traits);
    this.pulls = new Float32Array(places * reaches);
    this.slopes = new Float32Array(places * reaches);
    this.logits = new Float32Array(kinds * this.cells);
  }

  /** Fills `out` [traits + rest]: the mean traits, then the observations that it does not read. */
  forward(weights: Float32Array, observation: Float32Array, out: Float32Array): void {
    const { traits, reaches, seen, found, pulls } = this;
    out.fill(0);
    out.set(observation.subarray(this.inputs), traits);
    for (let p = 0; p < this.places; p++) {
      const first = p * this.ofPlace;
      const there = observation.subarray(first + 1, first + this.ofPlace);
      this.at[p] = there.some((n) => n !== 0) ? this.cellOf(observation[first]!) : -1;
      if (this.at[p]! < 0) continue;
      for (let t = 0; t < traits; t++) {
        let sum = weights[seen * traits + t]!;
        for (let f = 0; f < seen; f++) sum += there[f]! * weights[f * traits + t]!;
        found[p * traits + t] = Math.max(0, sum);
        out[t]! += Math.max(0, sum) / this.places;
      }
      for (let r = 0; r < reaches; r++) {
        let sum = weights[this.toPulls + traits * reaches + r]!;
        for (let t = 0; t < traits; t++) sum += found[p * traits + t]! * weights[this.toPulls + t * reaches + r]!;
        pulls[p * reaches + r] = sum;
      }
    }
  }

  private cellOf(share: number): number {
    return Math.min(Math.max(Math.round(Math.fround(share * (this.cells - 1))), 0), this.cells - 1);
  }

  /** How near two cells are by the reach of that number: 1 for the same, 0 from `1 + reach` cells on. */
  private near(a: number, b: number, reach: number): number {
    const dx = (a % this.columns) - (b % this.columns);
    const dy = Math.floor(a / this.columns) - Math.floor(b / this.columns);
    return Math.max(0, 1 - Math.sqrt(dx * dx + dy * dy) / (1 + reach));
  }

  /** The logits, kind by kind, from what the dense layers say [kinds + 1]: of each kind, then the value. */
  judge(_weights: Float32Array, said: Float32Array): Float32Array {
    const { cells, kinds, reaches, logits } = this;
    for (let cell = 0; cell < cells; cell++) {
      let pulled = 0;
      for (let p = 0; p < this.places; p++) {
        if (this.at[p]! < 0) continue;
        for (let r = 0; r < reaches; r++) pulled += this.pulls[p * reaches + r]! * this.near(this.at[p]!, cell, r);
      }
      for (let kind = 0; kind < kinds; kind++) logits[kind * cells + cell] = said[kind]! + pulled;
    }
    return logits;
  }

  /** The slopes of what the dense layers said [kinds + 1] (the value has none), from those of the logits that the last judge() gave. */
  judged(_weights: Float32Array, slopes: Float32Array): Float32Array<ArrayBuffer> {
    const { cells, kinds, reaches } = this;
    const said = new Float32Array(kinds + 1);
    const ofCell = new Float32Array(cells);
    for (let kind = 0; kind < kinds; kind++) {
      for (let cell = 0; cell < cells; cell++) {
        ofCell[cell]! += slopes[kind * cells + cell]!;
        said[kind]! += slopes[kind * cells + cell]!;
      }
    }
    this.slopes.fill(0);
    for (let p = 0; p < this.places; p++) {
      if (this.at[p]! < 0) continue;
      for (let r = 0; r < reaches; r++) {
        for (let cell = 0; cell < cells; cell++) this.slopes[p * reaches + r]! += ofCell[cell]! * this.near(this.at[p]!, cell, r);
      }
    }
    return said;
  }

  /** Writes the slopes of the observation into `out`, from those of what the last forward() gave, after `judged`. A place's cell has none. */
  gradient(weights: Float32Array, _observation: Float32Array, slopes: Float32Array, out: Float32Array): void {
    const { traits, reaches, seen } = this;
    out.fill(0);
    out.set(slopes.subarray(traits), this.inputs);
    for (let p = 0; p < this.places; p++) {
      if (this.at[p]! < 0) continue;
      for (let t = 0; t < traits; t++) {
        if (this.found[p * traits + t]! <= 0) continue;
        let slope = slopes[t]! / this.places;
        for (let r = 0; r < reaches; r++) slope += this.slopes[p * reaches + r]! * weights[this.toPulls + t * reaches + r]!;
        for (let f = 0; f < seen; f++) out[p * this.ofPlace + 1 + f]! += slope * weights[f * traits + t]!;
      }
    }
  }
}
