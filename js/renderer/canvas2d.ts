/**
 * Canvas2D: the same picture as WebGPU, shape by shape, for browsers and pages without a GPU. What stands still is painted once
 * and copied under every frame.
 */
import { KIND, SHAPE_FLOATS } from "../contract/protocol";
import { FixedPart } from "./fixed";
import { ENTRY_FLOATS, type Look, rgbaOf } from "./palette";
import { type Canvas, type Field, newCanvas, type Picture, place, type Renderer, TAG_ASPECT } from "./scene";

const PLAIN = { shadow: 0, gloss: 0, glow: 0 };

type Pen = OffscreenCanvasRenderingContext2D | CanvasRenderingContext2D;

const BAND = 10.4; // width of a mown band and all further lengths: hundredths of the world's width, as in shapes.wgsl
const SHADOW_OFFSET = [0.7, -1.1] as const;
const SHADOW_BLUR = 1.5;
const GLOW_REACH = 3;

export class Canvas2dRenderer implements Renderer {
  readonly kind = "canvas2d";
  private pen: Pen; // of the canvas, or of the backdrop while that is painted
  private readonly front: Pen;
  private readonly backdrop: Canvas;
  private readonly back: Pen;
  private readonly sheet: Pen; // holds the field's pixels
  private readonly fixed = new FixedPart();
  private scale = 1; // device pixels per world unit
  private unit = 1; // world units per hundredth of the world's width

  /** Throws an Error when the canvas gives no 2d context. */
  constructor(private readonly canvas: Canvas) {
    this.backdrop = newCanvas();
    this.sheet = penOf(newCanvas(), true);
    this.front = this.pen = penOf(canvas);
    this.back = penOf(this.backdrop);
  }

  resize(width: number, height: number, dpi: number): void {
    this.canvas.width = this.backdrop.width = Math.max(1, Math.round(width * dpi));
    this.canvas.height = this.backdrop.height = Math.max(1, Math.round(height * dpi));
    this.fixed.forget(); // a canvas that is given a size is empty, also where the size is the one that it had
  }

  draw(picture: Picture): void {
    const { world, count } = picture;
    const { width, height } = this.canvas;
    const { scale, left, top } = place(world, width, height);
    this.scale = scale;
    this.unit = (world[2] - world[0]) / 100;
    if (this.fixed.update(picture, width, height)) {
      this.pen = this.back;
      this.ground(picture, width, height);
      this.pen.setTransform(scale, 0, 0, -scale, left, top);
      this.shapes(picture, 0, this.fixed.count);
      this.pen = this.front;
    }
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.drawImage(this.backdrop, 0, 0);
    this.pen.setTransform(scale, 0, 0, -scale, left, top);
    this.lay(picture.field);
    this.wash(picture);
    this.shapes(picture, this.fixed.count, count);
  }

  /** Asking for a pixel waits for all of them. */
  async settled(): Promise<void> {
    this.front.getImageData(0, 0, 1, 1);
  }

  dispose(): void {
    this.canvas.width = this.canvas.height = this.backdrop.width = this.backdrop.height = 1;
  }

  private shapes({ shapes, look, tags }: Picture, from: number, to: number): void {
    for (let at = from * SHAPE_FLOATS; at < to * SHAPE_FLOATS; at += SHAPE_FLOATS) this.shape(shapes, at, look, tags);
  }

  private ground({ look }: Picture, width: number, height: number): void {
    const pen = this.pen;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = css([...look.apron.slice(0, 3), 1]);
    pen.fillRect(0, 0, width, height);
    this.darken(look.vignette);
  }

  /** Darkness that grows toward the canvas' corners, within the present clip. */
  private darken(vignette: number): void {
    const pen = this.pen;
    const [halfWidth, halfHeight] = [this.canvas.width / 2, this.canvas.height / 2];
    pen.setTransform(halfWidth, 0, 0, halfHeight, halfWidth, halfHeight);
    const shade = pen.createRadialGradient(0, 0, 0, 0, 0, Math.SQRT2);
    for (const r of [0, 0.25, 0.5, 0.75, 1]) shade.addColorStop(r, css([0, 0, 0, vignette * r * r]));
    pen.fillStyle = shade;
    pen.fillRect(-1, -1, 2, 2);
  }

