/** The convolutions of policies that read pictures: dshq_widget/policy/convolutions.py. */
const CONVOLUTIONS = [
  { channels: 32, width: 8 },
  { channels: 64, width: 4 },
  { channels: 64, width: 3 },
];
const OF_SMALL = [
  { channels: 16, width: 3 },
  { channels: 32, width: 3 },
];
const LARGE = 36; // pixels in width and height

/** Floats of the convolutions of one picture of this shape (channels, height, width). */
export function countConvolutionFloats(shape: readonly number[]): number {
  let [inputs, floats] = [shape[0]!, 0];
  for (const { channels, width } of Math.min(...shape.slice(1)) < LARGE ? OF_SMALL : CONVOLUTIONS) {
    floats += channels * (inputs * width * width + 1);
    inputs = channels;
  }
  return floats;
}
