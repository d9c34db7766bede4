/** How many weights `layers` need, as dshq_kernels/network/layers.py and dshq_widget/policy/convolutions.py define it. */
const WAYS = 4; // up, right, down, left
const BLOCK = 8; // traits and parts of pairs are multiples of this
const CONVOLUTIONS = [
  { channels: 32, width: 8 },
  { channels: 64, width: 4 },
  { channels: 64, width: 3 },
];

/** Inputs and outputs of one layer. */
type Shape = readonly [inputs: number, outputs: number];
/** What stands in front of the dense layers: what it reads and gives, and its own layers. */
interface Front {
  inputs: number;
  features: number;
  shapes: readonly Shape[];
  last?: { outputs: number; instead: number }; // of the network, and of its last dense layer
}

/** Floats of the layers' weights and biases; null where `layers`, whole numbers, are not those of a network. */
export function countFloats(layers: readonly number[]): number | null {
  const behind = layers.slice(1).findIndex((n) => n > 0);
  const count = behind < 0 ? layers.length - 1 : behind;
  const front = count > 0 ? readFront(layers.slice(1, 1 + count).map((n) => -n)) : { inputs: 0, features: 0, shapes: [] };
  const dense = layers.slice(1 + count);
  if (!front || dense.length === 0 || front.inputs > layers[0]!) return null;
  if (front.last) {
    if (dense.at(-1) !== front.last.outputs) return null;
    dense[dense.length - 1] = front.last.instead;
  }
  dense.unshift(front.features + layers[0]! - front.inputs);
  if (Math.min(layers[0]!, ...dense) < 1) return null;
  const shapes = [...front.shapes, ...dense.slice(1).map((width, k): Shape => [dense[k]!, width])];
  return shapes.reduce((sum, [inputs, outputs]) => sum + (inputs + 1) * outputs, 0);
}

function readFront(sizes: readonly number[]): Front | null {
  if (sizes.some((n) => n < 1)) return null;
  if (sizes.length === 5) {
    const [rows, columns, planes, maps] = sizes as [number, number, number, number, number];
    if (Math.min(rows, columns) < 2) return null;
    return { inputs: (planes + 1) * rows * columns, features: WAYS * maps, shapes: [[planes, 2 * maps]] };
  }
  if (sizes.length !== 6) return null;
  const [items, ofItem, spaces, ofSpace, traits, width] = sizes as [number, number, number, number, number, number];
  if (traits % BLOCK || width % BLOCK) return null;
  const part: Shape = [traits, width];
  return {
    inputs: items * ofItem + spaces * ofSpace,
    features: 2 * traits,
    shapes: [[ofItem, traits], [ofSpace, traits], part, part, [width, 1]],
    last: { outputs: items * spaces + 1, instead: width + 1 },
  };
}

/** Floats of the convolutions of a policy that reads `pixels` (channels, height, width; empty where it reads none). */
export function countConvolutionFloats(pixels: readonly number[]): number {
  if (pixels.length === 0) return 0;
  let [inputs, floats] = [pixels[0]!, 0];
  for (const { channels, width } of CONVOLUTIONS) {
    floats += channels * (inputs * width * width + 1);
    inputs = channels;
  }
  return floats;
}
