/**
 * Finds the cheapest picture that still looks fluid, for a machine whose processor both draws and trains: by what a frame costs
 * there, in WebGPU and in Canvas2D, and with fewer pixels.
 */
import type { RendererKind } from "../contract/protocol";
import type { Picture, Renderer } from "./scene";

const TRIES = 4; // the least of them counts: others wait for whoever has the processor
const DEAR_MS = 3; // Canvas2D that takes less may be drawn by a GPU, where nothing else is known of one
const AFFORDABLE_MS = 6; // a frame; 30 of them a second are a fifth of a processor
const SHARES = [1, 0.8, 0.65] as const; // of the pixels along each side; with fewer it looks coarse
const CLEARLY = 0.75; // what a change of renderer must save

export class Thrift {
  private on = false; // something trains on this machine
  dear = false; // a frame takes a processor's time
  private kind: RendererKind = "canvas2d";
  private known = false; // what a frame costs
  private best = 1;

  /** A renderer begins; `software`: this browser's graphics are done by a processor, as far as WebGPU knows. */
  begin(kind: RendererKind, software: boolean): void {
    this.kind = kind;
    this.dear = software;
    this.known = kind === "webgpu" && !software; // hardware draws for nothing
  }

  /** Something trains on this machine, or no longer does. */
  spare(on: boolean): void {
    this.on = on;
  }

  /** Whether a frame takes a processor's time from training. */
  get costs(): boolean {
    return this.on && this.dear;
  }

  /** Device pixels to draw for one that the canvas covers, along each side. */
  get share(): number {
    return this.on ? this.best : 1;
  }

  /** Whether it wants to weigh the next frame. */
  get asks(): boolean {
    return this.on && !this.known;
  }

  /**
   * Weighs the present renderer and a Canvas2D as large with this picture; the kind that should draw from now on. Between two drawings the
   * renderer may be disposed of, because its cell is run again: then `alive` says so, and nothing is drawn with it any more.
   */
  async weigh(renderer: Renderer, canvas2d: Renderer, picture: Picture, alive: () => boolean): Promise<RendererKind> {
    this.known = true;
    const plain = await cost(canvas2d, picture, alive);
    const here = this.kind === "webgpu" ? await cost(renderer, picture, alive) : plain;
    if (!alive()) return this.kind;
    if (plain < CLEARLY * here) return "canvas2d";
    this.dear ||= here > DEAR_MS;
    this.best = SHARES.find((share) => share * share * here <= AFFORDABLE_MS) ?? SHARES.at(-1)!;
    return this.kind;
  }
}

/** Milliseconds that a frame takes until it is drawn. */
async function cost(renderer: Renderer, picture: Picture, alive: () => boolean): Promise<number> {
  let least = Infinity;
  for (let k = 0; k <= TRIES && alive(); k++) {
    const begin = performance.now();
    renderer.draw(picture);
    await renderer.settled();
    if (k > 0) least = Math.min(least, performance.now() - begin); // the first paints what stands still
  }
  return least;
}
