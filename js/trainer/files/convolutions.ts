/** The convolutions of policies that read pictures: dshq_widget/policy/convolutions.py. */
import { CONVOLUTIONS, FILE, OF_SMALL } from "../tables";

/** Floats of the convolutions of one picture of this shape (channels, height, width). */
export function countConvolutionFloats(shape: readonly number[]): number {
  let [inputs, floats] = [shape[0]!, 0];
  for (const [channels, width] of Math.min(...shape.slice(1)) < FILE.large_picture ? OF_SMALL : CONVOLUTIONS) {
    floats += channels * (inputs * width * width + 1);
    inputs = channels;
  }
  return floats;
}
