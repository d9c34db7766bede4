/** A small canvas for one picture of the dream: dark where the field is empty, light where something is, in the page's own shades. */

import { h } from "../../../ui/dom";
import { HEIGHT, type Picture, WIDTH } from "../frames";

interface PictureCanvas {
  readonly element: HTMLCanvasElement;
  /** Null: nothing yet. The same picture again costs nothing. */
  show(picture: Picture | null): void;
}

/** Of an empty pixel and of a full one: red, green, blue. */
const [EMPTY, FULL] = [
  [20, 35, 52],
  [255, 246, 222],
] as const;

export function buildPicture(name: string): PictureCanvas {
  const element = h("canvas", { width: WIDTH, height: HEIGHT, class: "picture", role: "img", "aria-label": name, "data-empty": true });
  let shown: Picture | null = null;
  const show = (picture: Picture | null) => {
    if (picture === shown) return;
    shown = picture;
    element.toggleAttribute("data-empty", !picture);
    const context = element.getContext("2d");
    if (!context) return;
    if (picture) context.putImageData(painted(context, picture), 0, 0);
    else context.clearRect(0, 0, WIDTH, HEIGHT);
  };
  return { element, show };
}

function painted(context: CanvasRenderingContext2D, picture: Picture): ImageData {
  const image = context.createImageData(WIDTH, HEIGHT);
  picture.forEach((shade, k) => {
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = EMPTY[c]! + shade * (FULL[c]! - EMPTY[c]!);
    image.data[4 * k + 3] = 255;
  });
  return image;
}
