/** The convolutions of policies that read pixels: dshq_widget/policy/convolutions.py. */
const CONVOLUTIONS = [
  { channels: 32, width: 8 },
  { channels: 64, width: 4 },
  { channels: 64, width: 3 },
];

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
