/** The meaning of a network's `layers`: dense layers, what may stand in front of them, and a memory. dshq_kernels/network/layers.py. */
import { memoryOf } from "../contract/memory";
import { BLOCK, GATES, MOST_NEAR, MOST_SWEEPS, MOST_VISITS, WAYS } from "./tables";

/** Inputs and outputs of one layer. */
type Shape = readonly [inputs: number, outputs: number];

/** What stands in front of the dense layers: its sizes, what it reads and gives, and its own layers. */
interface Common {
  inputs: number;
  features: number;
  shapes: readonly Shape[];
  work: number; // multiplications and comparisons of one decision, roughly
}
export interface Grid extends Common {
  kind: "grid";
  sizes: readonly [rows: number, columns: number, planes: number, maps: number, sweeps: number];
}
export interface Pairs extends Common {
  kind: "pairs";
  sizes: readonly [items: number, ofItem: number, spaces: number, ofSpace: number, traits: number, width: number];
}
export interface Places extends Common {
  kind: "places";
  sizes: readonly [rows: number, columns: number, places: number, ofPlace: number, traits: number, reaches: number, kinds: number];
}
export type Front = Grid | Pairs | Places;

export interface Network {
  front: Front | null;
  /** Sizes of the dense layers, a memory left out. With pairs and places the last one says other numbers than logits, and the value. */
  dense: readonly number[];
  /** Units of the memory before the outputs, 0 without one. */
  memory: number;
}

/** Null where `layers`, whole numbers, are not those of a network. */
export function parse(all: readonly number[]): Network | null {
  const memory = memoryOf(all);
  const layers = memory ? [...all.slice(0, -2), all.at(-1)!] : all;
  const behind = layers.slice(1).findIndex((n) => n > 0);
  const count = behind < 0 ? layers.length - 1 : behind;
  const front = count > 0 ? readFront(layers.slice(1, 1 + count).map((n) => -n)) : null;
  const dense = layers.slice(1 + count);
  if ((count > 0 && !front) || dense.length === 0) return null;
  if (front && (memory > 0 || front.inputs > layers[0]!)) return null;
  if (front?.kind === "pairs") {
    const [items, , spaces, , , width] = front.sizes;
    if (dense.at(-1) !== items * spaces + 1) return null;
    dense[dense.length - 1] = width + 1;
  }
  if (front?.kind === "places") {
    const [rows, columns, , , , , kinds] = front.sizes;
    if (dense.at(-1) !== kinds * rows * columns + 1) return null;
    dense[dense.length - 1] = kinds + 1;
  }
  dense.unshift(front ? front.features + layers[0]! - front.inputs : layers[0]!);
  return Math.min(layers[0]!, ...dense) < 1 ? null : { front, dense, memory };
}

/** The same, of layers that are a network's. Throws an Error of one sentence for others. */
export function asNetwork(layers: readonly number[]): Network {
  const network = parse(layers);
  if (!network) throw new Error(`These layers are not those of a network: ${layers.join(", ")}.`);
  return network;
}

/** Inputs and outputs of each layer, those in front first, a memory last but one. */
export function shapesOf({ front, dense, memory }: Network): Shape[] {
  const shapes = [...(front?.shapes ?? []), ...dense.slice(1).map((width, k): Shape => [dense[k]!, width])];
  if (!memory) return shapes;
  const [width, outputs] = shapes.pop()!;
  return [...shapes, [width + memory, GATES * memory], [memory, outputs]];
}

/** Floats of the weights and biases of such layers. */
export function countFloats(shapes: readonly Shape[]): number {
  return shapes.reduce((sum, [inputs, outputs]) => sum + (inputs + 1) * outputs, 0);
}

/** Multiplications of one decision, roughly: a layer in front uses each of its weights many times. */
export function workOf(network: Network): number {
  const dense = shapesOf(network).slice(network.front?.shapes.length ?? 0);
  return (network.front?.work ?? 0) + countFloats(dense);
}

/** Flat weights layer by layer: where W `[inputs, outputs]` begins; b follows it. */
export function parts(layers: readonly number[]): { at: number; inputs: number; outputs: number }[] {
  let at = 0;
  return shapesOf(asNetwork(layers)).map(([inputs, outputs]) => {
    const part = { at, inputs, outputs };
    at += (inputs + 1) * outputs;
    return part;
  });
}

function readFront(sizes: readonly number[]): Front | null {
  if (sizes.some((n) => n < 1)) return null;
  if (sizes.length === 5) {
    const [rows, columns, planes, maps, sweeps] = sizes as Grid["sizes"];
    const cells = rows * columns;
    if (Math.min(rows, columns) < 2 || sweeps > MOST_SWEEPS || cells * sweeps > MOST_VISITS) return null;
    return {
      kind: "grid",
      sizes: sizes as Grid["sizes"],
      inputs: (planes + 1) * cells,
      features: WAYS * maps,
      shapes: [[planes, 2 * maps]],
      work: cells * maps * (2 * planes + WAYS * (sweeps + 1)),
    };
  }
  if (sizes.length === 7) {
    const [rows, columns, places, ofPlace, traits, reaches] = sizes as Places["sizes"];
    if (rows * columns < 2 || ofPlace < 2 || (rows * columns) ** 2 * reaches > MOST_NEAR) return null;
    return {
      kind: "places",
      work: places * (traits * (ofPlace + reaches) + rows * columns * (reaches + 3)),
      sizes: sizes as Places["sizes"],
      inputs: places * ofPlace,
      features: traits,
      shapes: [
        [ofPlace - 1, traits],
        [traits, reaches],
      ],
    };
  }
  if (sizes.length !== 6) return null;
  const [items, ofItem, spaces, ofSpace, traits, width] = sizes as Pairs["sizes"];
  if (traits % BLOCK || width % BLOCK) return null;
  const part: Shape = [traits, width];
  return {
    kind: "pairs",
    sizes: sizes as Pairs["sizes"],
    inputs: items * ofItem + spaces * ofSpace,
    features: 2 * traits,
    shapes: [[ofItem, traits], [ofSpace, traits], part, part, [width, 1]],
    work: traits * (items * (ofItem + width) + spaces * (ofSpace + width)) + 2 * width * items * spaces,
  };
}