  private lay(field: Field | null): void {
    if (!field) return;
    const [x0, y0, x1, y1] = field.area;
    if (this.sheet.canvas.width !== field.width || this.sheet.canvas.height !== field.height) {
      Object.assign(this.sheet.canvas, { width: field.width, height: field.height });
    }
    this.sheet.putImageData(new ImageData(field.pixels, field.width, field.height), 0, 0);
    this.pen.save();
    this.pen.translate(x0, y1);
    this.pen.scale(1, -1);
    this.pen.drawImage(this.sheet.canvas, 0, 0, x1 - x0, y1 - y0);
    this.pen.restore();
  }

  private wash({ look, wash }: Picture): void {
    if (wash.strength <= 0) return;
    const [r, g, b] = rgbaOf(look, wash.name);
    const glow = this.pen.createRadialGradient(wash.x, wash.y, 0, wash.x, wash.y, wash.radius);
    for (const t of [0, 0.25, 0.5, 0.75, 1]) glow.addColorStop(t, css([r!, g!, b!, wash.strength * (1 - t) ** 2]));
    this.pen.fillStyle = glow;
    this.pen.fillRect(wash.x - wash.radius, wash.y - wash.radius, 2 * wash.radius, 2 * wash.radius);
  }

  private shape(shapes: Float32Array, at: number, look: Look, tags: readonly string[]): void {
    const [kind, colour] = [shapes[at]!, shapes[at + 1]!];
    const [x, y, a, b] = [shapes[at + 2]!, shapes[at + 3]!, shapes[at + 4]!, shapes[at + 5]!];
    const [c, d, e] = [shapes[at + 6]!, shapes[at + 7]!, shapes[at + 8]!];
    const entry = colour * ENTRY_FLOATS;
    const paint = (k: number) => look.entries[entry + k]!;
    const alpha = paint(3) * shapes[at + 9]!;
    const rgb = [paint(0), paint(1), paint(2)];
    if (alpha <= 0) return;
    const pen = this.pen;
    pen.save();
    pen.fillStyle = pen.strokeStyle = css([...rgb, alpha]);
    if (kind === KIND.tag) {
      this.tag(tags[shapes[at + 10]!] ?? "", x, y, a);
    } else if (kind === KIND.ring) {
      pen.lineWidth = 2 * b;
      pen.lineCap = "round";
      pen.beginPath();
      pen.arc(x, y, a, d, d + 2 * Math.PI * Math.min(c, 1));
      if (c > 0 && b > 0) pen.stroke();
    } else if (kind === KIND.line) {
      pen.lineWidth = 2 * c;
      pen.lineCap = "round";
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(a, b);
      if (paint(4) > 0 && shapes[at + 11] === 0) this.castShadow(paint(4) * look.shade * alpha);
      if (c > 0) pen.stroke();
    } else {
      const box = kind === KIND.box;
      const spare = shapes[at + 11]!;
      const soft = spare === 0 ? paint(8) * this.unit : Math.max(spare, 0);
      const plain = spare !== 0;
      pen.translate(x, y);
      if (box) pen.transform(c, d, -d, c, 0, 0);
      if (paint(7) > 0 && !plain) this.mown(rgb, alpha, a, b, y, look.vignette);
      else if (soft > 0) this.blurred(rgb, alpha, a, soft);
      else {
        const style = plain ? PLAIN : { shadow: paint(4) * look.shade, gloss: paint(5), glow: paint(6) };
        this.solid(rgb, alpha, style, a, box ? b : a, box ? Math.min(e, a, b) : a, box ? c : 1, box ? d : 0);
      }
    }
    pen.restore();
  }

