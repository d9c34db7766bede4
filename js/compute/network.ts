/** A dense network as launches: forward, and the slopes of all its weights. Its weights are the flat ones of a policy (docs/architecture.md, "Policy"). */
import type { Activation } from "../contract/protocol";
import { groupsOf, type Kit, type Step } from "./kit";
import common from "./shaders/common.wgsl";
import forward from "./shaders/forward.wgsl";
import gather from "./shaders/gather.wgsl";
import inputSlope from "./shaders/input_slope.wgsl";
import product from "./shaders/product.wgsl";
import weightSlope from "./shaders/weight_slope.wgsl";

const TILE = 32; // rows and columns of a workgroup of product.wgsl
const PART = 256; // rows whose slopes are summed in one part, as in weight_slope.wgsl
const CODES = { none: 0, tanh: 1, relu: 2 };

export interface NetworkDescription {
  layers: readonly number[]; // [n_obs, hidden..., n_actions + 1]
  activation: Activation;
  data: Float32Array; // for each layer W [n_in, n_out], then b
  mask?: Float32Array; // of the shape of `data`: 0 where there is no weight, for two networks side by side
}

export class Network {
  readonly weights: GPUBuffer;
  readonly slope: GPUBuffer;
  readonly floats: number;
  readonly nObs: number;
  readonly nOut: number;
  readonly widest: number;
  private readonly mask: GPUBuffer;
  private readonly layers: { nIn: number; nOut: number; at: number; code: number }[] = [];

  /** Throws an Error for a network that is not dense, and for one whose weights do not fit it. */
  constructor(
    private readonly kit: Kit,
    { layers, activation, data, mask }: NetworkDescription,
  ) {
    if (layers.length < 2 || layers.some((size) => !(size > 0))) {
      throw new Error(`WebGPU learns dense layers, got ${layers.join(", ")}: a network with a grid or pairs in front learns on the processor.`);
    }
    let at = 0;
    for (let k = 0; k + 1 < layers.length; k++) {
      const [nIn, nOut] = [layers[k]!, layers[k + 1]!];
      this.layers.push({ nIn, nOut, at, code: k + 2 < layers.length ? CODES[activation] : CODES.none });
      at += (nIn + 1) * nOut;
    }
    if (data.length !== at || (mask && mask.length !== at)) {
      throw new Error(`Layers ${layers.join("-")} need ${at} weights, got ${data.length}${mask ? ` and a mask of ${mask.length}` : ""}.`);
    }
    [this.floats, this.nObs, this.nOut, this.widest] = [at, layers[0]!, layers.at(-1)!, Math.max(...layers)];
    this.weights = kit.filled(data);
    this.mask = kit.filled(mask ?? new Float32Array(at).fill(1));
    this.slope = kit.zeros(at);
  }

  /** Forward for play: `input` [rows, n_obs] gives `output` [rows, n_out]; what lies between alternates between two buffers. */
  play(input: GPUBuffer, output: GPUBuffer, rows: number): Step[] {
    const between = [this.kit.zeros(rows * this.widest), this.kit.zeros(rows * this.widest)];
    const last = this.layers.length - 1;
    return this.forward(input, rows, (k) => (k === last ? output : between[k % 2]!));
  }

  /**
   * Learning: forward with every layer kept, and backward from `slopes` [rows, n_out] to `slope` [floats], with the slopes of
   * what lies between in two buffers by turns.
   */
  learn(input: GPUBuffer, output: GPUBuffer, slopes: GPUBuffer, rows: number): { forward: Step[]; backward: Step[] } {
    const last = this.layers.length - 1;
    const outputs = this.layers.map(({ nOut }, k) => (k === last ? output : this.kit.zeros(rows * nOut)));
    const between = [this.kit.zeros(rows * this.widest), this.kit.zeros(rows * this.widest)];
    const parts = Math.ceil(rows / PART);
    const partial = this.kit.zeros(parts * this.floats);
    const backward: Step[] = [];
    let coming = slopes;
    for (let k = last; k >= 0; k--) {
      const { nIn, nOut, at } = this.layers[k]!;
      const given = k > 0 ? outputs[k - 1]! : input;
      const sizes = this.kit.uniform([rows, nIn, nOut, at, this.floats]);
      const tiles = [Math.ceil(nOut / TILE), Math.ceil((nIn + 1) / TILE), parts];
      backward.push(this.kit.step(weightSlope + product, "product", { 0: sizes, 1: given, 2: coming, 3: partial }, tiles));
      if (k === 0) break;
      const layer = this.kit.uniform([rows, nIn, nOut, at, this.layers[k - 1]!.code]);
      const going = between[k % 2]!;
      const bound = { 0: layer, 1: given, 2: this.weights, 3: coming, 4: going };
      backward.push(this.kit.step(common + inputSlope + product, "product", bound, tilesOf(nIn, rows)));
      coming = going;
    }
    const sizes = this.kit.uniform([this.floats, parts]);
    backward.push(this.kit.step(gather, "gather", { 0: sizes, 1: partial, 2: this.mask, 3: this.slope }, groupsOf(this.floats)));
    return { forward: this.forward(input, rows, (k) => outputs[k]!), backward };
  }

  private forward(input: GPUBuffer, rows: number, output: (layer: number) => GPUBuffer): Step[] {
    return this.layers.map(({ nIn, nOut, at, code }, k) => {
      const sizes = this.kit.uniform([rows, nIn, nOut, at, code]);
      const bound = { 0: sizes, 1: k > 0 ? output(k - 1) : input, 2: this.weights, 3: output(k) };
      return this.kit.step(common + forward + product, "product", bound, tilesOf(nOut, rows));
    });
  }
}

function tilesOf(columns: number, rows: number): number[] {
  return [Math.ceil(columns / TILE), Math.ceil(rows / TILE)];
}
