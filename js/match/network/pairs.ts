/**
 * The layer of a network that judges pairs of items and spaces, as dshq_kernels/network/layers.py defines it: mean traits of either for the
 * dense layers, and logit[item, space] = w . relu(item's part + space's part + context) + b.
 */

/** All items, or all spaces. */
class Kind {
  readonly traits: Float32Array; // [count, traits], of the last forward()
  readonly parts: Float32Array; // [count, width]
  readonly slopes: Float32Array; // of the parts

  constructor(
    readonly count: number,
    readonly ofEach: number, // numbers seen of each
    readonly seen: number, // where those begin
    readonly toTraits: number, // where the weights to traits begin
    readonly toParts: number, // and those from traits to parts
    traits: number,
    width: number,
  ) {
    this.traits = new Float32Array(count * traits);
    this.parts = new Float32Array(count * width);
    this.slopes = new Float32Array(count * width);
  }
}

export class Pairs {
  readonly inputs: number; // observations that they read
  readonly features: number; // mean traits of items, then of spaces
  readonly floats: number; // of their weights
  readonly said: number; // what the dense layers say besides the value: the context
  private readonly items: Kind;
  private readonly spaces: Kind;
  private readonly last: number; // where the weights from a pair's sum to its logit begin
  private readonly logits: Float32Array; // of the last judge()
  private context: Float32Array = new Float32Array(0);

  constructor(
    items: number,
    ofItem: number,
    spaces: number,
    ofSpace: number,
    readonly traits: number,
    readonly width: number,
  ) {
    const parts = (ofItem + ofSpace + 2) * traits;
    const toParts = (traits + 1) * width;
    this.items = new Kind(items, ofItem, 0, 0, parts, traits, width);
    this.spaces = new Kind(spaces, ofSpace, items * ofItem, (ofItem + 1) * traits, parts + toParts, traits, width);
    this.inputs = items * ofItem + spaces * ofSpace;
    this.features = 2 * traits;
    this.said = width;
    this.last = parts + 2 * toParts;
    this.floats = this.last + width + 1;
    this.logits = new Float32Array(items * spaces);
  }

  /** Fills `out` [2 traits + rest]: the mean traits, then the observations that the pairs do not read. */
  forward(weights: Float32Array, observation: Float32Array, out: Float32Array): void {
    const { traits, width } = this;
    out.fill(0);
    out.set(observation.subarray(this.inputs), this.features);
    [this.items, this.spaces].forEach((kind, side) => {
      const seen = observation.subarray(kind.seen, kind.seen + kind.count * kind.ofEach);
      denseOfEach(kind.count, kind.ofEach, traits, weights.subarray(kind.toTraits), seen, kind.traits);
      kind.traits.forEach((sum, k) => {
        kind.traits[k] = Math.max(0, sum);
        out[side * traits + (k % traits)]! += Math.max(0, sum) / kind.count;
      });
      denseOfEach(kind.count, traits, width, weights.subarray(kind.toParts), kind.traits, kind.parts);
    });
  }

  /** The logits, item by item, from what the dense layers say [width + 1]: the context, then the value. */
  judge(weights: Float32Array, said: Float32Array): Float32Array {
    const { last, width, logits } = this;
    const spaces = this.spaces.count;
    this.context = said;
    logits.forEach((_, pair) => {
      let sum = weights[last + width]!;
      for (let h = 0; h < width; h++) sum += Math.max(0, this.sum(Math.floor(pair / spaces), pair % spaces, h)) * weights[last + h]!;
      logits[pair] = sum;
    });
    return logits;
  }

  private sum(item: number, space: number, h: number): number {
    return this.items.parts[item * this.width + h]! + this.spaces.parts[space * this.width + h]! + this.context[h]!;
  }

  /** The slopes of the context and the value (none) [width + 1], from those of the logits that the last judge() gave. */
  judged(weights: Float32Array, slopes: Float32Array): Float32Array<ArrayBuffer> {
    const { last, width, items, spaces } = this;
    const context = new Float32Array(width + 1);
    items.slopes.fill(0);
    spaces.slopes.fill(0);
    for (let pair = 0; pair < this.logits.length; pair++) {
      if (slopes[pair] === 0) continue; // a mask forbids it
      const [item, space] = [Math.floor(pair / spaces.count), pair % spaces.count];
      for (let h = 0; h < width; h++) {
        if (this.sum(item, space, h) <= 0) continue;
        const slope = slopes[pair]! * weights[last + h]!;
        items.slopes[item * width + h]! += slope;
        spaces.slopes[space * width + h]! += slope;
        context[h]! += slope;
      }
    }
    return context;
  }

  /** Writes the slopes of the observation into `out`, from those of what the last forward() gave, after `judged`. */
  gradient(weights: Float32Array, _observation: Float32Array, slopes: Float32Array, out: Float32Array): void {
    const { traits, width } = this;
    out.fill(0);
    out.set(slopes.subarray(this.features), this.inputs);
    [this.items, this.spaces].forEach((kind, side) => {
      const below = slopesOfEach(kind.count, traits, width, weights.subarray(kind.toParts), kind.slopes);
      below.forEach((slope, k) => (below[k] = kind.traits[k]! > 0 ? slope + slopes[side * traits + (k % traits)]! / kind.count : 0));
      out.set(slopesOfEach(kind.count, kind.ofEach, traits, weights.subarray(kind.toTraits), below), kind.seen);
    });
  }
}

/** One dense layer for each of `count` things: from `seen` [count, inputs] to `out` [count, outputs]. */
function denseOfEach(count: number, inputs: number, outputs: number, weights: Float32Array, seen: Float32Array, out: Float32Array): void {
  for (let k = 0; k < count; k++) {
    for (let j = 0; j < outputs; j++) {
      let sum = weights[inputs * outputs + j]!;
      for (let f = 0; f < inputs; f++) sum += seen[k * inputs + f]! * weights[f * outputs + j]!;
      out[k * outputs + j] = sum;
    }
  }
}

/** The slopes of what that layer saw [count, inputs], from those of its sums [count, outputs]. */
function slopesOfEach(count: number, inputs: number, outputs: number, weights: Float32Array, slopes: Float32Array): Float32Array {
  const below = new Float32Array(count * inputs);
  for (let k = 0; k < count; k++) {
    for (let f = 0; f < inputs; f++) {
      let sum = 0;
      for (let j = 0; j < outputs; j++) sum += slopes[k * outputs + j]! * weights[f * outputs + j]!;
      below[k * inputs + f] = sum;
    }
  }
  return below;
}