  /** A rounded box of half sizes a, b around the origin, lit from the upper left. */
  private solid(rgb: number[], alpha: number, style: typeof PLAIN, a: number, b: number, radius: number, cos: number, sin: number): void {
    const pen = this.pen;
    const outline = () => {
      pen.beginPath();
      pen.roundRect(-a, -b, 2 * a, 2 * b, radius);
    };
    const u = this.unit;
    if (style.glow > 0) {
      const reach = Math.max(a, b) + GLOW_REACH * u;
      const halo = pen.createRadialGradient(0, 0, Math.max(a, b), 0, 0, reach);
      for (const t of [0, 0.5, 1]) halo.addColorStop(t, css([...rgb, 0.6 * style.glow * alpha * (1 - t) ** 2]));
      pen.fillStyle = halo;
      pen.fillRect(-reach, -reach, 2 * reach, 2 * reach);
    }
    pen.fillStyle = css([...rgb, alpha]);
    if (style.shadow > 0) this.castShadow(style.shadow * alpha);
    outline();
    pen.fill();
    pen.shadowColor = "transparent";
    if (style.gloss <= 0) return;
    const size = Math.max(a, b);
    const [lightX, lightY] = [-0.45 * size, 0.9 * size];
    const [towardX, towardY] = [cos * lightX + sin * lightY, cos * lightY - sin * lightX];
    const lift = 0.13 * style.gloss * alpha;
    const shine = pen.createLinearGradient(-towardX, -towardY, towardX, towardY);
    shine.addColorStop(0, css([0, 0, 0, lift]));
    shine.addColorStop(0.5, css([0.5, 0.5, 0.5, 0]));
    shine.addColorStop(1, css([1, 1, 1, lift]));
    pen.fillStyle = shine;
    pen.fill();
    pen.clip();
    pen.lineWidth = 0.45 * u;
    pen.strokeStyle = css([0, 0, 0, 0.22 * style.gloss * alpha]);
    pen.stroke();
  }

  /** What is painted until the next restore() casts a shadow. */
  private castShadow(depth: number): void {
    const pen = this.pen;
    pen.shadowColor = css([0, 0, 0, depth]);
    pen.shadowBlur = 1.4 * SHADOW_BLUR * this.unit * this.scale; // a canvas' blur is two standard deviations wide
    pen.shadowOffsetX = SHADOW_OFFSET[0] * this.unit * this.scale;
    pen.shadowOffsetY = -SHADOW_OFFSET[1] * this.unit * this.scale;
  }

  /** A disc whose edge fades over `soft` to both sides. */
  private blurred(rgb: number[], alpha: number, radius: number, soft: number): void {
    const reach = radius + soft;
    const fog = this.pen.createRadialGradient(0, 0, Math.max(0, radius - soft), 0, 0, reach);
    for (const t of [0, 0.25, 0.5, 0.75, 1]) fog.addColorStop(t, css([...rgb, alpha * (1 - t * t * (3 - 2 * t))]));
    this.pen.fillStyle = fog;
    this.pen.fillRect(-reach, -reach, 2 * reach, 2 * reach);
  }

  /** Grass, mown in bands that follow the world's y, darker toward the corners. */
  private mown(rgb: number[], alpha: number, a: number, b: number, y: number, vignette: number): void {
    const pen = this.pen;
    const width = BAND * this.unit;
    const tone = (light: number) => css([...rgb.map((v) => Math.min(1, v * light)), alpha]);
    pen.beginPath();
    pen.rect(-a, -b, 2 * a, 2 * b);
    pen.clip();
    pen.fillStyle = tone(0.975);
    pen.fillRect(-a, -b, 2 * a, 2 * b);
    pen.fillStyle = tone(1.025);
    const first = Math.floor((y - b) / (2 * width)) * 2 * width - width / 2;
    for (let from = first; from < y + b; from += 2 * width) pen.fillRect(-a, from - y, 2 * a, width);
    this.darken(vignette * alpha);
  }

  private tag(text: string, x: number, y: number, size: number): void {
    const pen = this.pen;
    pen.translate(x, y);
    pen.scale(size / 64, -size / 64);
    pen.font = "800 51px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(text, 0, 0, 64 * TAG_ASPECT);
  }
}

/** `willReadFrequently` keeps the canvas off the GPU, which is a slow one here or none: 15 frames/s became 50 in software (measured). */
function penOf(canvas: Canvas, alpha = false): Pen {
  const pen = canvas.getContext("2d", { alpha, willReadFrequently: true }) as Pen | null;
  if (!pen) throw new Error("The canvas has no 2D context.");
  return pen;
}

function css(colour: readonly number[]): string {
  const [r, g, b, a] = colour;
  return `rgba(${Math.round(r! * 255)},${Math.round(g! * 255)},${Math.round(b! * 255)},${a})`;
}
